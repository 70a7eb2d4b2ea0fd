/** One account day's statement as a stream of bytes: read, chained, spelled out, and checked against its figures. */
import type { Kysely } from 'kysely';
import { dayWindow } from '../ledger/business-day.ts';
import { createChain, type ChainStart } from '../ledger/chain.ts';
import type { ChainStep } from '../ledger/chain-link.ts';
import type { Account, BusinessDay, LedgerEntry } from '../ledger/entry.ts';
import { compareAmounts, fromScaled } from '../ledger/money.ts';
import { accountDay, dayAfter, dayBefore, type AccountDayRow } from '../store/account-days.ts';
import { readAccount } from '../store/entries.ts';
import type { DB } from '../store/schema.ts';
import { STATEMENT_HEADER, statementLines } from './csv.ts';

export interface DayContentOptions {
  readonly db: Kysely<DB>;
  readonly zone: string;
  readonly clockToleranceS: number;
  readonly signal: AbortSignal;
}

/** The stored entries do not add up to the day's figures: reconciling did not see what publishing sees. */
export class StatementMisfit extends Error {
  override readonly name = 'StatementMisfit';
}

/** Credits and debits of the rows written, at the finest scale seen. */
interface Totals {
  scale: number;
  credit: bigint;
  creditCount: number;
  debit: bigint;
  debitCount: number;
}

/**
 * The CSV of an account day in chain order. Entries are chained over just the days whose entries trade places with
 * this one's, so that the bytes depend on nothing else. Throws `StatementMisfit` at the end where the rows do not add
 * up to the day's figures: an upload fed from it then fails as well.
 */
export async function* dayContent(
  account: Account,
  day: BusinessDay,
  options: DayContentOptions,
): AsyncGenerator<Uint8Array> {
  const { db, zone, clockToleranceS, signal } = options;
  const stretch = await daysChainedTogether(db, account, day);
  const chain = createChain<LedgerEntry>({ clockToleranceS, start: stretch.start });
  const totals: Totals = { scale: 0, credit: 0n, creditCount: 0, debit: 0n, debitCount: 0 };
  const lines = (steps: readonly ChainStep<LedgerEntry>[]): Uint8Array => {
    const own = steps.filter((step) => step.day === day);
    for (const step of own) add(totals, step);
    return Buffer.from(statementLines(own.map(({ entry }) => entry)));
  };
  yield Buffer.from(STATEMENT_HEADER);
  for (const chained of stretch.days) {
    for await (const entries of readAccount(db, account, dayWindow(chained, zone))) {
      signal.throwIfAborted();
      const bytes = lines(chain.push(entries));
      if (bytes.byteLength > 0) yield bytes;
    }
  }
  const rest = lines(chain.end());
  assertFits(account, stretch.figures, totals);
  if (rest.byteLength > 0) yield rest;
}

interface StretchOfDays {
  readonly start: ChainStart | null;
  readonly days: readonly BusinessDay[];
  readonly figures: AccountDayRow;
}

/** The day, with those before and after it that it cannot be chained without: nearly always none. */
async function daysChainedTogether(
  db: Kysely<DB>,
  account: Account,
  day: BusinessDay,
): Promise<StretchOfDays> {
  const figures = await accountDay(db, account, day);
  if (figures === undefined) throw new StatementMisfit(`${nameOf(account, day)} has no figures to publish`);
  const days = [day];
  let first = figures;
  let before = await dayBefore(db, account, day);
  while (before !== undefined && !before.clean_end) {
    first = before;
    days.unshift(before.day);
    before = await dayBefore(db, account, before.day);
  }
  let last: AccountDayRow | undefined = figures;
  while (last !== undefined && !last.clean_end) {
    last = await dayAfter(db, account, last.day);
    if (last !== undefined) days.push(last.day);
  }
  const start =
    before === undefined || first.restarted
      ? null
      : { balance: first.opening, batchNo: before.last_batch_no, bookedMs: before.last_booked_ms ?? 0 };
  return { start, days, figures };
}

function add(totals: Totals, { entry, net, scale }: ChainStep): void {
  if (scale > totals.scale) {
    const factor = 10n ** BigInt(scale - totals.scale);
    totals.credit *= factor;
    totals.debit *= factor;
    totals.scale = scale;
  }
  if (entry.credit === null) {
    totals.debit -= net;
    totals.debitCount += 1;
  } else {
    totals.credit += net;
    totals.creditCount += 1;
  }
}

function assertFits(account: Account, figures: AccountDayRow, totals: Totals): void {
  const credit = fromScaled(totals.credit, totals.scale);
  const debit = fromScaled(totals.debit, totals.scale);
  const fits =
    totals.creditCount === figures.credit_count &&
    totals.debitCount === figures.debit_count &&
    compareAmounts(credit, figures.credit_total) === 0 &&
    compareAmounts(debit, figures.debit_total) === 0;
  if (fits) return;
  throw new StatementMisfit(
    `${nameOf(account, figures.day)}: the entries are ${totals.creditCount} credits of ${credit} and ` +
      `${totals.debitCount} debits of ${debit}, but the day's figures say ${figures.credit_count} of ` +
      `${figures.credit_total} and ${figures.debit_count} of ${figures.debit_total}. Run \`daybook reconcile\`.`,
  );
}

const nameOf = ({ merchantNo, currency }: Account, day: BusinessDay): string =>
  `account day ${merchantNo} ${currency} ${day}`;
