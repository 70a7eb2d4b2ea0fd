/** Days that a night takes over from an earlier request are read as one window with the days of its lookback, in the order of time. */
import { afterEach, expect, test } from 'vitest';
import { entriesOfAmounts } from '../support/plain-platform.ts';
import { openPlainStage, type PlainStage } from '../support/plain-stage.ts';

const DAYS = Array.from({ length: 14 }, (_, at) => String(at + 1).padStart(2, '0'));
const ENTRIES = entriesOfAmounts(
  'USD',
  DAYS.map((day) => [`A-${day}`, `2026-03-${day} 10:00:00`, 100] as const),
);
const without = (...batchNos: string[]) => ENTRIES.filter(({ batchNo }) => !batchNos.includes(batchNo));

let stage: PlainStage;
afterEach(() => stage.close());

/** The lookback begins on 2026-03-04. Days before it were asked for and could not be read. */
async function withOpenRange(from: string, to: string, time: string): Promise<void> {
  stage = await openPlainStage(ENTRIES, `2026-03-12T${time}+08:00`);
  expect(await stage.night()).toMatchObject({ exitCode: 0, from: '2026-03-04' });
  stage.platform.alter = () => ({ status: 503, body: 'down' });
  expect(await stage.run(from, to)).toMatchObject({ exitCode: 4 });
  stage.platform.alter = (honest) => honest;
}

test.each([
  ['ends the day before the lookback, and today has no settled hour', '2026-03-02', '2026-03-03', '00:15:00'],
  ['ends the day before the lookback', '2026-03-02', '2026-03-03', '01:30:00'],
  ['ends two days before the lookback', '2026-03-01', '2026-03-02', '00:15:00'],
])('a range that %s is read, though a stored entry is gone', async (_, from, to, time) => {
  await withOpenRange(from, to, time);
  stage.entries = without('A-08');
  const report = await stage.night();
  expect(report.notes.join('\n')).not.toContain('internal error');
  expect(report.sync[0]).toMatchObject({ backlogDays: [{ from, to }], report: { failure: null } });
  expect(report.exitCode).not.toBe(70);
  expect(report.standing.requested).toEqual([]);
});
