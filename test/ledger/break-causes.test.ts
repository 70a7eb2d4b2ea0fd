import { describe, expect, test } from 'vitest';
import { foldDays } from '../../src/ledger/chain/account-days.ts';
import { explainTogether } from '../../src/ledger/hints/patterns.ts';
import { isCauseKnown, storiesOf } from '../../src/ledger/hints/stories.ts';
import { createChain } from '../../src/ledger/chain/chain.ts';
import type { BreakHint, LedgerEntry } from '../../src/ledger/entry.ts';
import { isAmountsSwapped, neighbourHint } from '../../src/ledger/hints/evidence.ts';
import { addAmounts, fromScaled, subtractAmounts, toScaled } from '../../src/ledger/money.ts';
import { below, seeded, type Random } from '../../src/plugins/sandbox/ledger.ts';

const BEGIN_MS = Date.UTC(2026, 2, 1);
const LEDGERS = 200;
const MINOR_UNITS = 2;

type Change = Partial<LedgerEntry>;

/** Entries of about two days, a few minutes apart, with random amounts. */
function drawLedger(random: Random, length = 12 + below(random, 30)): LedgerEntry[] {
  let balance = 10_000_000n;
  let seconds = 0;
  return Array.from({ length }, (_, index) => {
    const cents = BigInt(1 + below(random, 400_000)) * (random() < 0.5 ? -1n : 1n);
    balance += cents;
    seconds += 10 + below(random, 9_000);
    return entryOf(index, cents, balance, seconds);
  });
}

const entryOf = (index: number, cents: bigint, balance: bigint, seconds: number): LedgerEntry => ({
  ...stamped(BEGIN_MS + seconds * 1_000),
  ...amountOf(cents),
  batchNo: `B${String(index).padStart(4, '0')}`,
  currency: 'USD',
  transactionType: 'PAY',
  balance: fromScaled(balance, 2),
});

const stamped = (bookedMs: number) => ({
  bookedMs,
  bookedAt: new Date(bookedMs).toISOString().slice(0, 19).replace('T', ' '),
});

const amountOf = (cents: bigint) => ({
  credit: cents > 0n ? fromScaled(cents, 2) : null,
  debit: cents > 0n ? null : fromScaled(-cents, 2),
});

const netOf = ({ credit, debit }: LedgerEntry): string => credit ?? subtractAmounts('0', debit!);

/** The stories that daybook tells of these entries, from their breaks with hints as they would be stored. */
function reported(shown: readonly LedgerEntry[]) {
  const sorted = [...shown].sort((a, b) => a.bookedMs - b.bookedMs || (a.batchNo < b.batchNo ? -1 : 1));
  const chain = createChain({ clockToleranceS: 2, start: null });
  const fold = foldDays({ opening: null, minorUnits: MINOR_UNITS });
  fold.push([...chain.push(sorted), ...chain.end()]);
  const closing = fold.end().at(-1)?.closing ?? null;
  const byBatchNo = new Map(shown.map((entry) => [entry.batchNo, entry]));
  const net = (batchNo: string | null): string | null => {
    const entry = batchNo === null ? undefined : byBatchNo.get(batchNo);
    return entry === undefined ? null : netOf(entry);
  };
  const breaks = fold
    .breaks()
    .toSorted((a, b) => a.span.beginMs - b.span.beginMs || a.span.endMs - b.span.endMs);
  const together = explainTogether(breaks, { minorUnits: MINOR_UNITS, closing });
  const hinted = breaks.map((found, index) => {
    const before = { net: net(found.afterBatchNo), batchNo: found.afterBatchNo };
    const after = { net: net(found.beforeBatchNo), batchNo: found.beforeBatchNo };
    const hint = together.get(index) ?? neighbourHint(found.missingNet, before, after, MINOR_UNITS);
    const isSwapped =
      hint.hint === 'balance-off' &&
      hint.hintBatchNo === found.afterBatchNo &&
      isAmountsSwapped(found.missingNet, before.net, after.net);
    const account = { merchantNo: 'M', currency: 'USD' };
    return { ...found, ...hint, isSwapped, id: index, account, isHealed: false };
  });
  return { breaks: hinted, stories: storiesOf(hinted) };
}

const changed = (ledger: readonly LedgerEntry[], changes: ReadonlyMap<number, Change>): LedgerEntry[] =>
  ledger.map((entry, index) => ({ ...entry, ...changes.get(index) }));

interface Lie {
  readonly name: string;
  readonly hint: BreakHint;
  /** Returns the entries that the platform shows, and what the only story must name. */
  readonly plant: (
    ledger: readonly LedgerEntry[],
    at: number,
    random: Random,
  ) => { readonly shown: readonly LedgerEntry[]; readonly says: RegExp };
}

const shifted = (amount: string, by: string): string => addAmounts(amount, by);

/** Four entries in a row, of which this one is the last. */
const inRow = (at: number): number[] => [at - 3, at - 2, at - 1, at];
const centsOf = (entry: LedgerEntry): bigint => toScaled(netOf(entry), 2);
const tenth = (amount: string): string => fromScaled(toScaled(amount, 2), 3);

const LIES: readonly Lie[] = [
  {
    name: 'an entry stamped later than the next one',
    hint: 'entries-trade-places',
    plant: (ledger, at) => {
      const [one, two] = [ledger[at]!, ledger[at + 1]!];
      return {
        shown: changed(ledger, new Map([[at, stamped(two.bookedMs + 5_000)]])),
        says: new RegExp(`^The timestamp of ${two.batchNo} or of ${one.batchNo} is wrong`),
      };
    },
  },
  {
    name: 'an entry stamped later than several after it',
    hint: 'entry-out-of-place',
    plant: (ledger, at) => {
      const [one, before, after] = [ledger[at]!, ledger[at - 1]!, ledger[at + 1]!];
      return {
        shown: changed(ledger, new Map([[at, stamped(ledger[at + 3]!.bookedMs + 5_000)]])),
        says: new RegExp(
          `^The timestamp of ${one.batchNo} is wrong(?:, and so are those of any entries booked after it)?: .* between ${before.batchNo} and ${after.batchNo}, the chain holds`,
        ),
      };
    },
  },
  {
    name: 'three entries in a row stamped before several others',
    hint: 'entry-out-of-place',
    plant: (ledger, at) => {
      const first = ledger[at - 4]!.bookedMs - 5_000;
      return {
        shown: changed(
          ledger,
          new Map([0, 1, 2].map((next) => [at + next, stamped(first + next * 1_000 - 2_000)])),
        ),
        says: new RegExp(
          `^The timestamps of the entries from ${ledger[at]!.batchNo} to ${ledger[at + 2]!.batchNo} are wrong|` +
            `^The timestamps of the entries from ${ledger[at - 4]!.batchNo} to ${ledger[at - 1]!.batchNo} are wrong`,
        ),
      };
    },
  },
  {
    name: 'a balance off',
    hint: 'balance-off',
    plant: (ledger, at) => {
      const one = ledger[at]!;
      return {
        shown: changed(ledger, new Map([[at, { balance: shifted(one.balance, '43.21') }]])),
        says: new RegExp(`^The balance of ${one.batchNo} is wrong by `),
      };
    },
  },
  {
    name: 'balances of two neighbours swapped',
    hint: 'balances-swapped',
    plant: (ledger, at) => {
      const [one, two] = [ledger[at]!, ledger[at + 1]!];
      return {
        shown: changed(
          ledger,
          new Map([
            [at, { balance: two.balance }],
            [at + 1, { balance: one.balance }],
          ]),
        ),
        says: new RegExp(`^The balances of ${one.batchNo} and ${two.batchNo} are wrong`),
      };
    },
  },
  {
    name: 'one balance shown for entries in a row',
    hint: 'same-balance',
    plant: (ledger, at) => {
      const own = [0, 1, 2, 3].map((next) => at - next).reverse();
      const { balance } = ledger[at]!;
      return {
        shown: changed(ledger, new Map(own.map((index) => [index, { balance }]))),
        says: new RegExp(
          `^The entries from ${ledger[own[0]!]!.batchNo} to ${ledger[at]!.batchNo} show the same balance`,
        ),
      };
    },
  },
  {
    name: 'amounts of entries in a row in minor units',
    hint: 'amounts-in-other-unit',
    plant: (ledger, at) => {
      const own = inRow(at);
      const scaled = (index: number) => amountOf(centsOf(ledger[index]!) * 100n);
      return {
        shown: changed(ledger, new Map(own.map((index) => [index, scaled(index)]))),
        says: new RegExp(
          `^The amounts from ${ledger[own[0]!]!.batchNo} to ${ledger[at]!.batchNo} are 100 times too large`,
        ),
      };
    },
  },
  {
    name: 'amounts and balances of entries in a row divided by ten',
    hint: 'figures-in-other-unit',
    plant: (ledger, at) => {
      const own = inRow(at);
      const scaled = (index: number) => ({
        ...(ledger[index]!.credit === null
          ? { debit: tenth(ledger[index]!.debit!) }
          : { credit: tenth(ledger[index]!.credit) }),
        balance: tenth(ledger[index]!.balance),
      });
      return {
        shown: changed(ledger, new Map(own.map((index) => [index, scaled(index)]))),
        says: new RegExp(
          `^Amounts and balances from ${ledger[own[0]!]!.batchNo} (?:on|to ${ledger[at]!.batchNo}) are 10 times too small`,
        ),
      };
    },
  },
  {
    name: 'balances of before the entry shown in a row',
    hint: 'balances-before',
    plant: (ledger, at) => {
      const own = inRow(at);
      const before = (index: number) => ({ balance: ledger[index - 1]!.balance });
      return {
        shown: changed(ledger, new Map(own.map((index) => [index, before(index)]))),
        says: new RegExp(`^From ${ledger[own[0]!]!.batchNo} on, entries show the balance before them`),
      };
    },
  },
  {
    name: 'an entry of another ledger',
    hint: 'entry-does-not-belong',
    plant: (ledger, at) => {
      const [one, two] = [ledger[at]!, ledger[at + 1]!];
      const outOfScope = {
        ...one,
        ...stamped((one.bookedMs + two.bookedMs) / 2 - (((one.bookedMs + two.bookedMs) / 2) % 1_000)),
        ...amountOf(123_456n),
        balance: '777777.77',
        batchNo: 'C0001',
      };
      return {
        shown: [...ledger, outOfScope],
        says: /^Without C0001 the chain holds: it belongs to another/,
      };
    },
  },
  {
    name: 'the noise of a floating-point number in every amount',
    hint: 'below-minor-unit',
    plant: (ledger) => ({
      shown: ledger.map((entry) =>
        entry.credit === null
          ? { ...entry, debit: `${entry.debit!}000000003` }
          : { ...entry, credit: `${entry.credit}000000003` },
      ),
      says: /^(?:Each of them|It) is below one minor unit: .* noise/,
    }),
  },
];

describe.each(LIES)('$name', ({ hint, plant }) => {
  test('is described once, and names the entry that is wrong', () => {
    const missed = Array.from({ length: LEDGERS }, (_, nth) => {
      const random = seeded(`${hint}/${nth}`);
      const ledger = drawLedger(random);
      const { shown, says } = plant(ledger, 5 + below(random, ledger.length - 8), random);
      const { stories, breaks } = reported(shown);
      const days = new Set(breaks.map(({ day }) => day)).size;
      const isOnce = hint === 'below-minor-unit' ? stories.length === days : stories.length === 1;
      return isOnce && stories.every(({ cause }) => says.test(cause))
        ? null
        : stories.map(({ cause }) => cause);
    }).filter((one) => one !== null);
    expect(missed.slice(0, missed.length > 0.05 * LEDGERS ? 3 : 0)).toEqual([]);
  });
});

test('two neighbours with swapped amounts are not mistaken for a wrong balance', () => {
  const random = seeded('amounts swapped');
  const ledger = drawLedger(random, 20);
  const [one, two] = [ledger[9]!, ledger[10]!];
  const amounts = ({ credit, debit }: LedgerEntry) => ({ credit, debit });
  const { breaks } = reported(
    changed(
      ledger,
      new Map([
        [9, amounts(two)],
        [10, amounts(one)],
      ]),
    ),
  );
  expect(breaks.map(({ hint, hintBatchNo, isSwapped }) => [hint, hintBatchNo, isSwapped])).toEqual([
    ['balance-off', one.batchNo, false],
    ['balance-off', one.batchNo, true],
  ]);
});

test('two lies far apart are two stories', () => {
  const ledger = drawLedger(seeded('two lies'), 30);
  const { stories } = reported(
    changed(
      ledger,
      new Map<number, Change>([
        [5, { balance: shifted(ledger[5]!.balance, '0.01') }],
        [20, stamped(ledger[25]!.bookedMs + 3_000)],
      ]),
    ),
  );
  expect(stories.map(({ breaks, cause }) => [breaks.length, cause.split(' is ')[0]])).toEqual([
    [2, `The balance of ${ledger[5]!.batchNo}`],
    [3, `The timestamp of ${ledger[20]!.batchNo}`],
  ]);
});

describe('no more is claimed than is known', () => {
  test('if entries are missing, no other cause is named', () => {
    const claims = Array.from({ length: LEDGERS }, (_, nth) => {
      const random = seeded(`missing/${nth}`);
      const ledger = drawLedger(random, 30);
      const gone = new Set(Array.from({ length: 1 + below(random, 5) }, () => 1 + below(random, 28)));
      const { breaks, stories } = reported(ledger.filter((_entry, index) => !gone.has(index)));
      return breaks.some(isCauseKnown) ? stories.map(({ cause }) => cause) : null;
    }).filter((one) => one !== null);
    expect(claims).toEqual([]);
  });

  test('nor if the account is emptied after each pair of entries, so that balances repeat', () => {
    const claims = Array.from({ length: LEDGERS }, (_, nth) => {
      const random = seeded(`swept/${nth}`);
      const ledger = Array.from({ length: 15 }, (_pair, at) => {
        const cents = BigInt(1 + below(random, 400_000));
        return [
          entryOf(2 * at, cents, cents, at * 7_200),
          entryOf(2 * at + 1, -cents, 0n, at * 7_200 + 3_600),
        ];
      }).flat();
      const gone = new Set(Array.from({ length: 1 + below(random, 4) }, () => 1 + below(random, 28)));
      const { breaks } = reported(ledger.filter((_entry, index) => !gone.has(index)));
      return breaks.filter((one) => isCauseKnown(one) && !one.hint.startsWith('offset'));
    });
    expect(claims.flat()).toEqual([]);
  });

  test('clocks off by a second or two and entries of one second give no story', () => {
    for (let nth = 0; nth < LEDGERS; nth += 1) {
      const random = seeded(`jitter/${nth}`);
      const ledger = drawLedger(random).map((entry) => ({
        ...entry,
        ...stamped(entry.bookedMs + 1_000 * (below(random, 3) - 1)),
      }));
      expect(reported(ledger).stories).toEqual([]);
    }
  });
});

test('a hold over several entries is described once, with the other possible causes', () => {
  const ledger = drawLedger(seeded('hold'), 20);
  const held = ledger.map((entry, index) =>
    index >= 5 && index < 9 ? { ...entry, balance: shifted(entry.balance, '-99.99') } : entry,
  );
  expect(reported(held).stories.map(({ breaks, where, cause }) => [breaks.length, where, cause])).toEqual([
    [
      2,
      `M USD ${ledger[5]!.bookedAt.slice(0, 10)}`,
      `One break cancels the other exactly: two entries are missing, such as a payment and its refund, or a hold that was placed and released, or every balance from ` +
        `${ledger[5]!.batchNo} up to ${ledger[9]!.batchNo} is wrong by 99.99 USD.`,
    ],
  ]);
});

describe('a break by itself', () => {
  const before = { net: '5.00', batchNo: 'B1' };
  const after = (net: string) => ({ net, batchNo: 'B2' });
  test.each([
    ['equals the amount before it', '5.00', '70.00', 'equals-neighbour', 'B1'],
    ['is the opposite of the amount after it', '-70.00', '70.00', 'equals-neighbour', 'B2'],
    [
      'is twice the amount after it, as if credit and debit were swapped',
      '-140.00',
      '70.00',
      'twice-neighbour',
      'B2',
    ],
    ['is off by one minor unit', '0.01', '70.00', 'amount-off', 'B2'],
    ['is before an amount of 0', '12.34', '0.00', 'amount-off', 'B2'],
    ['is before an amount in minor units', '-6930.00', '7000.00', 'amount-off', 'B2'],
    ['is about as large as the amounts', '63.17', '70.00', 'unexplained', null],
  ])('%s', (_, missing, net, hint, hintBatchNo) => {
    expect(neighbourHint(missing, before, after(net), MINOR_UNITS)).toEqual({ hint, hintBatchNo });
  });
});
