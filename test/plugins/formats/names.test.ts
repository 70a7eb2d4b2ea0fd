/** Names in files: those that are made for a download have them, what is published never does, and without names every byte is as before. */
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readXlsx } from 'hucre/xlsx';
import { XmlDocument, XsdValidator } from 'libxml2-wasm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256Of } from '../../../src/host/sha256.ts';
import { daybook, envOf, type Env } from '../../cli/daybook.ts';
import { pagesOf, textOf } from '../../support/read-pdf.ts';
import { FROM, MERCHANT, openStage, scenario, TO, type Stage } from '../../support/stage.ts';
import { showPages, type ShownPages } from '../pages/support.ts';

const SCHEMA = fileURLToPath(new URL('../../../../shared/standards/camt.053.001.08.xsd', import.meta.url));
const NS = { c: 'urn:iso:std:iso:20022:tech:xsd:camt.053.001.08' };
const { merchantNo } = MERCHANT;
const MONTH = FROM.slice(0, 7);
const IBAN = 'DE89370400440532013000';
/** A name that markup, a formula or another alphabet could break. */
const NAME = '=1+2 & <Acme> "支付" שלום';
const ACCOUNT_NAME = `@Settlement ${'long '.repeat(13)}and past 70 characters`;

let stage: Stage;
let env: Env;
let folder: string;
let store: string;
let pages: ShownPages;
beforeAll(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 6 }) });
  env = envOf(stage);
  // Of the first day XLSX is published as well.
  const publishing = { ...env, DAYBOOK_STATEMENT_FORMATS: 'csv,xlsx' };
  const firstDay = ['run', '--from', FROM, '--to', FROM];
  expect((await daybook(firstDay, publishing)).code).toBe(0);
  const [entry] = stage.sandbox.entriesOf(merchantNo).filter(({ currency }) => currency === 'USD');
  stage.sandbox.amend(merchantNo, entry!.batchNo, { busiType: 'CHANGED' });
  await daybook(firstDay, publishing);
  await ok(['run', '--from', FROM, '--to', TO]);
  folder = await mkdtemp(join(tmpdir(), 'daybook-file-names-'));
  store = fileURLToPath(stage.app.settings.statementsUrl);
  pages = await showPages(stage);
});
afterAll(async () => {
  await pages.close();
  await stage.close();
  await rm(folder, { recursive: true, force: true });
});

const ok = async (args: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await daybook(args, env);
  expect(code, stderr).toBe(0);
  return stdout;
};
const rename = async (...flags: string[]): Promise<void> => {
  await ok(['merchants', 'name', merchantNo, ...flags]);
};
async function giveNames(): Promise<void> {
  await rename('--name', NAME, '--reference', 'K-20017');
  await rename('--currency', 'USD', '--name', ACCOUNT_NAME, '--iban', IBAN, '--ledger-account', '1210');
}
async function clearNames(): Promise<void> {
  await rename('--clear');
  for (const currency of ['USD', 'KWD']) await rename('--currency', currency, '--clear');
}

const OF_DAY = ['--merchant', merchantNo, '--currency', 'USD', '--day', FROM];
const OF_MONTH = ['--merchant', merchantNo, '--month', MONTH];
/** Every file that is made for a download, by what is asked for. */
const ASKED: Readonly<Record<string, readonly string[]>> = {
  'camt.053 of a day': [...OF_DAY, '--format', 'camt053'],
  'MT940 of a day': [...OF_DAY, '--format', 'mt940'],
  'PDF of a day': [...OF_DAY, '--format', 'pdf'],
  'CSV for spreadsheets': [...OF_DAY, '--for-spreadsheet'],
  'changes as camt.053': [...OF_DAY, '--since', '1', '--format', 'camt053'],
  'camt.053 of a month': [...OF_MONTH, '--currency', 'USD', '--format', 'camt053'],
  'MT940 of a month': [...OF_MONTH, '--currency', 'USD', '--format', 'mt940'],
  'CSV of a month': [...OF_MONTH, '--currency', 'USD', '--format', 'csv'],
  workbook: [...OF_MONTH, '--format', 'workbook'],
  'ZIP of CSVs': [...OF_MONTH, '--out', 'month.zip'],
  'ZIP of PDFs': [...OF_MONTH, '--format', 'pdf'],
  'ZIP of camt.053': [...OF_MONTH, '--format', 'camt053'],
  'published XLSX': [...OF_DAY, '--format', 'xlsx'],
  'CSV of a day': [...OF_DAY, '--format', 'csv'],
};
/** As it lies in a folder: printed, bytes would go through text. */
async function got(asked: readonly string[]): Promise<Buffer> {
  const out = await mkdtemp(join(folder, 'got-'));
  const at = asked.indexOf('--out');
  const flags = at === -1 ? [...asked, '--out', out] : asked.with(at + 1, join(out, asked[at + 1]!));
  const { path } = JSON.parse(await ok(['statements', 'get', ...flags, '--json'])) as { path: string };
  return readFile(path);
}
const textFile = async (asked: readonly string[]): Promise<string> => (await got(asked)).toString('utf8');

async function everyFile(): Promise<Map<string, string>> {
  const names = (await readdir(store, { recursive: true }))
    .filter((name) => /\.\w+$/.test(name) && name !== 'daybook-store.json')
    .sort();
  const read = async (name: string) =>
    [name, sha256Of(await readFile(join(store, name), 'latin1').catch(() => ''))] as const;
  return new Map(await Promise.all(names.map(read)));
}

it('what is published stays as it is, is compared and made again without names, and verifies', async () => {
  const before = await everyFile();
  await giveNames();
  await ok(['publish', '--repair', '--from', FROM, '--to', TO]);
  const lost = [...before.keys()].find((name) => /USD.*\.xlsx$/.test(name))!;
  await rm(join(store, lost));
  await ok(['publish', '--repair', '--from', FROM, '--to', TO]);
  await ok(['run', '--from', FROM, '--to', TO]);
  expect(await everyFile()).toEqual(before);
  await ok(['verify', store]);
  await clearNames();
});

it('once the names are removed, every file has the bytes of before; those with names differ from them', async () => {
  const before = new Map<string, Buffer>();
  for (const [what, asked] of Object.entries(ASKED)) before.set(what, await got(asked));
  await giveNames();
  const changed = [];
  for (const [what, asked] of Object.entries(ASKED))
    if (!(await got(asked)).equals(before.get(what)!)) changed.push(what);
  await clearNames();
  expect(changed).toEqual([
    'camt.053 of a day',
    'PDF of a day',
    'changes as camt.053',
    'camt.053 of a month',
    'workbook',
    'ZIP of PDFs',
    'ZIP of camt.053',
  ]);
  for (const [what, asked] of Object.entries(ASKED))
    expect((await got(asked)).equals(before.get(what)!), what).toBe(true);
});

const valuesAt = (text: string, path: string): string[] => {
  const document = XmlDocument.fromString(text);
  try {
    return document.find(path, NS).map((node) => node.content);
  } finally {
    document.dispose();
  }
};

function assertValid(text: string): void {
  if (!existsSync(SCHEMA)) return;
  const schema = XmlDocument.fromBuffer(readFileSync(SCHEMA));
  const validator = XsdValidator.fromDoc(schema);
  const document = XmlDocument.fromString(text);
  try {
    validator.validate(document);
  } finally {
    for (const one of [document, validator, schema]) one.dispose();
  }
}

describe('camt.053', () => {
  const CAMTS = ['camt.053 of a day', 'camt.053 of a month', 'changes as camt.053'];

  it.each(CAMTS)('%s names account and owner, by IBAN, and is valid', async (what) => {
    await giveNames();
    const text = await textFile(ASKED[what]!);
    assertValid(text);
    expect(valuesAt(text, '//c:Stmt/c:Acct/c:Id/c:IBAN')).toEqual([IBAN]);
    expect(valuesAt(text, '//c:Stmt/c:Acct/c:Id/c:Othr')).toEqual([]);
    expect(valuesAt(text, '//c:Acct/c:Nm')).toEqual([ACCOUNT_NAME.slice(0, 70)]);
    expect(valuesAt(text, '//c:Acct/c:Ownr/c:Nm')).toEqual([NAME]);
    expect(valuesAt(text, '//c:Acct/c:Ownr/c:Id/c:OrgId/c:Othr/c:Id')).toEqual(['K-20017']);
  });

  it.each([
    ['DE89370400440532013001', 'a mistyped IBAN'],
    ['ACC/7 & CO', 'another identifier'],
    ['X'.repeat(34), 'the longest identifier'],
  ])('%s, %s, is given as another identifier, and is valid', async (given) => {
    await clearNames();
    await rename('--currency', 'USD', '--iban', given);
    const text = await textFile(ASKED['camt.053 of a day']!);
    assertValid(text);
    expect(valuesAt(text, '//c:Acct/c:Id/c:IBAN')).toEqual([]);
    expect(valuesAt(text, '//c:Acct/c:Id/c:Othr/c:Id')).toEqual([given.replaceAll(' ', '')]);
    expect(valuesAt(text, '//c:Ownr')).toEqual([]);
  });

  it('names of another currency or of the account’s merchant alone leave the number as it is', async () => {
    await clearNames();
    await rename('--currency', 'KWD', '--iban', IBAN, '--name', 'Other');
    await rename('--name', '支'.repeat(140));
    const text = await textFile(ASKED['camt.053 of a day']!);
    assertValid(text);
    expect(valuesAt(text, '//c:Acct/c:Id/c:Othr/c:Id')).toEqual([`${merchantNo}USD`]);
    expect([valuesAt(text, '//c:Acct/c:Nm'), valuesAt(text, '//c:Ownr/c:Nm')]).toEqual([
      [],
      ['支'.repeat(140)],
    ]);
  });
});

describe('a workbook', () => {
  it('of a month has names as text, whatever they begin with, behind the other columns', async () => {
    await clearNames();
    await giveNames();
    const { sheets } = await readXlsx(await got(ASKED['workbook']!));
    const [head, ...rows] = sheets[0]!.rows;
    expect(head!.slice(-3)).toEqual(['account_name', 'iban', 'ledger_account']);
    const row = rows.find(([currency]) => currency === 'USD')!;
    expect(row.slice(-3)).toEqual([ACCOUNT_NAME, IBAN, '1210']);
    const facts = new Map(rows.map(([name, value]) => [name, value]));
    expect([facts.get('merchant_name'), facts.get('merchant_reference')]).toEqual([NAME, 'K-20017']);
  });

  it('of a day that was not published as one has them, too, through the pages as by command', async () => {
    const address = `/download/${merchantNo}/USD/${FROM}?format=xlsx&revision=2`;
    const published = await pages.get(address);
    const own = await readXlsx(new Uint8Array(await published.arrayBuffer()));
    expect(own.sheets[0]!.rows.flat()).not.toContain(NAME);
    const made = await pages.get(`/download/${merchantNo}/USD/${TO}?format=xlsx`);
    const { sheets } = await readXlsx(new Uint8Array(await made.arrayBuffer()));
    expect(sheets[0]!.rows.slice(1, 8).map(([name, value]) => [name, value])).toEqual([
      ...[
        ['merchant_no', merchantNo],
        ['merchant_name', NAME],
        ['merchant_reference', 'K-20017'],
      ],
      ...[
        ['currency', 'USD'],
        ['account_name', ACCOUNT_NAME],
        ['iban', IBAN],
        ['ledger_account', '1210'],
      ],
    ]);
  });
});

it('PDFs of a day and of a month have the names, in Latin letters where their fonts have no others', async () => {
  await giveNames();
  const spelled = '=1+2 & <Acme> "ZhiFu" slvm';
  const day = textOf(await pagesOf(await got(ASKED['PDF of a day']!)));
  const month = await pages.get(`/download/${merchantNo}/${MONTH}.pdf`);
  for (const text of [day, textOf(await pagesOf(new Uint8Array(await month.arrayBuffer())))]) {
    const words = text.replaceAll(/\s+/g, ' ');
    expect(words).toContain(`Name | ${spelled}`);
    expect(words).toContain('Reference | K-20017');
    expect(words).toContain(`IBAN ${IBAN}, ledger account 1210`);
  }
});

it('MT940 keeps merchant and currency in :25:, as importers find the account by it', async () => {
  await giveNames();
  for (const what of ['MT940 of a day', 'MT940 of a month']) {
    const text = await textFile(ASKED[what]!);
    expect([...text.matchAll(/^:25:(.*)\r$/gm)].map(([, account]) => account)).toContain(`${merchantNo}USD`);
    expect(text).not.toContain(IBAN);
  }
});
