/** The message about a break that a person can send to the platform: what it says, and when there is none. */
import { expect, test } from 'vitest';
import { type BreakCase, messageToPlatform } from '../../src/run/break-case.ts';

const AT = { zone: 'Asia/Shanghai', now: new Date('2026-03-31T04:00:00Z') };
const MS = Date.parse('2026-03-30T04:00:00Z');

const found = (change: Partial<BreakCase> = {}): BreakCase => ({
  row: {
    id: 7,
    merchant_no: 'M1',
    currency: 'USD',
    day: '2026-03-30',
    after_batch_no: 'A',
    before_batch_no: 'B',
    expected_balance: '100.00',
    found_balance: '95.00',
    missing_net: '-5.00',
    hint: 'unexplained',
    hint_batch_no: null,
    begin_ms: MS,
    end_ms: MS + 60_999,
    status: 'open',
    found_at: new Date(MS),
    closed_at: null,
    note: null,
    run_id: 1,
    healing_read_at: null,
    readings_unchanged: 0,
  },
  state: 'open',
  takenBy: null,
  dueOn: null,
  rows: [],
  changed: [],
  quarantined: [],
  certificates: [],
  history: [],
  ...change,
});
const wreck = {
  kind: 'quarantined' as const,
  id: 3,
  batchNo: '59102',
  raw: '{"note":"of the raw text nothing is repeated"}',
  reason: 'both amounts are set',
  acknowledgedAt: null,
  spans: [],
  currency: 'USD',
  nets: ['-5.00'],
  explains: true,
};

test('it says where, how much, since when it is known, and what is asked', () => {
  const answer = {
    window: { beginMs: MS, endMs: MS },
    total: 2,
    shown: 2,
    notStored: [],
    changed: [],
    unreadable: [],
  };
  expect(messageToPlatform(found(), answer, AT)).toBe(
    `Subject: Merchant M1, USD: unexplained difference between ledger orders A and B

In the transaction history of merchant M1 in USD (all times are in Asia/Shanghai):
- After ledger order A the balance is 100.00 USD.
- The next one is ledger order B. Its own amount and balance imply 95.00 USD before it.
- So a net debit of 5.00 USD is unexplained, between 2026-03-30 12:00:00 and 2026-03-30 12:01:00.
On 2026-03-31 at 12:00:00 we retrieved this period again: you show 2 entries.

Please tell us which entries belong there, or which amount, balance or time is wrong.
Our reference: break 7`,
  );
});

test('it asks to correct a quarantined entry that explains the break, or names the known cause', () => {
  const message = messageToPlatform(found({ quarantined: [wreck] }), null, AT);
  expect(message).toContain(
    'Between the two, your system returns ledger order 59102, which does not follow your interface document: both amounts are set. ' +
      'Its amount equals the unexplained difference.',
  );
  expect(message).toContain('Please correct that entry');
  expect(message).not.toContain(wreck.raw);
  const perhaps = { ...found().row, hint: 'quarantined-in-span', hint_batch_no: '59102' };
  expect(messageToPlatform(found({ row: perhaps, quarantined: [wreck] }), null, AT)).not.toMatch(
    /daybook|figures/,
  );
  const swapped = { ...found().row, hint: 'balance-off', hint_batch_no: 'B' };
  expect(messageToPlatform(found({ row: swapped }), null, AT)).toContain(
    'By our figures: The balance of B is wrong by 5.00 USD',
  );
});

const reading = (beginMs: number, endMs: number, at: string): BreakCase['certificates'][number] => ({
  ...{ begin_ms: beginMs, through_ms: endMs, total: 2, entries: 2, unreadable: 0 },
  read_at: new Date(at),
});

test('it names the latest time by which all of the span had been read', () => {
  const END = MS + 60_999;
  const whole = reading(MS - 3_600_000, END + 3_600_000, '2026-03-31T01:00:00Z');
  const again = reading(MS, END, '2026-03-31T02:00:00Z');
  const next = reading(END, END + 7_200_000, '2026-03-31T03:00:00Z');
  const said = (...certificates: BreakCase['certificates']): string =>
    messageToPlatform(found({ certificates }), null, AT)!;
  expect(said(whole, next)).toContain(
    'We retrieved all entries of this period; our last retrieval was on 2026-03-31 at 09:00:00.',
  );
  expect(said(whole, again, next)).toContain('our last retrieval was on 2026-03-31 at 10:00:00');
  expect(
    said(reading(MS, MS + 9_999, '2026-03-31T01:30:00Z'), reading(MS + 10_000, END, '2026-03-31T02:30:00Z')),
    'in two parts, of which the second was read an hour later',
  ).toContain('our last retrieval was on 2026-03-31 at 10:30:00');
  expect(said(next)).not.toContain('We read');
});

test.each(['resolved', 'healed'] as const)('there is none for a break that is %s', (state) => {
  expect(messageToPlatform(found({ state }), null, AT)).toBeNull();
});
