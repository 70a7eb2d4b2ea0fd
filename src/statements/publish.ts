/** Publishes every account day that is due and proven, oldest first, and says of the others why not. */
import type { Kysely } from 'kysely';
import { dayWindow } from '../ledger/business-day.ts';
import type { Account, BusinessDay, Window } from '../ledger/entry.ts';
import { subtractWindows } from '../ledger/window.ts';
import type { DayFilter } from '../store/account-days.ts';
import type { DB } from '../store/schema.ts';
import { countDueDays, dueCurrencies, nextDueDay, type DueDay } from '../store/statements.ts';
import { certifiedWindows } from '../store/windows.ts';
import { publishDay, type PublishDayOptions } from './publish-day.ts';

export interface PublishOptions extends PublishDayOptions {
  /** Without it, every merchant. */
  readonly merchantNo?: string;
  /** Without it, every currency. */
  readonly currenciesAsked?: readonly string[];
  readonly fromDay?: BusinessDay;
  readonly toDay?: BusinessDay;
  readonly onProgress?: (progress: { readonly daysDone: number; readonly days: number }) => void;
  /** Told after each day what the whole call did so far, as a failure later on takes nothing of it back. */
  readonly onDay?: (soFar: PublishReport) => void;
}

const SPANS_NAMED_MAX = 3;

/** A revision that was not there before. */
export interface PublishedStatement {
  readonly account: Account;
  readonly day: BusinessDay;
  readonly revision: number;
  /** Relative to STATEMENTS_URL. */
  readonly key: string;
  /** Why it replaces the one before; null for the first. */
  readonly reason: string | null;
}

/** An account day that is due and cannot be published yet. */
export interface WithheldDay {
  readonly account: Account;
  readonly day: BusinessDay;
  readonly cause: 'not-over' | 'uncertified';
  /** A sentence for a person. */
  readonly why: string;
}

export interface PublishReport {
  readonly published: readonly PublishedStatement[];
  /** Account days that were due and stand as they were published. */
  readonly unchanged: number;
  readonly withheld: readonly WithheldDay[];
}

/**
 * Publishes what is due. A day already published counts as unchanged when bytes and figures are the same, and nothing
 * is uploaded for it. Repeating it after any crash gives the same revisions and the same bytes. Throws
 * `ObjectStoreUnreachable`, `LeaseLost`, `StoreUnreachable`, `StatementMisfit`, or the signal's reason; what was
 * published before that stays, and is left alone the next time.
 */
export async function publishDays(options: PublishOptions): Promise<PublishReport> {
  const { db, signal } = options;
  const filter: DayFilter = {
    merchantNo: options.merchantNo,
    currencies: options.currenciesAsked,
    fromDay: options.fromDay,
    toDay: options.toDay,
  };
  const published: PublishedStatement[] = [];
  const withheld: WithheldDay[] = [];
  let unchanged = 0;
  let daysDone = 0;
  const days = await countDueDays(db, filter);
  // Asked day by day, as publishing one may make the account's next one due.
  let due = await nextDueDay(db, filter, null);
  while (due !== undefined) {
    signal.throwIfAborted();
    options.onProgress?.({ daysDone, days: Math.max(days, daysDone + 1) });
    const ready: string[] = [];
    for (const currency of await dueCurrencies(db, filter, due)) {
      const reasonNot = await whyWithheld(due, currency, options);
      if (reasonNot === null) ready.push(currency);
      else withheld.push(reasonNot);
    }
    if (ready.length > 0) {
      const written = await publishDay(due.merchantNo, due.day, ready, options);
      published.push(
        ...written.map((row) => ({
          account: { merchantNo: row.merchant_no, currency: row.currency },
          day: row.day,
          revision: row.revision,
          key: row.object_key,
          reason: row.reason,
        })),
      );
      unchanged += ready.length - written.length;
    }
    daysDone += 1;
    options.onDay?.({ published: [...published], unchanged, withheld: [...withheld] });
    due = await nextDueDay(db, filter, due);
  }
  options.onProgress?.({ daysDone, days: daysDone });
  return { published, unchanged, withheld };
}

async function whyWithheld(
  { merchantNo, day }: DueDay,
  currency: string,
  { db, zone, now }: { readonly db: Kysely<DB>; readonly zone: string; readonly now: () => Date },
): Promise<WithheldDay | null> {
  const account = { merchantNo, currency };
  const window = dayWindow(day, zone);
  if (now().getTime() <= window.endMs) {
    const why = `the day is not over before ${new Date(window.endMs + 1).toISOString()}`;
    return { account, day, cause: 'not-over', why };
  }
  const missing = subtractWindows([window], await certifiedWindows(db, merchantNo, window, currency));
  if (missing.length === 0) return null;
  const spans = missing.slice(0, SPANS_NAMED_MAX).map(spanText).join(', ');
  const more = missing.length > SPANS_NAMED_MAX ? ` and ${missing.length - SPANS_NAMED_MAX} more spans` : '';
  return { account, day, cause: 'uncertified', why: `no certificate covers ${spans}${more}` };
}

const spanText = ({ beginMs, endMs }: Window): string =>
  `${new Date(beginMs).toISOString()} to ${new Date(endMs + 1).toISOString()}`;
