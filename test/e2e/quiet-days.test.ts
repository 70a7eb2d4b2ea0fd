/** Days without entries are proven and published too: "nothing happened" is not the same as "not read". */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { verifyProblems } from '../statements/store-oracle.ts';
import {
  DAYS,
  FROM,
  MERCHANT,
  objectsOf,
  openStage,
  publishedIn,
  scenario,
  TO,
  type Stage,
} from '../support/stage.ts';

const { merchantNo } = MERCHANT;
/** The ledger ends after the second day. */
const BUSY = DAYS.slice(0, 2);
const QUIET = DAYS.slice(2);
const csv = (day: string, revision = 1) =>
  `merchant=${merchantNo}/date=${day}/${merchantNo}_USD_${day}.r${revision}.csv`;

let stage: Stage;
beforeEach(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 10, to: BUSY.at(-1)! }) });
});
afterEach(() => stage.close());

const figuresOf = async (day: string) => {
  const { opening, closing, credit_count, debit_count, verdict } = await stage.app.database.db
    .selectFrom('statement')
    .selectAll()
    .where('currency', '=', 'USD')
    .where('day', '=', day)
    .orderBy('revision', 'desc')
    .executeTakeFirstOrThrow();
  return { opening, closing, credit_count, debit_count, verdict };
};

test('quiet days are published without rows and with the same balance, and a rerun does not change them', async () => {
  const report = await stage.run();
  expect(report).toMatchObject({ exitCode: 0, notes: [] });
  expect(publishedIn(report)).toEqual(
    ['KWD', 'USD'].flatMap((currency) => DAYS.map((day) => `${currency} ${day} r1`)),
  );
  const { closing } = await figuresOf(BUSY.at(-1)!);
  for (const day of QUIET) {
    expect((await objectsOf(stage)).get(csv(day))).toBe(
      'batch_no,booked_at,currency,transaction_type,credit,debit,balance\r\n',
    );
    expect(await figuresOf(day)).toEqual({
      opening: closing,
      closing,
      credit_count: 0,
      debit_count: 0,
      verdict: 'continuous',
    });
  }
  expect(await verifyProblems(stage.app.objects)).toEqual([]);
  expect(publishedIn(await stage.run())).toEqual([]);
});

test('days before the ledger begins and days that were not read are not published', async () => {
  const before = { from: '2026-02-27', to: FROM };
  expect(publishedIn(await stage.run({ range: before }))).toEqual([`KWD ${FROM} r1`, `USD ${FROM} r1`]);
  expect(publishedIn(await stage.run({ range: { from: TO, to: TO } }))).toEqual([]);
});
