/** What open breaks cost each night: a span that was read again twice without a change is read again weekly. */
import { afterEach, expect, test } from 'vitest';
import { addDays } from '../../src/ledger/business-day.ts';
import { entriesOfAmounts } from '../support/plain-platform.ts';
import { openPlainStage, type PlainStage } from '../support/plain-stage.ts';

const BREAKS = 12;
const FIRST = '2026-03-02';
const dayAt = (days: number): string => addDays(FIRST, days);
const nightAfter = (days: number): string => `${dayAt(days + 1)}T01:30:00+08:00`;

/** An entry in each hour, of which every third is missing on the first day: a break for each. */
const all = entriesOfAmounts('USD', [
  ...Array.from({ length: 3 * BREAKS + 1 }, (_, nth): [string, string, number] => [
    `A-${nth}`,
    `${FIRST} ${String(Math.floor(nth / 3) + 1).padStart(2, '0')}:${String((nth % 3) * 20).padStart(2, '0')}:00`,
    100 + nth,
  ]),
  ...Array.from({ length: 24 }, (_, nth): [string, string, number] => [
    `B-${nth}`,
    `${dayAt(nth + 1)} 10:00:00`,
    7,
  ]),
]);
const isMissing = (batchNo: string): boolean => batchNo.startsWith('A') && Number(batchNo.slice(2)) % 3 === 1;
const shown = all.filter(({ batchNo }) => !isMissing(batchNo));

let stage: PlainStage;
afterEach(() => stage.close());

/** How many spans of breaks each of these nights reads again. */
async function readAgain(from: number, to: number): Promise<number[]> {
  const counts: number[] = [];
  for (let night = from; night <= to; night += 1) {
    stage.setNow(nightAfter(night));
    counts.push((await stage.night()).healingReads.length);
  }
  return counts;
}

test('open breaks are asked about in two nights, then weekly, and heal in the night in which what was missing is there', async () => {
  stage = await openPlainStage(shown, nightAfter(0));
  const counts = await readAgain(0, 16);
  expect(counts[0]).toBe(BREAKS);
  expect(counts[1]).toBe(BREAKS);
  expect(counts.slice(2)).toEqual([0, 0, 0, 0, 0, 0, BREAKS, 0, 0, 0, 0, 0, 0, BREAKS, 0]);
  stage.entries = all;
  stage.setNow(nightAfter(22));
  const healed = await stage.night();
  expect(healed.reconcile?.healed).toHaveLength(BREAKS);
});

test('a span whose reading changes something is asked about in two more nights', async () => {
  stage = await openPlainStage(shown, nightAfter(0), {
    env: { DAYBOOK_RESWEEP_DAYS: '0', DAYBOOK_CHECKS: 'none' },
  });
  await readAgain(0, 0);
  stage.entries = shown.map((entry) => (entry.batchNo === 'A-2' ? { ...entry, busiType: '09' } : entry));
  const [second, third, fourth, fifth] = await readAgain(1, 4);
  expect(second).toBe(BREAKS);
  expect([third! > 0 && third! < BREAKS, fourth, fifth]).toEqual([true, third, 0]);
});
