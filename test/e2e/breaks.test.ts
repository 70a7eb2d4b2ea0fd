import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { subtractAmounts } from '../../src/ledger/money.ts';
import type { TrueEntry } from '../../src/plugins/sandbox/server.ts';
import {
  accountDays,
  DAYS,
  exactDecimal,
  MERCHANT,
  objectsOf,
  openStage,
  publishedIn,
  scenario,
  storedOf,
  truthOf,
  type Stage,
} from '../support/stage.ts';

const { merchantNo } = MERCHANT;
let stage: Stage;
beforeEach(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 60 }) });
});
afterEach(() => stage.close());

/** The account's entries in the order of booking. The sandbox makes them in that order, and sorts by time only. */
const account = (currency = 'USD') =>
  stage.sandbox.entriesOf(merchantNo).filter((entry) => entry.currency === currency);
const dayOf = (entry: TrueEntry) => entry.busiDate.slice(0, 10);
const amountOf = ({ inAmount, outAmount, currency }: TrueEntry) =>
  inAmount === null ? `-${exactDecimal(outAmount!, currency)}` : exactDecimal(inAmount, currency);

/** An entry that is alone in its second, with the entries before and after it. */
function alone(day: string, nth: number): [before: TrueEntry, entry: TrueEntry, after: TrueEntry] {
  const all = account();
  const found = all.filter((entry, at) => {
    const [before, after] = [all[at - 1], all[at + 1]];
    if (before === undefined || after === undefined || dayOf(entry) !== day) return false;
    return after.bookedMs - entry.bookedMs > 5_000 && entry.bookedMs - before.bookedMs > 5_000;
  });
  const at = all.indexOf(found.at(nth)!);
  return [all[at - 1]!, all[at]!, all[at + 1]!];
}

const breaks = () => stage.app.database.db.selectFrom('continuity_break').selectAll().orderBy('id').execute();

describe('an entry the platform does not show', () => {
  test('is one break with its net amount, its neighbours and the narrowest span, and needs a person', async () => {
    const [before, gone, after] = alone('2026-03-03', 9);
    stage.sandbox.takeOut(merchantNo, gone.batchNo);
    const report = await stage.run();
    expect(report).toMatchObject({ exitCode: 3, notes: ['1 new break: see `daybook breaks`'] });
    expect(report.healingReads).toEqual([
      { merchantNo, window: { beginMs: before.bookedMs, endMs: after.bookedMs + 999 } },
    ]);
    const balance = exactDecimal(before.vailAmount, 'USD');
    expect(await breaks()).toMatchObject([
      {
        merchant_no: merchantNo,
        currency: 'USD',
        day: '2026-03-03',
        after_batch_no: before.batchNo,
        before_batch_no: after.batchNo,
        expected_balance: balance,
        found_balance: exactDecimal(gone.vailAmount, 'USD'),
        missing_net: amountOf(gone),
        begin_ms: before.bookedMs,
        end_ms: after.bookedMs + 999,
        status: 'open',
      },
    ]);
    expect(subtractAmounts(exactDecimal(gone.vailAmount, 'USD'), balance)).toBe(amountOf(gone));
    const days = await accountDays(stage);
    expect(days.filter(({ verdict }) => verdict !== 'continuous')).toMatchObject([
      { currency: 'USD', day: '2026-03-03', verdict: 'broken', break_count: 1 },
    ]);
    // It needs a person until it is healed.
    expect(await stage.run()).toMatchObject({ exitCode: 3, publish: { published: [] } });
    expect(await breaks()).toHaveLength(1);
  });

  test('shown again, it heals the break; only its day is published again, as the closing was already known', async () => {
    const [, gone] = alone('2026-03-03', 9);
    stage.sandbox.takeOut(merchantNo, gone.batchNo);
    await stage.run();
    const before = await objectsOf(stage);
    stage.sandbox.putBack(merchantNo, gone.batchNo);
    const healed = await stage.run();
    // A day that is published again is reported.
    expect(healed).toMatchObject({ exitCode: 3, reconcile: { opened: [], healed: [{ status: 'healed' }] } });
    expect(publishedIn(healed)).toEqual(['USD 2026-03-03 r2']);
    expect(await breaks()).toMatchObject([{ status: 'healed' }]);
    expect(await storedOf(stage)).toEqual(truthOf(stage));
    // Superseded files stay. Of the days around, only the pointer to the day before changes.
    const after = await objectsOf(stage);
    const changed = [...after.keys()].filter((key) => after.get(key) !== before.get(key));
    const place = (day: string) => `merchant=${merchantNo}/date=${day}`;
    expect(changed).toEqual([
      `${place('2026-03-03')}/${merchantNo}_USD_2026-03-03.r2.csv`,
      `${place('2026-03-03')}/manifest.json`,
      `${place('2026-03-03')}/summary.r2.csv`,
      `${place('2026-03-04')}/manifest.json`,
    ]);
  });

  test('at the end of its day changes the next day’s opening, and only these two days get a second revision', async () => {
    const last = account().findLast((entry) => dayOf(entry) === '2026-03-03')!;
    stage.sandbox.takeOut(merchantNo, last.batchNo);
    expect(await stage.run()).toMatchObject({ exitCode: 3 });
    expect(await breaks()).toMatchObject([{ day: '2026-03-04', missing_net: amountOf(last) }]);
    stage.sandbox.putBack(merchantNo, last.batchNo);
    const healed = await stage.run();
    expect(healed.exitCode).toBe(3);
    expect(healed.notes).toEqual([expect.stringMatching(/^2 published days were revised: /)]);
    expect(publishedIn(healed)).toEqual(['USD 2026-03-03 r2', 'USD 2026-03-04 r2']);
  });

  test('on an old day is found when the span of its break is read again, outside the days of a nightly run', async () => {
    const [, gone] = alone('2026-03-02', 9);
    stage.sandbox.takeOut(merchantNo, gone.batchNo);
    await stage.run();
    stage.sandbox.putBack(merchantNo, gone.batchNo);
    const nightly = await stage.run({ range: null }, { resweepDays: 0 });
    expect(nightly).toMatchObject({ exitCode: 3, from: '2026-03-05', to: '2026-03-05' });
    expect(publishedIn(nightly)).toEqual(['USD 2026-03-02 r2']);
    expect(await storedOf(stage)).toEqual(truthOf(stage));
  });
});

test('a late entry in every later balance changes every later day of its account, and no other', async () => {
  const [, late] = alone('2026-03-03', 9);
  const shown = account().map(({ batchNo, vailAmount }) => ({ batchNo, vailAmount }));
  const later = shown.slice(shown.findIndex(({ batchNo }) => batchNo === late.batchNo) + 1);
  stage.sandbox.takeOut(merchantNo, late.batchNo);
  for (const { batchNo, vailAmount } of later) {
    const without = subtractAmounts(exactDecimal(vailAmount, 'USD'), amountOf(late));
    stage.sandbox.amend(merchantNo, batchNo, { vailAmount: without });
  }
  expect(await stage.run()).toMatchObject({ exitCode: 0 });
  const before = await accountDays(stage);

  stage.sandbox.putBack(merchantNo, late.batchNo);
  for (const { batchNo, vailAmount } of later) stage.sandbox.amend(merchantNo, batchNo, { vailAmount });
  const report = await stage.run();
  expect(report).toMatchObject({
    exitCode: 3,
    notes: [
      expect.stringMatching(
        `late entry ${late.batchNo} of 2026-03-03, .* moved ${later.length} later balances$`,
      ),
      `${later.length} entries amended by the platform: see \`daybook amendments\``,
      expect.stringMatching(/^3 published days were revised: /),
    ],
  });
  expect(publishedIn(report)).toEqual(DAYS.slice(1).map((day) => `USD ${day} r2`));
  const after = await accountDays(stage);
  const moved = after.filter(({ opening }, at) => opening !== before[at]!.opening);
  expect(moved.map(({ currency, day }) => `${currency} ${day}`)).toEqual([
    'USD 2026-03-04',
    'USD 2026-03-05',
  ]);
  expect(after.map(({ verdict }) => verdict)).toEqual(Array(8).fill('continuous'));
});

test('an entry shown twice under two numbers is one break of minus its amount', async () => {
  const [, entry, after] = alone('2026-03-04', 5);
  // As if the platform had booked the next entry from the same balance again.
  stage.sandbox.amend(merchantNo, after.batchNo, {
    inAmount: entry.inAmount,
    outAmount: entry.outAmount,
    vailAmount: entry.vailAmount,
  });
  expect(await stage.run()).toMatchObject({ exitCode: 3 });
  const [first, ...rest] = await breaks();
  const minus = amountOf(entry).startsWith('-') ? amountOf(entry).slice(1) : `-${amountOf(entry)}`;
  expect(first).toMatchObject({
    before_batch_no: after.batchNo,
    missing_net: minus,
    hint: 'equals-neighbour',
  });
  expect(rest).toMatchObject([{ after_batch_no: after.batchNo, missing_net: amountOf(after) }]);
});
