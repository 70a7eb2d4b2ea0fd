/** Makes the figures of account days whose entries changed, and of every later day they move; of no other. */
import type { Kysely } from 'kysely';
import { dayWindow } from '../ledger/business-day.ts';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import type { Currencies } from '../ledger/money.ts';
import { covers } from '../ledger/window.ts';
import {
  changedDays,
  clearChangedDays,
  dayBefore,
  restartedDays,
  saveAccountDays,
  type DayFilter,
} from '../store/account-days.ts';
import { listBreaks, replaceBreaks, type BreakRow } from '../store/breaks.ts';
import type { Lease } from '../store/lease.ts';
import type { DB } from '../store/schema.ts';
import { certifiedWindows } from '../store/windows.ts';
import { writeTransaction } from '../store/write-transaction.ts';
import { chainAccount } from './chain-account.ts';

export interface ReconcileOptions {
  readonly db: Kysely<DB>;
  readonly lease: Lease;
  readonly zone: string;
  readonly clockToleranceS: number;
  readonly currencies: Currencies;
  /** Null: all. */
  readonly merchants: readonly string[] | null;
  readonly currenciesAsked: readonly string[] | null;
  readonly runId: number;
  readonly now: () => Date;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: { readonly accountsDone: number; readonly accounts: number }) => void;
}

/** One account day whose figures are other than before. */
export interface DayChange {
  readonly account: Account;
  readonly day: BusinessDay;
  /** Null where the day had no figures. */
  readonly oldClosing: string | null;
  readonly newClosing: string;
}

export interface ReconcileReport {
  readonly accounts: number;
  readonly daysChained: number;
  readonly daysChanged: readonly DayChange[];
  readonly opened: readonly BreakRow[];
  readonly healed: readonly BreakRow[];
}

/**
 * Chains every account with changed days, each from the last proven day before its first change until its figures
 * agree with those stored, and saves them in one transaction an account. A rerun without changes writes nothing.
 * Throws `LeaseLost`, `StoreUnreachable`, or the signal's reason.
 */
export async function reconcileAccounts(options: ReconcileOptions): Promise<ReconcileReport> {
  const { db, lease, runId, now, signal } = options;
  const work = await accountsToChain(options);
  let daysChained = 0;
  const daysChanged: DayChange[] = [];
  const opened: BreakRow[] = [];
  const healed: BreakRow[] = [];
  for (const [index, { account, changed, uncertain, certified }] of work.entries()) {
    signal.throwIfAborted();
    options.onProgress?.({ accountsDone: index, accounts: work.length });
    const chained = await chainAccount({
      ...options,
      account,
      changed: [...changed, ...uncertain],
      certified,
    });
    daysChained += chained.days.length;
    const differing = chained.days.filter((day) => day.differs || changed.includes(day.figures.day));
    await writeTransaction(db, lease, async (trx) => {
      await saveAccountDays(
        trx,
        account,
        differing.map(({ figures }) => figures),
      );
      const days = chained.days.map(({ figures }) => figures.day);
      const breaks = await replaceBreaks(trx, account, days, chained.breaks, { runId, now: now() });
      await clearChangedDays(trx, account, changed);
      return breaks;
    }).then((breaks) => {
      opened.push(...breaks.opened);
      healed.push(...breaks.healed);
    });
    for (const { figures, stored } of differing) {
      daysChanged.push({
        account,
        day: figures.day,
        oldClosing: stored?.closing ?? null,
        newClosing: figures.closing,
      });
    }
  }
  options.onProgress?.({ accountsDone: work.length, accounts: work.length });
  return { accounts: work.length, daysChained, daysChanged, opened, healed };
}

interface AccountWork {
  readonly account: Account;
  readonly changed: readonly BusinessDay[];
  /** Days whose chain began anew and now has proven history before it. */
  readonly uncertain: readonly BusinessDay[];
  /** Spans of the merchant's ledger under certificate, joined. */
  readonly certified: Awaited<ReturnType<typeof certifiedWindows>>;
}

async function accountsToChain(options: ReconcileOptions): Promise<AccountWork[]> {
  const { db, zone, merchants } = options;
  const filters: DayFilter[] = (merchants ?? [undefined]).map((merchantNo) => ({
    merchantNo,
    currencies: options.currenciesAsked ?? undefined,
  }));
  const work = new Map<string, AccountWork>();
  const certifiedOf = new Map<string, AccountWork['certified']>();
  const certified = async (merchantNo: string) => {
    const known = certifiedOf.get(merchantNo);
    if (known !== undefined) return known;
    const windows = await certifiedWindows(db, merchantNo, { beginMs: 0, endMs: 9_999_999_999_999 });
    certifiedOf.set(merchantNo, windows);
    return windows;
  };
  const keyOf = (account: Account) => `${account.merchantNo}\n${account.currency}`;
  for (const filter of filters) {
    for (const { account, days } of await changedDays(db, filter)) {
      work.set(keyOf(account), {
        account,
        changed: days,
        uncertain: [],
        certified: await certified(account.merchantNo),
      });
    }
    for (const { account, days } of await restartedDays(db, filter)) {
      const uncertain: BusinessDay[] = [];
      for (const day of days) {
        const before = await dayBefore(db, account, day);
        if (before === undefined) continue;
        const gap = { beginMs: dayWindow(before.day, zone).beginMs, endMs: dayWindow(day, zone).beginMs };
        if (covers(await certified(account.merchantNo), gap)) uncertain.push(day);
      }
      if (uncertain.length === 0) continue;
      const known = work.get(keyOf(account));
      work.set(keyOf(account), {
        account,
        changed: known?.changed ?? [],
        uncertain,
        certified: await certified(account.merchantNo),
      });
    }
  }
  return [...work.values()];
}

/** Open breaks of the merchants and currencies asked for. */
export const openBreaks = (
  options: Pick<ReconcileOptions, 'db' | 'merchants' | 'currenciesAsked'>,
): Promise<BreakRow[]> =>
  listBreaks(options.db, {
    merchants: options.merchants ?? undefined,
    currencies: options.currenciesAsked ?? undefined,
  });
