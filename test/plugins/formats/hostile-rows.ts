/** Rows that a platform could send, the odd ones more often than a platform would. */
import fc from 'fast-check';
import { addAmounts, fromScaled, subtractAmounts } from '../../../src/ledger/money.ts';
import type { StatedFigures } from '../../../src/ledger/entry.ts';
import type { RowCells } from '../../../src/verify/csv.ts';

const ODD_TEXTS = [
  ...[
    '=1+1',
    '+cmd|calc',
    '-2',
    '@SUM(A1)',
    "'quoted",
    '"',
    '<b>&amp;</b>',
    ']]>',
    ' spaced ',
    'a  b',
    '_x0041_',
  ],
  ...['_x000D_', 'tab\there', 'line\nbreak', 'cr\r', 'bell\u0007', 'nul\u0000', '\u0085', '\ufffe', '\uffff'],
  ...[
    '𝄞 clef',
    '支付宝',
    'Größe',
    '\ud800',
    '::',
    '--',
    ':20:',
    '-}',
    '{1:',
    '//',
    'a//b',
    '/x/',
    '?20x',
    '1e5',
    '007',
  ],
  ...[
    '12345678901234567',
    'TRUE',
    '2026-03-31',
    '‮reversed',
    '#REF!',
    'x'.repeat(255),
    '字'.repeat(255),
    '-'.repeat(255),
  ],
];

const oddText = (): fc.Arbitrary<string> =>
  fc.oneof(
    fc.constantFrom(...ODD_TEXTS),
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.string({ unit: 'grapheme', maxLength: 40 }),
    fc.stringMatching(/^[A-Z]{3}\d{13}$/),
  );

/** An amount above zero or zero with so many decimals, of at most so many digits. */
const amountOf = (decimals: number, digits: number): fc.Arbitrary<string> =>
  fc
    .oneof(fc.bigInt({ min: 0n, max: 10n ** BigInt(digits) - 1n }), fc.bigInt({ min: 0n, max: 100_000n }))
    .map((value) => fromScaled(value, decimals));

const time = fc.integer({ min: 0, max: 86_399 }).map((s) => new Date(s * 1_000).toISOString().slice(11, 19));

export interface HostileDay {
  readonly currency: string;
  readonly rows: readonly RowCells[];
  readonly figures: StatedFigures;
}

export interface HostileOptions {
  readonly digits: number;
  /** Currencies with their decimals. */
  readonly currencies?: readonly (readonly [string, number])[];
  readonly maxRows?: number;
}

const CURRENCIES: readonly (readonly [string, number])[] = [
  ['USD', 2],
  ['JPY', 0],
  ['KWD', 3],
  ['CLF', 4],
];

/** A continuous day of an account: each row follows from the one before. */
export const hostileDay = ({
  digits,
  currencies = CURRENCIES,
  maxRows = 12,
}: HostileOptions): fc.Arbitrary<HostileDay> =>
  fc.constantFrom(...currencies).chain(([currency, decimals]) =>
    fc
      .record({
        opening: fc
          .tuple(amountOf(decimals, digits), fc.boolean())
          .map(([amount, isNegative]) => (isNegative && /[1-9]/.test(amount) ? `-${amount}` : amount)),
        entries: fc.array(
          fc.tuple(
            oddText().filter((text) => text !== ''),
            oddText(),
            amountOf(decimals, digits),
            fc.boolean(),
            time,
          ),
          { maxLength: maxRows, size: 'max' },
        ),
      })
      .map(({ opening, entries }) => {
        const zero = fromScaled(0n, decimals);
        let balance = opening;
        const sums = { creditTotal: zero, creditCount: 0, debitTotal: zero, debitCount: 0 };
        const rows = entries.map(([batchNo, type, amount, isCredit, at]) => {
          if (isCredit) {
            balance = addAmounts(balance, amount);
            sums.creditTotal = addAmounts(sums.creditTotal, amount);
            sums.creditCount += 1;
          } else {
            balance = subtractAmounts(balance, amount);
            sums.debitTotal = addAmounts(sums.debitTotal, amount);
            sums.debitCount += 1;
          }
          const sides = isCredit ? [amount, ''] : ['', amount];
          return [batchNo, `2026-03-31 ${at}`, currency, type, ...sides, balance];
        });
        const figures: StatedFigures = {
          ...{ opening, ...sums, closing: balance },
          ...{ verdict: 'continuous', breakCount: 0, breaksAfter: 0, restarted: false },
        };
        return { currency, rows, figures };
      }),
  );
