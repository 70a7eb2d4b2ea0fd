/** What is held is read until it is back or accepted, wherever it lies and whatever ends a run before it is judged. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { addDays } from '../../src/ledger/business-day.ts';
import { executeRun } from '../../src/run/run.ts';
import { runDeps } from '../../src/run/app.ts';
import { acceptAllHeld } from '../support/held.ts';
import { entriesOfAmounts } from '../support/plain-platform.ts';
import { openPlainStage, PLAIN_MERCHANT, type PlainStage } from '../support/plain-stage.ts';

const DAYS = ['02', '03', '04'];
const ALL = entriesOfAmounts(
  'USD',
  DAYS.flatMap((day) =>
    [10, 11, 12].map((hour) => [`B${day}${hour}`, `2026-03-${day} ${hour}:00:00`, 500] as const),
  ),
);

let stage: PlainStage;
afterEach(() => stage.close());

const firstNight = async (): Promise<void> => {
  stage = await openPlainStage(ALL, '2026-03-05T01:30:00+08:00');
  expect((await stage.run('2026-03-02', '2026-03-04')).exitCode).toBe(0);
};
const night = (day: string, time = '01:30:00') => {
  stage.setNow(`2026-${day}T${time}+08:00`);
  return stage.night();
};
const statements = async (): Promise<Record<string, string>> => {
  const files = await readdir(stage.folder, { recursive: true });
  const texts = files
    .filter((name) => name.endsWith('.csv'))
    .sort()
    .map(async (name) => [name, await readFile(join(stage.folder, name), 'utf8')] as const);
  return Object.fromEntries(await Promise.all(texts));
};
const vanished = async (): Promise<number> => {
  const rows = await stage
    .app()
    .database.db.selectFrom('ledger_entry')
    .select('batch_no')
    .where('vanished_at', 'is not', null)
    .execute();
  return rows.length;
};

test.each([
  ['the first day that was ever read', (day: string) => day !== '2026-03-02'],
  ['all there is', () => false],
])(
  '%s is gone for weeks: it is read every night, and back it is as before',
  { tags: ['long'] },
  async (_, isShown) => {
    await firstNight();
    const before = await statements();
    stage.entries = ALL.filter(({ busiDate }) => isShown(busiDate.slice(0, 10)));
    for (const day of ['03-06', '03-07', '03-30', '04-20', '04-21'])
      expect((await night(day)).exitCode).toBe(4);
    expect(await vanished()).toBe(0);
    stage.entries = ALL;
    const { exitCode, reasons } = await night('04-22');
    expect([exitCode, reasons]).toEqual([0, []]);
    expect(await statements()).toMatchObject(before);
  },
);

test('what is accepted weeks later is marked by the next night', { tags: ['long'] }, async () => {
  await firstNight();
  stage.entries = ALL.filter(({ busiDate }) => !busiDate.startsWith('2026-03-02'));
  for (const day of ['03-06', '04-20']) expect((await night(day)).exitCode).toBe(4);
  await acceptAllHeld(stage.app().database.db, stage.now());
  await night('04-21');
  expect(await vanished()).toBe(3);
  expect(Object.keys(await statements())).toContainEqual(expect.stringMatching(/2026-03-02\.r2\.csv$/));
});

/** A night that is interrupted by the nth call. Returns whether there was one. */
async function interruptedAt(nth: number, day: string): Promise<boolean> {
  stage.setNow(`2026-${day}T01:30:00+08:00`);
  const stop = new AbortController();
  let calls = 0;
  stage.platform.alter = (honest) => {
    calls += 1;
    if (calls === nth) stop.abort(new Error('stopped'));
    return honest;
  };
  const request = { command: 'run', range: null, merchants: [PLAIN_MERCHANT], currencies: null } as const;
  await executeRun(request, runDeps(stage.app(), stop.signal)).catch(() => undefined);
  stage.platform.alter = (honest) => honest;
  return calls >= nth;
}

test(
  'a night that ends before it judged leaves it to the next one, which believes no more',
  { tags: ['long'] },
  async () => {
    await firstNight();
    const before = await statements();
    // Of each day by itself this would be believed at once: two of three.
    stage.entries = ALL.filter(({ batchNo }) => batchNo.endsWith('10'));
    let nth = 1;
    while (await interruptedAt(nth, '03-05')) {
      expect(await vanished()).toBe(0);
      nth += 1;
    }
    expect(nth).toBeGreaterThan(3);
    for (const day of ['03-06', '03-07']) expect((await night(day)).exitCode).toBe(4);
    expect(await vanished()).toBe(0);
    expect(await statements()).toMatchObject(before);
    stage.entries = ALL;
    expect((await night('03-08')).exitCode).toBe(0);
  },
);

test(
  'all entries of forty-five days are gone: no day is left out while they are held, and back they are as before',
  { tags: ['long'] },
  async () => {
    const days = Array.from({ length: 45 }, (_, nth) => addDays('2026-01-15', nth));
    const long = entriesOfAmounts(
      'USD',
      days.map((day) => [`L${day}`, `${day} 10:00:00`, 500] as const),
    );
    stage = await openPlainStage(long, '2026-03-02T01:30:00+08:00');
    expect((await stage.run('2026-01-10', '2026-03-01')).exitCode).toBe(0);
    const before = await statements();
    stage.entries = [];
    for (const day of ['03-03', '03-04', '03-25', '04-10']) expect((await night(day)).exitCode).toBe(4);
    stage.entries = long;
    for (const day of ['04-11', '04-12']) await night(day);
    expect((await night('04-13')).reasons).toEqual([]);
    expect(await statements()).toMatchObject(before);
  },
);

test('a database that only adopted the statements knows no entry to hold: it revises, and names what is gone', async () => {
  await firstNight();
  await stage.newDatabase();
  await stage.adopt();
  stage.entries = [];
  const { exitCode, reasons } = await night('03-06');
  expect(exitCode).toBe(3);
  expect(reasons.map(({ what }) => what).join()).toContain('3 entries fewer (B0210, B0211, B0212)');
});

test('while entries of one account are held, a new day of another one is published if it has entries, and waits if it has none', async () => {
  const other = (days: readonly string[]) =>
    entriesOfAmounts(
      'EUR',
      days.map((day) => [`E${day}`, `2026-03-${day} 10:00:00`, 500] as const),
    );
  stage = await openPlainStage([...ALL, ...other(DAYS)], '2026-03-05T01:30:00+08:00');
  expect((await stage.run('2026-03-02', '2026-03-04')).exitCode).toBe(0);
  stage.entries = [...ALL.filter(({ busiDate }) => busiDate < '2026-03-04'), ...other([...DAYS, '05'])];
  expect((await night('03-06')).publish!.published).toMatchObject([{ day: '2026-03-05' }]);
  const { exitCode, publish } = await night('03-07');
  expect([exitCode, publish!.published]).toEqual([4, []]);
  expect(publish!.withheld).toContainEqual(
    expect.objectContaining({
      account: expect.objectContaining({ currency: 'EUR' }),
      day: '2026-03-06',
      cause: 'held',
    }),
  );
  stage.entries = [...ALL, ...other([...DAYS, '05'])];
  expect((await night('03-08')).reasons).toEqual([]);
});
