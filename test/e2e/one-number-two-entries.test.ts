/** A number that the platform uses for two entries: it is named once, one content stays, and a break keeps its id. */
import { afterEach, expect, test } from 'vitest';
import { addDays } from '../../src/ledger/business-day.ts';
import { listAmendments } from '../../src/store/amendments.ts';
import { resolveBreak } from '../../src/store/breaks/break-cases.ts';
import { listBreaks } from '../../src/store/breaks/breaks.ts';
import { entriesOfAmounts, type WireEntry } from '../support/plain-platform.ts';
import { openPlainStage, type PlainStage } from '../support/plain-stage.ts';

let stage: PlainStage;
afterEach(() => stage.close());

const right = entriesOfAmounts('USD', [
  ['A1', '2026-03-01 10:00:00', 5_000],
  ['A2', '2026-03-02 10:00:00', 1_000],
  ['A3', '2026-03-03 10:00:00', 700],
  ['A4', '2026-03-04 10:00:00', 300],
]);
/** The ledger with another content under A2, after which the chain is broken. */
const wrong = right.map((entry) =>
  entry.batchNo === 'A2' ? { ...entry, inAmount: 4, vailAmount: 54 } : entry,
);

async function nights(
  first: readonly WireEntry[],
  shown: readonly (readonly WireEntry[])[],
  onNight: (nth: number) => Promise<void> = () => Promise.resolve(),
) {
  stage = await openPlainStage(first, '2026-03-04T18:00:00Z');
  await stage.run('2026-03-01', '2026-03-04');
  await onNight(0);
  const seen: { code: number; notes: string; revised: number }[] = [];
  for (const [nth, entries] of shown.entries()) {
    stage.entries = entries;
    stage.setNow(`${addDays('2026-03-05', nth)}T18:00:00Z`);
    const { exitCode: code, notes, standing } = await stage.night();
    seen.push({ code, notes: notes.join('\n'), revised: standing.revised.length });
    await onNight(nth + 1);
  }
  return seen;
}

const amendments = async () => (await listAmendments(stage.app().database.db)).length;
const breaks = () => listBreaks(stage.app().database.db, { merchants: null, currencies: null, all: true });

const SAID =
  /M-PLAIN USD 2026-03-02: batchNo A2 is used for two entries: credit 10\.00 USD \(.*balance 60.*\) and credit 4\.00 USD/;

test('contents that alternate are named once, and the first one stays', { tags: ['long'] }, async () => {
  const seen = await nights(right, [wrong, right, wrong, right, wrong, wrong, right]);
  expect(seen.map(({ code }) => code)).toEqual([3, 3, 3, 0, 0, 0, 0]);
  expect(seen.map(({ revised }) => revised)).toEqual([2, 2, 0, 0, 0, 0, 0]);
  expect(seen.map(({ notes }) => SAID.test(notes))).toEqual([false, false, true, false, false, false, false]);
  expect(seen.slice(3).map(({ notes }) => notes)).toEqual(['', '', '', '']);
  expect(await amendments()).toBe(2);
});

test('a correction is one amendment, and one that is taken back two', async () => {
  const seen = await nights(right, [wrong, wrong, right, right]);
  expect(seen.map(({ notes }) => /1 entry amended by the platform/.test(notes))).toEqual([
    true,
    false,
    true,
    false,
  ]);
  expect(seen.some(({ notes }) => notes.includes('two entries'))).toBe(false);
  expect(await amendments()).toBe(2);
});

test('a third content is an amendment like any other', { tags: ['long'] }, async () => {
  const third = right.map((entry) => (entry.batchNo === 'A2' ? { ...entry, busiType: '02' } : entry));
  const seen = await nights(right, [wrong, right, wrong, third]);
  expect(seen.at(-1)!.notes).toContain('1 entry amended by the platform');
  expect(await amendments()).toBe(3);
});

test('a break that is back keeps its id, and stays resolved', { tags: ['long'] }, async () => {
  const seen = await nights(wrong, [right, wrong, right, wrong], async (nth) => {
    const { db } = stage.app().database;
    if (nth === 0) await resolveBreak(db, (await breaks())[0]!.id, 'agreed with the platform', stage.now());
  });
  expect(await breaks()).toMatchObject([{ id: 1, status: 'resolved', note: 'agreed with the platform' }]);
  expect(seen.some(({ notes }) => notes.includes('new break'))).toBe(false);
});

test('a break that nobody resolved is open again under its id', { tags: ['long'] }, async () => {
  await nights(right, [wrong, right]);
  expect(await breaks()).toMatchObject([{ id: 1, status: 'healed' }]);
  await stage.close();
  const seen = await nights(wrong, [right, wrong]);
  expect(await breaks()).toMatchObject([{ id: 1, status: 'open' }]);
  expect(seen.at(-1)!.notes).toContain('new break');
});

test('two contents in one reply keep the day unproven, are named, and are not amended to and fro', async () => {
  const both = entriesOfAmounts('USD', [
    ['A1', '2026-03-01 10:00:00', 5_000],
    ['A2', '2026-03-02 10:00:00', 1_000],
    ['A2', '2026-03-02 11:00:00', 400],
    ['A3', '2026-03-03 10:00:00', 700],
  ]);
  const seen = await nights(both, [both.toReversed(), both, both.toReversed()]);
  expect(seen.map(({ code, revised }) => [code, revised])).toEqual([
    [4, 0],
    [4, 0],
    [4, 0],
  ]);
  expect(seen[0]!.notes).toMatch(
    /batchNo A2 is used for two entries \(.*credit 10\.00.*; and .*credit 4\.00/,
  );
  expect(await amendments()).toBe(0);
});
