/** One made-up merchant: a ledger with repeated prices, its own book with known faults, and how the two are to be matched. */
import { dayOf, daysFromTo, addDays, dayWindow, offsetMs } from '../../../../src/ledger/business-day.ts';
import { fromScaled } from '../../../../src/ledger/money.ts';
import type { MatchRule, MatchRules } from '../../../../src/ledger/own-books.ts';
import { below, seeded, type BookedEntry, type Random } from '../../../../src/plugins/sandbox/ledger.ts';
import { ownBook, type OwnBook } from '../../../../src/plugins/sandbox/own-books.ts';
import { minorUnitsOf } from '../../../../src/plugins/sandbox/scenario.ts';
import type { LedgerEntry } from '../../../../src/ledger/entry.ts';
import type { OracleRules, Piece } from './oracle.ts';

const RULES: readonly MatchRule[] = ['reference', 'same-time', 'same-day', 'near-day', 'sum', 'tolerance'];
const ZONES = ['Asia/Shanghai', 'Europe/Berlin', 'America/New_York'];
const CURRENCIES = ['USD', 'EUR', 'USD', 'JPY', 'KWD'];
const TYPES = ['PAYOUT', 'SETTLE', 'REFUND'];
const FIRST_DAY = '2026-03-02';

export interface Case {
  readonly merchantNo: string;
  readonly zone: string;
  readonly entries: readonly BookedEntry[];
  readonly book: OwnBook;
  readonly rules: MatchRules;
}

const pick = <Item>(random: Random, items: readonly Item[]): Item => items[below(random, items.length)]!;

/** The case of a number. The same seed and number give the same case. */
export function drawCase(seed: number, nth: number): Case {
  const random = seeded(`match card ${seed}/${nth}`);
  const zone = pick(random, ZONES);
  const feeMax = 20 + below(random, 200);
  const currencies = [...new Set([pick(random, CURRENCIES), ...(random() < 0.2 ? ['EUR'] : [])])];
  const entries = currencies.flatMap((currency) => drawEntries(currency, zone, random));
  const book = ownBook(entries, {
    seed: `${seed}/${nth}`,
    zone,
    references: pick(random, [0, 0.3, 0.7, 1]),
    feeMax,
  });
  return {
    merchantNo: `M${String(nth).padStart(6, '0')}`,
    zone,
    entries,
    book,
    rules: {
      rules: RULES,
      days: 3,
      sumEntriesMax: 6,
      tolerances: new Map(
        currencies.map((currency) => [
          currency,
          { max: fromScaled(BigInt(feeMax), minorUnitsOf(currency)), type: 'fee' },
        ]),
      ),
    },
  };
}

/** The entries of one account: some at the prices of a few goods, others of any size. */
function drawEntries(currency: string, zone: string, random: Random): BookedEntry[] {
  const prices = Array.from({ length: 3 + below(random, 6) }, () => 100 * (5 + below(random, 200)) - 1);
  const atPrice = 0.6 * random();
  const perDay = 1 + below(random, 7);
  const drawn = daysFromTo(FIRST_DAY, addDays(FIRST_DAY, 4 + below(random, 16))).flatMap((day) => {
    const { beginMs, endMs } = dayWindow(day, zone);
    const seconds = Math.floor((endMs - beginMs) / 1_000);
    return Array.from({ length: below(random, 2 * perDay + 1) }, (): BookedEntry => {
      const size = random() < atPrice ? pick(random, prices) : 500 + below(random, 2_000_000);
      return {
        batchNo: '',
        currency,
        type: pick(random, TYPES),
        units: random() < 0.2 ? -BigInt(size) : BigInt(size),
        bookedMs: beginMs + below(random, seconds) * 1_000,
      };
    });
  });
  // The last digits count, so that no number comes twice.
  return drawn.map((entry, at) => ({
    ...entry,
    batchNo: `${currency}${below(random, 90_000) + 10_000}${String(at).padStart(4, '0')}`,
  }));
}

const DAY_MS = 86_400_000;
const DAY_S = 86_400;

/** What the oracle sees: the case's entries and rows, and nothing of what is true. */
export function piecesOf({ entries, book, zone }: Case): Piece[] {
  return [
    ...entries.map(({ batchNo, currency, units, bookedMs }): Piece => ({
      ...{ side: 'ledger', number: batchNo, currency, names: [] },
      day: Date.parse(dayOf(bookedMs, zone)) / DAY_MS,
      second: Math.floor((bookedMs + offsetMs(zone, bookedMs)) / 1_000) % DAY_S,
      units: Number(units),
    })),
    ...book.rows.map(({ number, currency, booked, amount, reference }): Piece => ({
      ...{ side: 'book', number, currency },
      day: Date.parse(booked.slice(0, 10)) / DAY_MS,
      second: (Date.parse(`${booked.replace(' ', 'T')}Z`) / 1_000) % DAY_S,
      units: Math.round(Number(amount) * 10 ** minorUnitsOf(currency)),
      names: reference.split(/[\s,;|/()]+/),
    })),
  ];
}

export const oracleRules = ({ rules }: Case): OracleRules => ({
  ...rules,
  tolerances: new Map(
    [...rules.tolerances].map(([currency, { max }]) => [
      currency,
      Math.round(Number(max) * 10 ** minorUnitsOf(currency)),
    ]),
  ),
});

/** The ledger's entries as daybook stores them. Balances follow from 0. */
export function ledgerEntries({ entries, zone }: Case): LedgerEntry[] {
  const balances = new Map<string, bigint>();
  return [...entries]
    .sort((a, b) => a.bookedMs - b.bookedMs)
    .map(({ batchNo, currency, type, units, bookedMs }) => {
      const balance = (balances.get(currency) ?? 0n) + units;
      balances.set(currency, balance);
      const decimal = (value: bigint): string => fromScaled(value, minorUnitsOf(currency));
      return {
        ...{ batchNo, currency, transactionType: type, bookedMs },
        credit: units >= 0n ? decimal(units) : null,
        debit: units >= 0n ? null : decimal(-units),
        balance: decimal(balance),
        bookedAt: new Date(bookedMs + offsetMs(zone, bookedMs)).toISOString().slice(0, 19).replace('T', ' '),
      };
    });
}
