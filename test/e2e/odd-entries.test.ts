/** What no balance shows is a reason once, with the day and the account: a new currency without its first entry, odd entries. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { daybook, type Ended, type Env } from '../cli/daybook.ts';
import { openPlainHome } from '../cli/plain-home.ts';
import { entriesOfAmounts, type PlainPlatform, type WireEntry } from '../support/plain-platform.ts';

let platform: PlainPlatform;
let env: Env;
let close: () => Promise<void>;
beforeEach(async () => {
  const merchant = { PLATFORM_MERCHANT_NO: 'S1', PLATFORM_TOKEN: 'token-1' };
  ({ platform, env, close } = await openPlainHome(merchant));
});
afterEach(() => close());

/** The night after `day`, with the calls it made. */
async function night(day: string): Promise<Ended & { readonly calls: number; readonly byCurrency: number }> {
  const before = platform.calls.length;
  const now = new Date(Date.parse(`${day}T01:30:00+08:00`) + 24 * 3_600_000).toISOString();
  const ended = await daybook(['run'], { ...env, DAYBOOK_NOW: now });
  const calls = platform.calls.slice(before);
  const byCurrency = calls.filter(({ body }) => body['currency'] !== undefined).length;
  return { ...ended, calls: calls.length, byCurrency };
}

/** Older life in dollars, from long before the first day that is read. */
const dollars = entriesOfAmounts('USD', [
  ['D0', '2025-11-03 10:00:00', 90_000],
  ['D1', '2026-03-01 10:00:00', 5_000],
  ['D2', '2026-03-02 10:00:00', 700],
  ['D3', '2026-03-03 10:00:00', 700],
  ['D4', '2026-03-04 10:00:00', 700],
]);
const upTo = (day: string, entries: readonly WireEntry[]): WireEntry[] =>
  entries.filter(({ busiDate }) => busiDate.slice(0, 10) <= day);

test.each<[string, WireEntry[]]>([
  [
    'its first entry',
    entriesOfAmounts('EUR', [
      ['E1', '2026-03-02 09:00:00', 4_000],
      ['E2', '2026-03-02 11:00:00', -150],
    ]),
  ],
  [
    'all of its first day',
    entriesOfAmounts('EUR', [
      ['E1', '2026-03-01 09:00:00', 4_000],
      ['E2', '2026-03-02 11:00:00', 99],
      ['E3', '2026-03-03 11:00:00', 1],
    ]),
  ],
])(
  'a new currency without %s is reported once, for two calls: none before, and the stored ones are counted',
  async (_, euros) => {
    platform.entriesOf = () => upTo('2026-03-01', dollars);
    // Dollars begin in mid-life, after the first day read.
    expect(await night('2026-03-01')).toMatchObject({ code: 0, byCurrency: 1 });
    const usual = await night('2026-03-01');
    platform.entriesOf = () => [...upTo('2026-03-02', dollars), ...upTo('2026-03-02', euros.slice(1))];
    const reported = await night('2026-03-02');
    expect(reported).toMatchObject({ code: 3, byCurrency: 2 });
    expect(reported.stdout).toMatch(
      /S1 EUR 2026-03-02 is the account's first day and opens on \d+\.00 EUR, and/,
    );
    platform.entriesOf = () => [...upTo('2026-03-03', dollars), ...upTo('2026-03-03', euros.slice(1))];
    const after = await night('2026-03-03');
    expect(after).toMatchObject({ code: 0, byCurrency: 0 });
    expect(after.calls).toBeLessThanOrEqual(usual.calls + 1);
  },
);

test('a currency with entries of its own before is not told, and asked for once', async () => {
  const euros = entriesOfAmounts('EUR', [
    ['E0', '2025-12-01 09:00:00', 4_000],
    ['E1', '2026-03-02 11:00:00', -150],
  ]);
  platform.entriesOf = () => [...upTo('2026-03-01', dollars), ...upTo('2026-03-01', euros)];
  // Dollars begin in mid-life, after the first day read.
  expect(await night('2026-03-01')).toMatchObject({ code: 0, byCurrency: 1 });
  platform.entriesOf = () => [...upTo('2026-03-02', dollars), ...euros];
  expect(await night('2026-03-02')).toMatchObject({ code: 0, byCurrency: 1 });
  platform.entriesOf = () => [...upTo('2026-03-03', dollars), ...euros];
  expect(await night('2026-03-03')).toMatchObject({ code: 0, byCurrency: 0 });
});

test.each<[string, (entry: WireEntry) => WireEntry, RegExp]>([
  ['without a type', (entry) => ({ ...entry, busiType: '' }), /S1 USD 2026-03-02.*no transaction type: D2/],
  [
    'with a type of spaces',
    (entry) => ({ ...entry, busiType: '  ' }),
    /S1 USD 2026-03-02.*no transaction type: D2/,
  ],
  [
    'with finer decimals than the currency has',
    (entry) => ({ ...entry, inAmount: 7.001, vailAmount: 957.001 }),
    /S1 USD 2026-03-02.*more decimals than USD has: D2/,
  ],
])('entries %s are a reason once, with day and account', async (_, alter, sentence) => {
  platform.entriesOf = () => upTo('2026-03-01', dollars);
  expect(await night('2026-03-01')).toMatchObject({ code: 0 });
  platform.entriesOf = () =>
    upTo('2026-03-02', dollars).map((entry) => (entry.batchNo === 'D2' ? alter(entry) : entry));
  const reported = await night('2026-03-02');
  expect({ code: reported.code, stdout: reported.stdout }).toMatchObject({
    code: 3,
    stdout: expect.stringMatching(sentence),
  });
  expect(await night('2026-03-02')).toMatchObject({ code: 0 });
});
