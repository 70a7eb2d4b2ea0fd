/** What the commands call proven, published and closed is so, on a platform that is not the sandbox. */
import { cp, readFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, describe, expect, test } from 'vitest';
import { healthOf } from '../../src/run/health.ts';
import type { Manifest } from '../../src/verify/manifest.ts';
import { entriesOfAmounts, type WireEntry } from '../support/plain-platform.ts';
import { showPages, textOf } from '../plugins/pages/support.ts';
import { openPlainStage, PLAIN_MERCHANT, type PlainStage } from '../support/plain-stage.ts';
import { daybook, envOf } from './daybook.ts';

const { merchantNo } = PLAIN_MERCHANT;
const ENTRIES = [
  ...entriesOfAmounts('USD', [
    ['A-1', '2026-03-30 10:00:00', 10_000],
    ['A-2', '2026-03-31 10:00:00', 500],
  ]),
  ...entriesOfAmounts('EUR', [['B-1', '2026-03-30 11:00:00', 700]]),
];

let stage: PlainStage;
afterEach(() => stage.close());
const command = (...args: string[]) => daybook(args, envOf({ app: stage.app() }));
const datesOf = (day: string) => join(stage.folder, `merchant=${merchantNo}/date=${day}`);

test('verify names what a close froze and is not here, whichever files are missing', async () => {
  stage = await openPlainStage(ENTRIES, '2026-04-01T01:30:00+08:00');
  expect(await command('run', '--from', '2026-03-01', '--to', '2026-03-31')).toMatchObject({ code: 0 });
  const close = ['close', '2026-03', '--merchant', merchantNo, '--by', 'Ada'];
  expect(await command(...close)).toMatchObject({ code: 0 });
  const copy = `${stage.folder}-copy`;
  await cp(stage.folder, copy, { recursive: true });
  const last = datesOf('2026-03-31');
  const csvOf = (currency: string) => join(last, `${merchantNo}_${currency}_2026-03-31.r1.csv`);
  const frozen = 'statements that the close froze are not here: ';
  const both = /EUR 2026-03-31, USD 2026-03-31|USD 2026-03-31, EUR 2026-03-31/;
  const missing: readonly [readonly string[], string | RegExp][] = [
    [[last], both],
    [[join(last, 'manifest.json')], both],
    [[csvOf('USD')], `${merchantNo}_USD_2026-03-31.r1.csv is listed in the manifest but is not here`],
    [
      [csvOf('USD'), csvOf('EUR')],
      `${merchantNo}_EUR_2026-03-31.r1.csv is listed in the manifest but is not here`,
    ],
    [
      (await readdir(join(stage.folder, `merchant=${merchantNo}`)))
        .filter((name) => name.startsWith('date='))
        .map((name) => datesOf(name.slice('date='.length))),
      frozen,
    ],
  ];
  for (const [paths, problem] of missing) {
    for (const path of paths) await rm(path, { recursive: true });
    const ended = await command('verify', stage.folder);
    expect.soft(ended, paths[0]).toMatchObject({ code: 3 });
    expect.soft(ended.stdout).toMatch(problem);
    await cp(copy, stage.folder, { recursive: true });
  }
  expect(await command('verify', stage.folder)).toMatchObject({ code: 0 });
});

test('a month with a difference that no break explains is not closed', async () => {
  stage = await openPlainStage(ENTRIES, '2026-04-01T01:30:00+08:00');
  await command('run', '--from', '2026-03-01', '--to', '2026-03-31');
  const { db } = stage.app().database;
  const close = () => command('close', '2026-03', '--merchant', merchantNo, '--by', 'Ada');
  const moveBy = (opening: number, closing: number) =>
    sql`UPDATE statement SET opening = opening + ${opening}, closing = closing + ${closing}
      WHERE currency = 'USD' AND day = '2026-03-31'`.execute(db);
  await moveBy(5, 5);
  const apart = await close();
  expect(apart).toMatchObject({ code: 3 });
  expect(apart.stdout).toContain(
    'it opens on 105.00 USD, 2026-03-30 closed on 100.00 USD, and no break says why',
  );
  await moveBy(-5, 0);
  const within = await close();
  expect(within).toMatchObject({ code: 3 });
  expect(within.stdout).toContain(
    'opening plus credits minus debits is not the closing, and no break says why',
  );
  await moveBy(0, -5);
  expect(await close()).toMatchObject({ code: 0 });
});

test('the statement of a day of which no entry could be read is not listed as continuous', async () => {
  const [first, second] = ENTRIES;
  const bad = { ...second!, vailAmount: '1,234' } as unknown as WireEntry;
  stage = await openPlainStage([first!, bad], '2026-04-01T01:30:00+08:00');
  await command('run', '--from', '2026-03-30', '--to', '2026-03-31');
  expect((await command('statements', 'list')).stdout).not.toContain('2026-03-31');
  await command('quarantine', 'acknowledge', '1', '--note', 'case 7', '--by', 'Ada');
  await command('publish');
  const { stdout } = await command('statements', 'list');
  expect(stdout).toMatch(/2026-03-30 .*\bcontinuous\b/);
  expect(stdout).toMatch(/2026-03-31 .*\bnothing read, 1 unreadable\b/);
  expect(stdout).not.toMatch(/2026-03-31 .*continuous/);
});

test('a day of which no entry could be read is nowhere called proven', async () => {
  const [, last] = ENTRIES;
  stage = await openPlainStage([{ ...last!, inAmount: 1, outAmount: 1 }], '2026-04-01T01:30:00+08:00');
  const run = await command('run', '--from', '2026-03-30', '--to', '2026-03-31');
  expect(run).toMatchObject({ code: 3 });
  expect(run.stdout).toContain(`proven without a gap, ${merchantNo}: 2026-03-30 to 2026-03-30`);
  const proven = { provenFrom: '2026-03-30', provenThrough: '2026-03-30' };
  const status = await command('status', '--json');
  expect(JSON.parse(status.stdout)).toMatchObject([proven]);
  const { settings, database } = stage.app();
  expect(await healthOf(database.db, { settings, jobs: [], now: stage.now() })).toMatchObject(proven);
  // A person who acknowledges it answers for it: nothing needs attention any more, and still the day is not called proven.
  await command('quarantine', 'acknowledge', '1', '--note', 'case 7', '--by', 'Ada');
  const cleared = await command('status');
  expect(cleared.code).toBe(0);
  expect(cleared.stdout).toMatch(/2026-03-30 +2026-03-30/);
});

test.each([
  ['both amounts', { inAmount: 1, outAmount: 1 }],
  ['no currency', { currency: '??' }],
])(
  'entries with %s between readable days: pages and the acknowledged day’s manifest say so, not proven',
  async (_, fault) => {
    const [first, ...rest] = entriesOfAmounts('USD', [
      ['A-1', '2026-03-29 10:00:00', 10_000],
      ['A-2', '2026-03-30 10:00:00', 500],
      ['A-3', '2026-03-30 12:00:00', 500],
    ]);
    const entries = [first!, ...rest.map((entry) => ({ ...entry, ...fault }))];
    stage = await openPlainStage(entries, '2026-04-01T01:30:00+08:00');
    expect(await command('run', '--from', '2026-03-28', '--to', '2026-03-31')).toMatchObject({ code: 3 });
    await expect(readdir(datesOf('2026-03-30'))).rejects.toThrow(/ENOENT/);
    const pages = await showPages({ app: stage.app() });
    try {
      expect(textOf(await pages.html('/?month=2026-03'))).toMatch(/M-PLAIN USD [· ]+✓ ! ↑ –/);
      const day = textOf(await pages.html(`/m/${merchantNo}/USD/2026-03-30`));
      expect(day).toContain('not all readable');
      expect(day).not.toMatch(/proven: |✓ proven/);
    } finally {
      await pages.close();
    }
    for (const id of ['1', '2'])
      await command('quarantine', 'acknowledge', id, '--note', 'case 7', '--by', 'Ada');
    await command('publish');
    const manifest = await readFile(join(datesOf('2026-03-30'), 'manifest.json'), 'utf8');
    expect(JSON.parse(manifest)).toMatchObject({ statements: [{ rows: 0, unreadable: 2 }] });
  },
);

test(
  'the checks that a manifest names stay named while its statements are the same, whoever writes it next',
  { tags: ['long'] },
  async () => {
    stage = await openPlainStage(ENTRIES, '2026-04-01T01:30:00+08:00');
    const checkedOf = async () =>
      (JSON.parse(await readFile(join(datesOf('2026-03-31'), 'manifest.json'), 'utf8')) as Manifest).checked;
    expect(await command('run')).toMatchObject({ code: 0 });
    const nightly = await checkedOf();
    expect(nightly).toContain('frontier');
    // Another one of the same day with fewer checks: the day before it is revised.
    stage.entries = stage.entries.map((entry) =>
      entry.batchNo === 'A-1' ? { ...entry, busiType: '02' } : entry,
    );
    await command('run', '--from', '2026-03-30', '--to', '2026-03-30');
    expect(await checkedOf()).toEqual(nightly);
    // A database that was restored without these days publishes them again.
    await restoredWithoutRows();
    await command('run', '--from', '2026-03-30', '--to', '2026-03-31');
    expect([...(await checkedOf())!].sort()).toEqual([...nightly!].sort());
  },
);

describe('a database that knows nothing of what the store proves', () => {
  const LEDGER = [
    ...ENTRIES.filter(({ currency }) => currency === 'EUR'),
    ...entriesOfAmounts('USD', [
      ['A-1', '2026-03-30 10:00:00', 10_000],
      ['A-2', '2026-03-31 10:00:00', 500],
      ['A-3', '2026-03-31 11:00:00', 70],
    ]),
  ];
  const run = () => command('run', '--from', '2026-03-30', '--to', '2026-03-31');
  const files = async () => {
    const names = (await readdir(stage.folder, { recursive: true })).filter(
      (name) => /\.(csv|json)$/.test(name) && name !== 'daybook-store.json',
    );
    const texts = names.map(async (name) => [name, await readFile(join(stage.folder, name), 'utf8')]);
    return Object.fromEntries(await Promise.all(texts)) as Readonly<Record<string, string>>;
  };

  test.each<[string, (entries: readonly WireEntry[]) => WireEntry[], string]>([
    [
      'a break where the store proves the day continuous',
      (entries) => entries.filter(({ batchNo }) => batchNo !== 'A-2'),
      'is continuous there and broken here',
    ],
    [
      'no account where the store has one',
      (entries) => entries.filter(({ currency }) => currency !== 'EUR'),
      'EUR is published there and not here',
    ],
  ])('%s: the published files stay as they are, until a person adopts them', async (_, change, how) => {
    stage = await openPlainStage(LEDGER, '2026-04-01T01:30:00+08:00');
    expect(await run()).toMatchObject({ code: 0 });
    const before = await files();
    await restoredWithoutRows();
    stage.entries = change(stage.entries);
    const { code, stdout } = await run();
    expect([code, stdout]).toEqual([4, expect.stringContaining(how)]);
    expect(stdout).toContain('daybook statements adopt');
    expect(await files()).toEqual(before);
    expect(await command('statements', 'adopt')).toMatchObject({ code: 0 });
    const after = await run();
    expect(after.code, after.stdout).not.toBe(70);
    expect(after.stdout).not.toContain('proves more');
  });
});

/** The database that the store belongs to. */
/** A new database that the store belongs to, by the mark that is there. */
async function restoredWithoutRows(): Promise<void> {
  const mark = await readFile(join(stage.folder, 'daybook-store.json'), 'utf8');
  const { database: id, turn } = JSON.parse(mark) as { readonly database: string; readonly turn: string };
  await stage.newDatabase();
  await sql`UPDATE installation SET id = ${id}, store_turn = ${turn}`.execute(stage.app().database.db);
}
