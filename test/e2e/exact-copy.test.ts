import { afterEach, describe, expect, test } from 'vitest';
import type { Hostility } from '../../src/plugins/sandbox/behaviour.ts';
import {
  accountDays,
  DAYS,
  footprints,
  FROM,
  MERCHANT,
  objectsOf,
  openStage,
  OTHER,
  publishedIn,
  scenario,
  storedOf,
  truthOf,
  type Stage,
} from '../support/stage.ts';
import { shortAndLong } from '../support/short-and-long.ts';

let stage: Stage;
afterEach(() => stage.close());

/** The pages of all days together, and a call that proves the zone. */
const callsWhenCalm = () => Math.ceil(truthOf(stage).length / 100) + 1;

/**
 * Runs the range twice. The stored entries must be the true ones, and the second run must write nothing. Returns the
 * number of calls of the first run.
 */
async function expectExactCopy(notes: readonly unknown[] = []): Promise<number> {
  const first = await stage.run();
  const calls = stage.sandbox.requestCount();
  expect(first).toMatchObject({ exitCode: 0, notes });
  const truth = truthOf(stage);
  expect(truth.length).toBeGreaterThan(300);
  expect(await storedOf(stage)).toEqual(truth);
  expect(publishedIn(first)).toEqual(
    ['KWD', 'USD'].flatMap((currency) => DAYS.map((day) => `${currency} ${day} r1`)),
  );

  const rows = await footprints(stage);
  const objects = await objectsOf(stage);
  const again = await stage.run();
  expect(again).toMatchObject({ exitCode: 0, publish: { published: [], unchanged: 0, withheld: [] } });
  expect(again.sync[0]!.report).toMatchObject({ inserted: 0, amended: 0, vanished: 0, returned: 0 });
  expect(await footprints(stage)).toEqual(rows);
  expect(await objectsOf(stage)).toEqual(objects);
  return calls;
}

for (const { options, cases } of shortAndLong([
  'request-shuffled',
  'ascending',
  'descending',
  'window-shuffled',
] as const))
  describe.each(cases)('order %s', options, (order) => {
    test('the copy is what the platform holds, and a rerun changes nothing', async () => {
      stage = await openStage({ scenario: scenario({ entriesPerDay: 60, hostility: { order } }) });
      await expectExactCopy();
    });
  });

/** Pages that hold fewer entries than the totals on them promise. */
const CONTRADICTION = expect.stringMatching(/contradicted itself .* held \d+ where \d+ were due$/) as unknown;

const TROUBLES: readonly (readonly [
  string,
  Partial<Hostility>,
  (number | undefined)?,
  (readonly unknown[])?,
])[] = [
  ['says wrong totals', { wrongTotalsEvery: 5 }],
  ['repeats rows in place of others', { duplicateRowsEvery: 5 }],
  ['leaves rows out', { missingRowsEvery: 5 }, undefined, [CONTRADICTION]],
  ['answers 429 with Retry-After', { http429Every: 5 }],
  ['answers 500', { http500Every: 5 }],
  ['cuts connections', { resetEvery: 5 }],
  ['never answers some calls', { stallEvery: 5, strikesMax: 4 }, 150],
  ['cuts replies short', { truncatedEvery: 5 }],
  ['answers with an HTML page', { htmlEvery: 5 }],
];
for (const [index, [how, hostility, timeoutMs, notes]] of TROUBLES.entries())
  describe(`a platform that ${how}`, { tags: index % 4 === 1 ? [] : ['long'] }, () => {
    test('is still copied exactly', async () => {
      stage = await openStage({
        scenario: scenario({ entriesPerDay: 60, hostility: { order: 'window-shuffled', ...hostility } }),
        ...(timeoutMs === undefined ? {} : { platform: { timeoutMs } }),
      });
      const calls = await expectExactCopy(notes);
      expect(calls).toBeGreaterThan(callsWhenCalm());
    });
  });

test('a refusal in the middle of a night ends it with 4, is asked for once, and the next night is the copy', async () => {
  const hostility = { errorDocumentEvery: 3, strikesMax: 1 };
  stage = await openStage({ scenario: scenario({ entriesPerDay: 60, hostility }) });
  const refused = await stage.run();
  expect([refused.exitCode, stage.retries]).toEqual([4, []]);
  expect(refused.notes.join()).toContain('refused: code has no value that means success');
  stage.sandbox.setHostility({});
  await expectExactCopy();
});

for (const { options, cases } of shortAndLong(['request-shuffled', 'window-shuffled'] as const))
  test.each(cases)(
    'a second with hundreds of entries, %s, is copied completely and put in the order of its balances',
    options,
    async (order) => {
      const burst = { merchant: MERCHANT.merchantNo, currency: 'USD', day: FROM, nth: 20, count: 320 };
      stage = await openStage({
        scenario: scenario({
          entriesPerDay: 60,
          planted: [{ what: 'burst', ...burst }],
          hostility: { order },
        }),
      });
      await expectExactCopy();
      const csv = (await objectsOf(stage)).get(
        `merchant=${MERCHANT.merchantNo}/date=${FROM}/${MERCHANT.merchantNo}_USD_${FROM}.r1.csv`,
      )!;
      const written = csv
        .split('\r\n')
        .slice(1, -1)
        .map((line) => line.split(',')[0]);
      const happened = stage.sandbox
        .entriesOf(MERCHANT.merchantNo)
        .filter(({ currency, busiDate }) => currency === 'USD' && busiDate.startsWith(FROM))
        .map(({ batchNo }) => batchNo);
      expect(written).toEqual(happened);
    },
  );

test('entries that appear while the pages of their window are read are in the copy, whichever page they are on', async () => {
  const planted = DAYS.flatMap((day) =>
    [3, 17, 40].map((nth) => ({
      what: 'missing' as const,
      merchant: MERCHANT.merchantNo,
      currency: 'USD',
      day,
      nth,
    })),
  );
  stage = await openStage({
    scenario: scenario({
      entriesPerDay: 60,
      planted,
      hostility: { order: 'descending', liveInsertsEvery: 2 },
    }),
  });
  expect(truthOf(stage)).toHaveLength(DAYS.length * 120 - planted.length);
  await stage.run();
  // Entries that appear in a window after it was read are found the next time.
  stage.sandbox.setHostility({ order: 'descending' });
  expect(await stage.run()).toMatchObject({ sync: [{ report: { uncertified: [] } }] });
  expect(await storedOf(stage)).toEqual(truthOf(stage));
});

test('two merchants have their own tokens and currencies', async () => {
  stage = await openStage({
    scenario: scenario({
      entriesPerDay: 60,
      merchants: [
        { ...MERCHANT, currencies: ['USD'] },
        { ...OTHER, currencies: ['JPY', 'CNH'] },
      ],
    }),
  });
  const report = await stage.run({ merchants: [MERCHANT, OTHER] });
  expect(report).toMatchObject({ exitCode: 0, notes: [] });
  for (const { merchantNo } of [MERCHANT, OTHER]) {
    expect(await storedOf(stage, merchantNo)).toEqual(truthOf(stage, merchantNo));
  }
  expect((await accountDays(stage)).map(({ verdict }) => verdict)).toEqual(Array(12).fill('continuous'));
});

test('amounts that no binary number can hold are exact in database and statement', async () => {
  const amounts: readonly (readonly [currency: string, net: string, plain: string])[] = [
    ['USD', '12345678901234567.89', '12345678901234567.89'],
    ['USD', '-0.1', '0.10'],
    ['KWD', '1.005', '1.005'],
    ['JPY', '1E+3', '1000'],
    ['CNH', '100.00', '100.00'],
  ];
  const merchant = MERCHANT.merchantNo;
  stage = await openStage({
    scenario: scenario({
      entriesPerDay: 60,
      merchants: [{ ...MERCHANT, currencies: ['USD', 'KWD', 'JPY', 'CNH'] }],
      planted: amounts.map(([currency, net], nth) => ({
        what: 'amount',
        merchant,
        currency,
        day: FROM,
        nth,
        net,
      })),
    }),
  });
  expect(await stage.run()).toMatchObject({ exitCode: 0, notes: [] });
  expect(await storedOf(stage)).toEqual(truthOf(stage));
  const objects = await objectsOf(stage);
  for (const [currency, net, plain] of amounts) {
    const unsigned = net.replace('-', '');
    const [entry] = stage.sandbox
      .entriesOf(merchant)
      .filter((one) => one.currency === currency && (one.inAmount ?? one.outAmount) === unsigned);
    const row = (await storedOf(stage)).find(({ batch_no }) => batch_no === entry!.batchNo)!;
    expect(row.credit ?? row.debit).toBe(plain);
    const csv = objects.get(`merchant=${merchant}/date=${FROM}/${merchant}_${currency}_${FROM}.r1.csv`)!;
    const [credit, debit] = net.startsWith('-') ? ['', plain] : [plain, ''];
    expect(csv).toContain(
      [entry!.batchNo, entry!.busiDate, currency, entry!.busiType, credit, debit, `${row.balance}\r\n`].join(
        ',',
      ),
    );
  }
});
