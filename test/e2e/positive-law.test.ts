/** Days proven since an account's first = days with figures = days with a current statement whose rows are the entries. */
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { statusExitCode, statusOf } from '../../src/run/status.ts';
import { verifyPaths } from '../../src/verify/verify.ts';
import { entriesOfAmounts, plainMs, type WireEntry } from '../support/plain-platform.ts';
import { openPlainStage, PLAIN_MERCHANT, type PlainStage } from '../support/plain-stage.ts';
import { differencesFromLaw } from '../support/positive-law.ts';
import { shortAndLong } from '../support/short-and-long.ts';

const { merchantNo } = PLAIN_MERCHANT;
const NIGHT = '2026-04-03T01:30:00+08:00';
const SPARSE = entriesOfAmounts('USD', [
  ['A-1', '2026-02-10 10:00:00', 10_000],
  ['A-2', '2026-03-10 10:00:00', 500],
  ['A-3', '2026-04-02 10:00:00', -700],
]);

let stage: PlainStage;
afterEach(() => stage.close());

const differing = async () => {
  const found = await differencesFromLaw({
    ...{ db: stage.app().database.db, folder: stage.folder, merchantNo, nowMs: stage.now().getTime() },
    beginOf: (day) => plainMs(`${day} 00:00:00`),
  });
  return [...found.figures, ...found.statements];
};

test(
  'proven quiet days before a stretch that was read earlier get statements',
  { tags: ['long'] },
  async () => {
    stage = await openPlainStage(SPARSE, NIGHT);
    await stage.night();
    // The slices of a backfill: the second one begins after the days that the first one read.
    await stage.run('2026-02-01', '2026-03-03');
    expect(await stage.run('2026-03-04', '2026-03-31')).toMatchObject({ exitCode: 0 });
    expect(await differing()).toEqual([]);
    const { problems } = await verifyPaths([stage.folder]);
    expect(problems).toEqual([]);
  },
);

for (const { options, cases } of shortAndLong([
  [['03', '01', '02']],
  [['03', '02', '01']],
  [['02', '03', '01']],
]))
  test.each(cases)('months that are read in the order %s leave no quiet day out', options, async (months) => {
    const entries = entriesOfAmounts('USD', [
      ['A-0', '2026-01-20 10:00:00', 2_000],
      ['A-1', '2026-02-10 10:00:00', 10_000],
      ['A-2', '2026-03-10 10:00:00', 500],
    ]);
    stage = await openPlainStage(entries, NIGHT);
    const lastOf: Record<string, string> = { '01': '31', '02': '28', '03': '31' };
    for (const month of months) await stage.run(`2026-${month}-01`, `2026-${month}-${lastOf[month]}`);
    expect(await differing()).toEqual([]);
  });

test('a day that could not be certified one night and is empty the next gets a statement', async () => {
  stage = await openPlainStage(SPARSE, '2026-03-12T01:30:00+08:00');
  await stage.run('2026-03-10', '2026-03-11');
  stage.setNow('2026-03-14T01:30:00+08:00');
  const day = (at: string): readonly [number, number] => [
    plainMs(`${at} 00:00:00`),
    plainMs(`${at} 23:59:59`),
  ];
  const [from, to] = day('2026-03-12');
  stage.platform.alter = (honest, { body }) =>
    Number(body['beginDate']) <= to && Number(body['endDate']) >= from
      ? { status: 200, body: { pageNum: 1, pageSize: 100, total: 3, list: [] } }
      : honest;
  stage.entries = [...SPARSE, ...entryAfter('2026-03-13 10:00:00')];
  expect(await stage.run('2026-03-12', '2026-03-13')).toMatchObject({ exitCode: 4 });
  stage.platform.alter = (honest) => honest;
  await stage.run('2026-03-12', '2026-03-13');
  await stage.run('2026-03-12', '2026-03-13');
  expect(await differing()).toEqual([]);
});

/** One more entry after the second one. */
const entryAfter = (busiDate: string): WireEntry[] =>
  entriesOfAmounts('USD', [['A-9', busiDate, 100]], 10_500);

test('quiet days of which nothing is stored are filled by the next run', async () => {
  stage = await openPlainStage(SPARSE, NIGHT);
  await stage.run('2026-02-01', '2026-04-02');
  await forget('2026-03-04', '2026-03-09');
  expect(await differing()).not.toEqual([]);
  expect(await stage.night()).toMatchObject({ exitCode: 0 });
  expect(await differing()).toEqual([]);
  expect(await stage.night()).toMatchObject({ exitCode: 0 });
});

/** A new database that has adopted what another one published. */
async function adoptSparse(): Promise<void> {
  stage = await openPlainStage(SPARSE, NIGHT);
  await stage.run('2026-02-10', '2026-04-02');
  await stage.newDatabase();
  await stage.adopt();
}

/** Deletes what is known of proven quiet days. */
async function forget(from: string, to: string): Promise<void> {
  const { db } = stage.app().database;
  for (const table of ['account_day', 'statement', 'artifact'] as const)
    await db.deleteFrom(table).where('day', '>=', from).where('day', '<=', to).execute();
}

test(
  'after a store was adopted, a day that is empty now has a statement without rows',
  { tags: ['long'] },
  async () => {
    await adoptSparse();
    // The first entry is gone, and the second one lies on another day.
    const [, second, third] = SPARSE;
    stage.entries = [
      { ...second!, busiDate: '2026-03-12 10:00:00', atMs: plainMs('2026-03-12 10:00:00') },
      third!,
    ];
    await stage.run('2026-02-10', '2026-04-02');
    expect(await differing()).toEqual([]);
  },
);

test(
  'a day that no reading has proven any more, and adopted days that were not read, are reasons of a run and of status',
  { tags: ['long'] },
  async () => {
    await adoptSparse();
    const report = await stage.run('2026-04-01', '2026-04-02');
    expect(report.exitCode).toBe(3);
    expect(report.notes.join()).toContain(
      'USD: 50 days with an adopted statement that this database has not read',
    );
    const clock = { zone: 'Asia/Shanghai', now: stage.now(), maxAgeMs: null };
    const [status] = await statusOf(stage.app().database.db, [merchantNo], clock);
    expect(status!.discrepancies).toMatchObject([{ currency: 'USD', what: 'not-read' }]);
    expect(statusExitCode([status!], { notMadeUpFor: [] })).toBe(3);
  },
);

test('verify names days left out of an account, and a number in two current statements', async () => {
  stage = await openPlainStage(SPARSE, NIGHT);
  await stage.run('2026-03-08', '2026-03-12');
  const folderOf = (day: string) => join(stage.folder, `merchant=${merchantNo}/date=${day}`);
  const manifest = join(folderOf('2026-03-12'), 'manifest.json');
  const text = await readFile(manifest, 'utf8');
  await writeFile(manifest, text.replace('"previousDay": "2026-03-11"', '"previousDay": "2026-03-10"'));
  const reported = async () =>
    (await verifyPaths([stage.folder])).problems.map(({ problem }) => problem).join('\n');
  expect(await reported()).toContain(
    'USD: 2026-03-11 has no statement, though 2026-03-12 takes up the closing of 2026-03-10',
  );
  await writeFile(manifest, text);
  expect(await reported()).toBe('');
  const csvOf = (day: string) => join(folderOf(day), `${merchantNo}_USD_${day}.r1.csv`);
  await copyFile(csvOf('2026-03-10'), csvOf('2026-03-11'));
  expect(await reported()).toContain('A-2 is in the current statement of 2026-03-10 too');
});
