/** A number that the platform uses for two entries: both are kept, it is named once, and nothing changes night by night. */
import { afterEach, expect, test } from 'vitest';
import { addDays } from '../../src/ledger/business-day.ts';
import { listAmendments } from '../../src/store/amendments.ts';
import { listBreaks } from '../../src/store/breaks/breaks.ts';
import { resolveBreak } from '../../src/store/breaks/break-cases.ts';
import { entriesOfAmounts, type WireEntry } from '../support/plain-platform.ts';
import { openPlainStage, type PlainStage } from '../support/plain-stage.ts';

let stage: PlainStage;
afterEach(() => stage.close());

const honest = entriesOfAmounts('USD', [
  ['A1', '2026-03-01 10:00:00', 5_000],
  ['A2', '2026-03-02 10:00:00', 1_000],
  ['A3', '2026-03-03 10:00:00', 700],
  ['A4', '2026-03-04 10:00:00', 300],
]);
const SAYS = /batchNo A2 is used for two entries: credit 10.* and credit 4/;

/** What the number A2 is used for as well. */
const other = { ...honest[1]!, inAmount: 4, vailAmount: 54 };
const as = (second: WireEntry): WireEntry[] => honest.map((entry) => (entry === honest[1] ? second : entry));

async function nights(
  shown: readonly (readonly WireEntry[])[],
  onNight: (nth: number) => Promise<void> = async () => {},
) {
  stage = await openPlainStage(honest, '2026-03-04T18:00:00Z');
  expect(await stage.run('2026-03-01', '2026-03-04')).toMatchObject({ exitCode: 0 });
  const seen = [];
  for (const [nth, entries] of shown.entries()) {
    stage.entries = entries;
    stage.setNow(`${addDays('2026-03-05', nth)}T18:00:00Z`);
    const report = await stage.night();
    seen.push({
      code: report.exitCode,
      reasons: report.reasons.map(({ what }) => what),
      revisions: report.publish?.published?.length ?? JSON.stringify(report.publish),
    });
    await onNight(nth);
  }
  return seen;
}

test('contents that alternate night by night', async () => {
  let resolved: number | undefined;
  const [a, b] = [as(honest[1]!), as(other)];
  const seen = await nights([b, a, b, a, b, a, b], async (nth) => {
    const open = await listBreaks(stage.app().database.db, { merchants: null, currencies: null });
    console.log(
      nth,
      open.map(({ id, status }) => `${id} ${status}`),
    );
    void resolveBreak;
    resolved ??= open[0]?.id;
  });
  console.log(JSON.stringify(seen, null, 1));
  console.log((await listAmendments(stage.app().database.db)).length, SAYS);
});
