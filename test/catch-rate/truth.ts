/** Compares what is stored and published with the true books. It uses the law of statements, not daybook's code. */
import type { Kysely } from 'kysely';
import { dayOf, dayWindow } from '../../src/ledger/business-day.ts';
import type { DB } from '../../src/store/engine/schema.ts';
import { wallText } from '../simulation/history-platform.ts';
import { rowsOf, statementId, type Published, type PublishedStatement } from '../simulation/published.ts';
import { decimal, unitsOf, type Booking } from './books.ts';
import type { Place } from './form.ts';

const SETTLE_MS = 300_000;

/** An entry as text in canonical form, wherever it comes from. */
const spelled = (cells: readonly (string | null)[], currency: string): string => {
  const [batchNo, stamp, of, type, ...amounts] = cells;
  const units = amounts.map((amount) =>
    amount === null || amount === '' ? '' : (unitsOf(amount, currency) ?? amount),
  );
  return [batchNo, stamp, of, type, ...units].join();
};

const trueText = ({ batchNo, currency, type, net, balance, stampMs }: Booking, zone: string): string =>
  spelled(
    [
      batchNo,
      wallText(stampMs, zone),
      currency,
      type,
      net > 0 ? decimal(net, currency) : '',
      net > 0 ? '' : decimal(-net, currency),
      decimal(balance, currency),
    ],
    currency,
  );

/** An account day as it should be. */
interface TrueDay extends Place {
  readonly currency: string;
  readonly rows: string;
  readonly opening: number;
  readonly closing: number;
}

/** The true account days that have ended, by `currency day`. */
function trueDays(books: readonly Booking[], zone: string, nowMs: number): Map<string, TrueDay> {
  const days = new Map<string, TrueDay>();
  const byAccount = Map.groupBy(books, ({ currency }) => currency);
  for (const [currency, entries] of byAccount) {
    let balance = 0;
    const byDay = Map.groupBy(entries, ({ stampMs }) => dayOf(stampMs, zone));
    for (const [day, own] of [...byDay].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const opening = balance;
      balance += own.reduce((sum, { net }) => sum + net, 0);
      if (dayWindow(day, zone).endMs > nowMs - SETTLE_MS) continue;
      const rows = inOneText(own.map((booking) => trueText(booking, zone)));
      days.set(statementId(currency, day), { currency, day, rows, opening, closing: balance });
    }
  }
  return days;
}

const inOneText = (rows: readonly string[]): string => [...rows].sort().join('\n');

/** Whether a statement has the true rows, opening and closing. A day without entries has no rows and one balance. */
function isTrue(statement: PublishedStatement, days: ReadonlyMap<string, TrueDay>): boolean {
  const { currency, day } = statement;
  const truth = days.get(statementId(currency, day));
  const rows = inOneText(rowsOf(statement.text ?? '').map((cells) => spelled(cells, currency)));
  const fits = [statement.closing, ...(statement.otherClosings ?? [])].map((one) => unitsOf(one, currency));
  if (truth === undefined) {
    const before = [...days.values()].filter((one) => one.currency === currency && one.day < day);
    const balance = before.sort((a, b) => (a.day < b.day ? -1 : 1)).at(-1)?.closing;
    return (
      rows === '' &&
      statement.opening === statement.closing &&
      (balance === undefined || fits.includes(balance))
    );
  }
  const net = truth.closing - truth.opening;
  return (
    rows === truth.rows &&
    unitsOf(statement.closing, currency)! - unitsOf(statement.opening, currency)! === net &&
    // A statement that says which balances fit is true if the right one is among them.
    fits.includes(truth.closing)
  );
}

export interface Harm {
  /** Published statements that are wrong. */
  readonly wrong: readonly PublishedStatement[];
  /** True account days that have no statement, or whose stored entries are wrong. */
  readonly lacking: readonly Place[];
}

/** Where copy and statements differ from what the books truly hold. */
export async function harmOf(
  db: Kysely<DB>,
  published: Published,
  truth: {
    readonly merchantNo: string;
    readonly books: readonly Booking[];
    readonly zone: string;
    readonly from: string;
    readonly nowMs: number;
  },
): Promise<Harm> {
  const days = trueDays(truth.books, truth.zone, truth.nowMs);
  const stored = await storedDays(db, truth.merchantNo);
  const trueMs = new Map(truth.books.map(({ batchNo, stampMs }) => [batchNo, stampMs]));
  const wrong = [...published.statements.values()].filter((statement) => !isTrue(statement, days));
  const isStored = ({ currency, day, rows }: TrueDay): boolean => {
    const own = stored.get(statementId(currency, day)) ?? [];
    return (
      inOneText(own.map(({ text }) => text)) === rows &&
      own.every(({ batchNo, bookedMs }) => trueMs.get(batchNo) === bookedMs)
    );
  };
  const lacking = [...days.values()].filter(
    (day) =>
      day.day >= truth.from &&
      (!published.statements.has(statementId(day.currency, day.day)) || !isStored(day)),
  );
  return { wrong, lacking };
}

async function storedDays(db: Kysely<DB>, merchantNo: string) {
  const rows = await db
    .selectFrom('ledger_entry')
    .selectAll()
    .where('merchant_no', '=', merchantNo)
    .where('vanished_at', 'is', null)
    .execute();
  return Map.groupBy(
    rows.map((row) => ({
      batchNo: row.batch_no,
      bookedMs: row.booked_ms,
      id: statementId(row.currency, row.booked_at.slice(0, 10)),
      text: spelled(
        [row.batch_no, row.booked_at, row.currency, row.transaction_type, row.credit, row.debit, row.balance],
        row.currency,
      ),
    })),
    ({ id }) => id,
  );
}
