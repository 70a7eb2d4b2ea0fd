/** Names and own references on the pages: given by an operator, shown where merchants and accounts are, found by the search, each change on record. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Access, Person } from '../../../src/plugins/pages/access/access.ts';
import { storeNames } from '../../../src/store/names.ts';
import { MERCHANT } from '../../support/stage.ts';
import { BROKEN_DAY, openPagesStage } from './stage.ts';
import { everybody, FORM_TOKEN, showPages, textOf, type ShownPages } from './support.ts';
import type { Stage } from '../../support/stage.ts';

const { merchantNo } = MERCHANT;
const FORM = `/names/${merchantNo}`;
const MONTH = `/m/${merchantNo}/2026-03`;
const DAY = `/m/${merchantNo}/USD/${BROKEN_DAY}`;
const IBAN = 'DE89370400440532013000';
const SHOWN = ['/?month=2026-03', MONTH, DAY, '/status', '/breaks', '/breaks/1', '/changes?since=2026-03-01'];

let stage: Stage;
let pages: ShownPages;
let viewing: ShownPages;
let foreign: ShownPages;
beforeAll(async () => {
  stage = await openPagesStage(undefined, [
    { what: 'malformed', merchant: merchantNo, currency: 'USD', day: '2026-03-05', nth: 7 },
  ]);
  const as = (person: Person): Access => ({ ...everybody(), personOf: () => person });
  pages = await showPages(stage);
  viewing = await showPages(stage, { access: as({ name: 'Vera', role: 'viewer', merchants: null }) });
  foreign = await showPages(stage, { access: as({ name: 'Otto', role: 'operator', merchants: ['M-2'] }) });
});
beforeEach(async () => {
  const { db } = stage.app.database;
  await db.deleteFrom('account_name').execute();
  await db.deleteFrom('audit_event').execute();
});
afterAll(async () => {
  await Promise.all([pages, viewing, foreign].map((one) => one.close()));
  await stage.close();
});

const words = async (path: string, by = pages): Promise<string> => textOf(await by.html(path));
const seenIn = (html: string): string => /name="seen"\s+value="(\w+)"/.exec(html)![1]!;
/** Sends the form as a browser does: every field of it, with these changes. */
async function save(fields: Readonly<Record<string, string>>, by = pages, seen?: string): Promise<Response> {
  const html = await pages.html(FORM);
  const inputs = [...html.matchAll(/<input id="([^"]+)" name="[^"]+" value="([^"]*)"/g)];
  const filled = Object.fromEntries(inputs.map(([, name, value]) => [name!, textOf(value!)]));
  return by.post(FORM, { form_token: FORM_TOKEN, seen: seen ?? seenIn(html), ...filled, ...fields });
}
const give = (currency: string | null, fields: Readonly<Record<string, string>>, no = merchantNo) =>
  stage.app.database.db.transaction().execute((trx) =>
    storeNames(trx, [{ merchantNo: no, currency, fields }], {
      ...{ event: { by: 'ada', command: 'merchants name' }, now: stage.app.now() },
    }),
  );
const events = async () =>
  (
    await stage.app.database.db
      .selectFrom('audit_event')
      .select(['by_whom', 'command', 'subject', 'note'])
      .where('command', '=', 'merchants name')
      .orderBy('id')
      .execute()
  ).map(({ by_whom, command, subject, note }) => [by_whom, command, subject, note]);

test('work and unreadable entries name the merchant', async () => {
  const day = { from: BROKEN_DAY, to: BROKEN_DAY };
  const asked = { form_token: FORM_TOKEN, kind: 'publish', merchant: merchantNo, ...day };
  const { headers } = await pages.post('/work', asked);
  const { id } = await stage.app.database.db
    .selectFrom('quarantined_entry')
    .select('id')
    .executeTakeFirstOrThrow();
  await give(null, { name: 'Acme & Söhne' });
  const list = `/unreadable?merchant=${merchantNo}`;
  for (const path of ['/work', headers.get('location')!, '/unreadable', `/unreadable/${id}`])
    expect(await words(path), path).toContain(`${merchantNo} Acme & Söhne`);
  expect((await words(`${list}&day=2026-03-01`)).match(/Acme & Söhne/g)).toHaveLength(1);
  const tomorrow = { from: '2026-03-07', to: '2026-03-07' };
  const refused = textOf(await (await pages.post('/work', { ...asked, ...tomorrow })).text());
  expect(refused).toContain(`${merchantNo} Acme & Söhne`);
});

test('an operator gives names, which stand on each page that shows the merchant, and removes them', async () => {
  const before = await Promise.all(SHOWN.map((path) => pages.html(path)));
  const response = await save({
    ...{ name: 'Acme & Söhne', reference: 'K-20017' },
    ...{ 'name.USD': 'Settlement', 'iban.USD': 'de89 3704 0044 0532 0130 00', 'ledgerAccount.USD': '1210' },
  });
  expect([response.status, response.headers.get('location')]).toEqual([303, `${FORM}?done=yes`]);
  expect(await words(`${FORM}?done=yes`)).toContain('Saved. These are the names and references now.');
  for (const path of SHOWN) expect(await words(path), path).toContain('Acme & Söhne');
  expect(await words('/?month=2026-03')).toContain(`${merchantNo} USD Acme & Söhne, Settlement`);
  expect(await words(DAY)).toContain(
    `reference K-20017 · Settlement · IBAN ${IBAN}, ledger account 1210 · Names and references`,
  );
  expect(await words(`${MONTH}?currency=USD`)).toContain(`IBAN ${IBAN}`);
  expect(await words(`${MONTH}?currency=KWD`)).not.toContain(IBAN);
  for (const path of [MONTH, DAY])
    expect(await pages.html(path)).toContain(`<title>${merchantNo} Acme &amp; Söhne`);
  expect(await events()).toEqual([
    [
      ...['local', 'merchants name', merchantNo],
      'name: Acme & Söhne (before: none); reference: K-20017 (before: none)',
    ],
    [
      ...['local', 'merchants name', `${merchantNo} USD`],
      `name: Settlement (before: none); IBAN: ${IBAN} (before: none); ledger account: 1210 (before: none)`,
    ],
  ]);
  const none = { name: '', reference: '', 'name.USD': '', 'iban.USD': '', 'ledgerAccount.USD': '' };
  expect((await save(none)).status).toBe(303);
  expect((await events()).at(-2)).toEqual([
    ...['local', 'merchants name', merchantNo],
    'name: none (before: Acme & Söhne); reference: none (before: K-20017)',
  ]);
  expect(await Promise.all(SHOWN.map((path) => pages.html(path)))).toEqual(before);
});

describe('the search of accounts', () => {
  const found = async (text: string): Promise<readonly string[]> => {
    const html = await pages.html(`/?month=2026-03&q=${encodeURIComponent(text)}`);
    return ['KWD', 'USD'].filter((currency) => html.includes(`${merchantNo} ${currency}`));
  };

  test('finds parts of a name, a reference and an IBAN in any case, and accounts by their own', async () => {
    await give(null, { name: 'Größe & Co', reference: 'K-20017' });
    await give('USD', { name: 'Settlement', iban: IBAN, ledgerAccount: '1210' });
    for (const text of ['größe', '& co', 'k-200', merchantNo.toLowerCase()])
      expect(await found(text), text).toEqual(['KWD', 'USD']);
    for (const text of ['SETTLE', IBAN.slice(4, 12), '1210'])
      expect(await found(text), text).toEqual(['USD']);
    for (const text of ['%', '_', 'none of it', 'Co K-2']) expect(await found(text), text).toEqual([]);
  });

  test('finds a name that was typed in its other form, and one of more than 32 characters', async () => {
    await give(null, { name: `Caf\u00e9 ${'long '.repeat(20)}end` });
    expect(await found('Cafe\u0301')).toEqual(['KWD', 'USD']);
    expect(await found('long '.repeat(10))).toEqual(['KWD', 'USD']);
    expect(await found(`${'long '.repeat(9)}none`)).toEqual([]);
  });
});

test('a name is text whatever is in it, and stands in its own direction', async () => {
  await give(null, { name: '<script>alert(1)</script> "שלום" &amp;' });
  await give('USD', { name: 'x" onfocus="alert(1)' });
  for (const path of [...SHOWN, FORM]) {
    const html = await pages.html(path);
    expect(html, path).not.toMatch(/<script|" onfocus/);
    expect(html, path).toMatch(/<bdi[^>]*>&lt;script&gt;alert\(1\)&lt;\/script&gt;[^<]*שלום/);
  }
});

describe('a form is refused', () => {
  test('with what was typed, where a name cannot be stored', async () => {
    for (const [fields, problem] of [
      [{ name: 'x'.repeat(141) }, 'Display name: the text has 141 characters; it may have 140.'],
      [
        { 'name.USD': 'turned\u202e' },
        `${merchantNo} USD, Display name: the text holds a line break or a character that does not show`,
      ],
      [{ 'ledgerAccount.KWD': 'x'.repeat(36) }, 'Ledger account: the text has 36 characters'],
    ] as const) {
      const response = await save({ ...fields, reference: 'typed & kept' });
      const html = await response.text();
      expect([response.status, textOf(html)]).toEqual([409, expect.stringContaining(problem)]);
      expect(html).toContain('value="typed &amp; kept"');
    }
    expect(await events()).toEqual([]);
  });

  test('where somebody else changed the names meanwhile; sent again after that it is stored', async () => {
    const seen = seenIn(await pages.html(FORM));
    await give(null, { name: 'Meanwhile' });
    const response = await save({ name: 'Late' }, pages, seen);
    const html = await response.text();
    expect([response.status, textOf(html)]).toEqual([
      409,
      expect.stringContaining('somebody else has changed them since this page was opened'),
    ]);
    expect(html).toContain('value="Late"');
    expect((await save({ name: 'Late' }, pages, seenIn(html))).status).toBe(303);
    expect((await events()).at(-1)!.at(-1)).toBe('name: Late (before: Meanwhile)');
  });

  test('where another account of the currency has the IBAN, without saying which', async () => {
    await give('USD', { iban: IBAN }, 'M-2');
    const response = await save({ 'iban.USD': IBAN });
    const text = textOf(await response.text());
    expect([response.status, text]).toEqual([
      409,
      expect.stringContaining('another account of the same currency has this IBAN already'),
    ]);
    expect(text).not.toContain('M-2');
    expect((await save({ 'iban.KWD': IBAN })).status).toBe(303);
  });

  test('of an IBAN by who may not see all merchants, with the same answer whether an account has it or none', async () => {
    await give('USD', { iban: IBAN }, 'M-2');
    const scoped: Person = { name: 'Sam', role: 'operator', merchants: [merchantNo] };
    const own = await showPages(stage, { access: { ...everybody(), personOf: () => scoped } });
    const answers: (readonly [number, string])[] = [];
    for (const iban of [IBAN, 'DE75512108001245126199', 'no IBAN of anybody']) {
      const response = await save({ 'iban.USD': iban }, own);
      answers.push([response.status, textOf(await response.text())]);
    }
    expect(new Set(answers.map(([status]) => status))).toEqual(new Set([409]));
    for (const [, text] of answers) expect(text).toContain('by an operator who may see all merchants');
    // What the person may see of the form is fixed, and all else is changed as before.
    expect(await own.html(FORM)).toMatch(/<input id="iban\.USD"[^>]* readonly\s*\/>/);
    expect((await save({ name: 'Acme' }, own)).status).toBe(303);
    await own.close();
  });

  test('of a viewer, of another merchant’s operator, and without its token', async () => {
    expect((await save({ name: 'No' }, viewing)).status).toBe(403);
    expect((await save({ name: 'No' }, foreign)).status).toBe(404);
    expect((await save({ name: 'No', form_token: 'other' })).status).toBe(403);
    expect((await foreign.get(FORM)).status).toBe(404);
    expect((await pages.get('/names/NOBODY')).status).toBe(404);
    expect(await events()).toEqual([]);
  });
});

test('a viewer sees the names and references, and no button', async () => {
  await give('USD', { iban: 'DE89370400440532013001' });
  const html = await viewing.html(FORM);
  expect(html).toContain('Only an operator can change them.');
  expect(html).toContain('value="DE89370400440532013001"');
  expect(html).not.toContain('class="main"');
  expect(html.match(/<fieldset\s+disabled>/g)).toHaveLength(3);
  expect(textOf(html)).toContain('The check digits are wrong.');
});

test('a viewer of a merchant without names sees the pages as they were, without a way to the form', async () => {
  for (const path of SHOWN)
    expect(await viewing.html(path), path).not.toMatch(/\/names\/|class="named"|<bdi/);
});

test('an account that only has a name is in the form, so that its name can be removed', async () => {
  await give('EUR', { name: 'Not yet' });
  expect(await words(FORM)).toContain(`${merchantNo} EUR`);
  expect((await save({ 'name.EUR': '' })).status).toBe(303);
  expect(await words(FORM)).not.toContain(`${merchantNo} EUR`);
});
