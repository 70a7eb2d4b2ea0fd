/** A night in which the platform answers with a ledger that nobody here reads: nothing of it is believed. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { addDays } from '../../src/ledger/business-day.ts';
import type { RunReport } from '../../src/run/report.ts';
import { acceptAllHeld } from '../support/held.ts';
import { entriesOfAmounts, type WireEntry } from '../support/plain-platform.ts';
import { openPlainStage, type PlainStage } from '../support/plain-stage.ts';

const FIRST = '2026-03-02';
const HONEST_DAYS = 14;
const DAYS = Array.from({ length: HONEST_DAYS + 10 }, (_, nth) => addDays(FIRST, nth));
const LAST_READ = DAYS[HONEST_DAYS - 1]!;

/** So many entries on each of these days; the numbers begin with `letter`. */
const ledger = (
  letter: string,
  perDay: number,
  { currency = 'USD', days = DAYS, opening = 0 } = {},
): WireEntry[] =>
  entriesOfAmounts(
    currency,
    days
      .flatMap((day) =>
        Array.from({ length: perDay }, (_, nth): [string, string, number] => {
          const at = new Date(((nth * 67_000 + 8 * 3_600 + letter.charCodeAt(0) * 37) * 1_000) % 86_400_000);
          return [`${letter}${day}-${nth}`, `${day} ${at.toISOString().slice(11, 19)}`, 1_000 + nth];
        }),
      )
      .toSorted((one, two) => (one[1] < two[1] ? -1 : 1)),
    opening,
  );

let stage: PlainStage;
afterEach(() => stage.close());

/** The night after `nth` days. */
const night = (nth: number): Promise<RunReport> => {
  stage.setNow(`${addDays(FIRST, nth)}T01:30:00+08:00`);
  return stage.night();
};
const statements = async (): Promise<Record<string, string>> => {
  const names = (await readdir(stage.folder, { recursive: true }))
    .filter((name) => name.endsWith('.csv'))
    .sort();
  const texts = names.map(async (name) => [name, await readFile(join(stage.folder, name), 'utf8')] as const);
  return Object.fromEntries(await Promise.all(texts));
};
const begin = async (own: readonly WireEntry[]): Promise<Record<string, string>> => {
  stage = await openPlainStage(own, `${addDays(LAST_READ, 1)}T01:30:00+08:00`);
  expect(await stage.run(FIRST, LAST_READ)).toMatchObject({ exitCode: 0 });
  return statements();
};

test.each([
  ['of the same currency and days', ledger('A', 3), ledger('X', 4)],
  ['of another currency', ledger('A', 3), ledger('X', 4, { currency: 'EUR' })],
  ['of many entries', ledger('A', 3), ledger('X', 130)],
  [
    'of days on which the own ledger was silent',
    ledger('A', 2, { days: DAYS.filter((_, nth) => nth % 3 === 0) }),
    ledger('X', 3, { days: DAYS.filter((_, nth) => nth % 3 === 1) }),
  ],
  ['where the own ledger fills pages', ledger('A', 130), ledger('X', 3)],
])(
  '%s: it is named first, no day is revised, and the next night is as if it had not been',
  async (_, own, other) => {
    const before = await begin(own);
    stage.entries = other;
    const wrong = await night(HONEST_DAYS + 1);
    expect(wrong.exitCode).toBe(4);
    expect(wrong.reasons[0]!.what).toMatch(/^M-PLAIN: the platform answered with another ledger/);
    expect(await statements()).toEqual(before);
    stage.entries = own;
    const right = await night(HONEST_DAYS + 2);
    expect([right.exitCode, right.reasons]).toEqual([0, []]);
    expect(await statements()).toMatchObject(before);
    const entries = await stage.app().database.db.selectFrom('ledger_entry').select('batch_no').execute();
    expect(entries.filter(({ batch_no: batchNo }) => batchNo.startsWith('X'))).toEqual([]);
  },
);

test('it stays so for as long as it is answered', async () => {
  const before = await begin(ledger('A', 3));
  stage.entries = ledger('X', 4);
  for (const nth of [1, 2, 3]) {
    const { exitCode, reasons } = await night(HONEST_DAYS + nth);
    expect([exitCode, reasons[0]!.what]).toEqual([4, expect.stringMatching(/another ledger/)]);
  }
  expect(await statements()).toEqual(before);
});

test('a person who knows that the ledger was booked anew accepts it, and the next night takes it', async () => {
  const days = DAYS.slice(HONEST_DAYS - 5);
  await begin(ledger('A', 3, { days }));
  stage.entries = ledger('X', 4, { days });
  const held = await night(HONEST_DAYS + 1);
  expect(held.reasons.map(({ todo }) => todo).join()).toContain('daybook amendments accept');
  await acceptAllHeld(stage.app().database.db, stage.now());
  expect((await night(HONEST_DAYS + 2)).exitCode).toBe(3);
  const entries = await stage
    .app()
    .database.db.selectFrom('ledger_entry')
    .select('batch_no')
    .where('vanished_at', 'is', null)
    .execute();
  expect(entries.some(({ batch_no: batchNo }) => batchNo.startsWith('X'))).toBe(true);
});

test('a run that holds entries of one day revises no other day, and the run that finds them again does', async () => {
  const own = ledger('A', 3);
  const before = await begin(own);
  const late = entriesOfAmounts('EUR', [['L1', `${DAYS[10]} 11:00:00`, 500]]);
  const euros = entriesOfAmounts(
    'EUR',
    [9, 12].map((nth) => [`E${nth}`, `${DAYS[nth]} 09:00:00`, 700] as const),
  );
  stage.entries = [...own, ...euros];
  expect((await night(HONEST_DAYS + 1)).exitCode).not.toBe(4);
  const known = await statements();
  // All of a day is gone, and another account has more than it had.
  stage.entries = [...own.filter(({ busiDate }) => !busiDate.startsWith(DAYS[11]!)), ...euros, ...late];
  const held = await night(HONEST_DAYS + 2);
  expect(held.exitCode).toBe(4);
  expect(await statements()).toMatchObject(known);
  const added = Object.keys(await statements()).filter((name) => !(name in known));
  expect(added.filter((name) => !name.includes(`date=${DAYS[HONEST_DAYS + 1]}`))).toEqual([]);
  expect(held.reasons.map(({ what }) => what).join()).toContain('no published day is revised');
  stage.entries = [...own, ...euros, ...late];
  await night(HONEST_DAYS + 3);
  expect(await statements()).toMatchObject(before);
  expect(
    Object.keys(await statements()).filter((name) => name.includes('EUR') && name.includes('.r2.')),
  ).not.toEqual([]);
});

const storedOf = async (letter: string): Promise<string[]> => {
  const rows = await stage.app().database.db.selectFrom('ledger_entry').select('batch_no').execute();
  return rows.map(({ batch_no: batchNo }) => batchNo).filter((batchNo) => batchNo.startsWith(letter));
};
const publishedOf = async (currency: string): Promise<Record<string, string>> =>
  Object.fromEntries(Object.entries(await statements()).filter(([name]) => name.includes(currency)));

test.each([
  ['of as many entries a day', ledger('A', 3), ledger('X', 3), 1],
  ['for three nights', ledger('A', 3), ledger('X', 20), 3],
  ['of full pages', ledger('A', 130), ledger('X', 120), 1],
  ['of an account that was silent for weeks', ledger('A', 3, { days: DAYS.slice(0, 3) }), ledger('X', 3), 2],
  [
    'of recent days alone',
    ledger('A', 3, { days: DAYS.slice(0, 3) }),
    ledger('X', 3, { days: DAYS.slice(HONEST_DAYS - 1), opening: 77_000 }),
    1,
  ],
])(
  'one account of two is answered from another ledger, %s: nothing of it is written, the other account goes on',
  async (_, own, other, nights) => {
    const euros = ledger('E', 5, { currency: 'EUR' });
    const before = await begin([...own, ...euros]);
    const beforeUsd = await publishedOf('USD');
    stage.entries = [...other, ...euros];
    for (let nth = 1; nth <= nights; nth += 1) {
      const wrong = await night(HONEST_DAYS + nth);
      expect(wrong.exitCode).toBe(4);
      expect(wrong.reasons[0]!.what).toMatch(/^M-PLAIN: the platform answered with another ledger for USD/);
    }
    expect(await storedOf('X')).toEqual([]);
    expect(await publishedOf('USD')).toEqual(beforeUsd);
    expect(Object.keys(await publishedOf('EUR')).join()).toContain(`date=${DAYS[HONEST_DAYS - 1 + nights]}`);
    stage.entries = [...own, ...euros];
    const right = await night(HONEST_DAYS + nights + 1);
    expect([right.exitCode, right.reasons]).toEqual([0, []]);
    expect(await statements()).toMatchObject(before);
    expect(Object.keys(await publishedOf('USD')).join()).toContain(`date=${DAYS[HONEST_DAYS + nights]}`);
  },
);

test.each([
  ['of all days', ledger('X', 3)],
  ['of recent days alone', ledger('X', 3, { days: DAYS.slice(HONEST_DAYS - 1), opening: 77_000 })],
  ['of another currency', ledger('X', 3, { currency: 'EUR' })],
])('of a merchant that was silent for weeks, %s: nothing is written or published', async (_, other) => {
  const own = ledger('A', 3, { days: DAYS.slice(0, 3) });
  const before = await begin(own);
  stage.entries = other;
  const wrong = await night(HONEST_DAYS + 1);
  expect([wrong.exitCode, wrong.reasons[0]!.what]).toEqual([4, expect.stringMatching(/another ledger/)]);
  expect(await storedOf('X')).toEqual([]);
  expect(await statements()).toEqual(before);
  stage.entries = own;
  const right = await night(HONEST_DAYS + 2);
  expect([right.exitCode, right.reasons]).toEqual([0, []]);
});

test('a merchant that was silent for weeks and goes on is read as ever', async () => {
  await begin(ledger('A', 3, { days: DAYS.slice(0, 3) }));
  stage.entries = ledger('A', 3, { days: [...DAYS.slice(0, 3), ...DAYS.slice(HONEST_DAYS)] });
  expect(await night(HONEST_DAYS + 1)).toMatchObject({ exitCode: 0, reasons: [] });
});

test('while entries of an account are held, no day of it is published, new or old; another account goes on', async () => {
  const own = ledger('A', 3);
  const euros = ledger('E', 3, { currency: 'EUR' });
  await begin([...own, ...euros]);
  const usd = await publishedOf('USD');
  stage.entries = [...own.filter(({ busiDate }) => !busiDate.startsWith(DAYS[11]!)), ...euros];
  for (const nth of [1, 2]) {
    const held = await night(HONEST_DAYS + nth);
    expect(held.exitCode).toBe(4);
    expect(held.reasons.map(({ what }) => what).join()).toContain('no day of the account is published');
  }
  expect(await publishedOf('USD')).toEqual(usd);
  expect(Object.keys(await publishedOf('EUR')).join()).toContain(`date=${DAYS[HONEST_DAYS + 1]}`);
  stage.entries = [...own, ...euros];
  expect(await night(HONEST_DAYS + 3)).toMatchObject({ exitCode: 0 });
  expect(Object.keys(await publishedOf('USD')).join()).toContain(`date=${DAYS[HONEST_DAYS + 2]}`);
});
