/** Makes the figures of account days whose entries changed, and of the later days that change with them; of no other. */
import { ExpectedError } from '../ledger/ending.ts';
import type { Account, BusinessDay, Figures } from '../ledger/entry.ts';
import type { Currencies } from '../ledger/money.ts';
import type { DayFigures } from '../store/account-days.ts';
import { hintsToChange, merchantsWithBreaks, writeHints } from '../store/breaks/hints.ts';
import type { BreakRow } from '../store/breaks/breaks.ts';
import type { QuarantinedReader } from '../ledger/hints/evidence.ts';
import type { Lease } from '../store/engine/lease.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';
import type { ReadAlready } from './account-view.ts';
import { accountsToChain, type AccountWork, type ToChainOptions } from './accounts-to-chain.ts';
import { chainAccount, PASS_MAX, type ChainedAccount, type PassMax } from './chain-account.ts';
import { createPassSaver, type Pass } from './save-passes.ts';

export interface ReconcileOptions extends ToChainOptions {
  readonly lease: Lease;
  readonly clockToleranceS: number;
  readonly currencies: Currencies;
  /** Reads the amounts that an unreadable entry's raw text may mean. Without it, none are read. */
  readonly readQuarantined?: QuarantinedReader;
  /** How much one transaction takes; `PASS_MAX` where it is not given. */
  readonly passMax?: PassMax;
  readonly runId: number;
  readonly now: () => Date;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: { readonly accountsDone: number; readonly accounts: number }) => void;
}

/** An account day whose figures changed. */
export interface DayChange {
  readonly account: Account;
  readonly day: BusinessDay;
  /** Null where the day had no figures. */
  readonly oldClosing: string | null;
  readonly newClosing: string;
  /** Entries that the day has now. */
  readonly entries: number;
  /** Figures before; null where the day had none. */
  readonly before: SeenFigures | null;
  readonly after: SeenFigures;
}

/** Those of a day's figures that a reader sees. */
export type SeenFigures = Pick<Figures, (typeof SEEN)[number]>;
const SEEN = [
  'opening',
  'creditTotal',
  'creditCount',
  'debitTotal',
  'debitCount',
  'closing',
  'verdict',
  'breakCount',
] as const satisfies readonly (keyof Figures)[];

/** What a reader sees of them. */
export const seenFigures = (figures: SeenFigures): SeenFigures =>
  Object.fromEntries(SEEN.map((figure) => [figure, figures[figure]])) as SeenFigures;

export interface ReconcileReport {
  readonly accounts: number;
  readonly daysChained: number;
  readonly daysChanged: readonly DayChange[];
  /** Without hints: these are added to the stored rows afterwards. */
  readonly opened: readonly BreakRow[];
  readonly healed: readonly BreakRow[];
}

/** What the figures say after a pass. */
export interface FiguresSeen {
  /** For each account, those of the days asked for that hold entries. */
  readonly busy: readonly ReadonlySet<BusinessDay>[];
  /** False if `firstDaysWithBalance` names no account. */
  readonly mayOpenOnBalance: boolean;
}

export interface Reconciled extends ReconcileReport {
  /** Null if only some currencies were reconciled. */
  readonly seen: FiguresSeen | null;
  /** Whether an account has its first figures. */
  readonly begins: boolean;
}

/**
 * Chains every account with changed days, from the first of them until a day starts from the same balance as last time.
 * Figures and breaks are saved in one transaction, or in several where there are very many days. Where nothing changed,
 * nothing is written. Throws `LeaseLost`, `StoreUnreachable`, or the signal's reason.
 */
export async function reconcileAccounts(options: ReconcileOptions): Promise<Reconciled> {
  const { known, passMax = PASS_MAX, signal } = options;
  const { merchantNo, currencies } = options.accounts;
  const { accounts, work } = await accountsToChain(options);
  const hadBreaks = known?.hasBreaks !== false;
  const { take, save } = createPassSaver({ ...options, merchantNo, hadBreaks, passMax });
  const busy = new Map(accounts.map(({ account, busy }) => [account.currency, new Set(busy)]));
  let mayOpenOnBalance = accounts.some(({ opensOnBalance }) => opensOnBalance);
  let daysChained = 0;
  const daysChanged: DayChange[] = [];
  const note = ({ account, chained }: Pass): void => {
    daysChained += chained.days.length;
    daysChanged.push(...changesIn(chained, account));
    for (const { figures } of chained.days) {
      noteBusy(busy.get(account.currency)!, figures);
      mayOpenOnBalance ||= figures.restarted;
    }
  };
  try {
    for (const [index, own] of work.entries()) {
      options.onProgress?.({ accountsDone: index, accounts: work.length });
      await chainInPasses(own, options, async (pass) => {
        await take(pass);
        note(pass);
      });
    }
  } catch (error) {
    // An account that cannot be chained keeps none of the others from being saved.
    if (!(error instanceof ExpectedError) && !signal.aborted) await save();
    throw error;
  }
  const { opened, healed } = await save();
  if (hadBreaks || opened.length > 0) await updateHints(options);
  options.onProgress?.({ accountsDone: work.length, accounts: work.length });
  const seen = currencies === null ? { busy: [...busy.values()], mayOpenOnBalance } : null;
  const begins = work.some(({ read }) => read.last === null);
  return { accounts: work.length, daysChained, daysChanged, opened, healed, seen, begins };
}

/** Chains the days of an account in as many passes as it takes. */
async function chainInPasses(
  { days, read, ...own }: AccountWork,
  options: ReconcileOptions,
  take: (pass: Pass) => Promise<void>,
): Promise<void> {
  let already: ReadAlready = read;
  let waiting = days;
  while (waiting.length > 0) {
    options.signal.throwIfAborted();
    const chained = await chainAccount({ ...options, ...own, read: already, changed: waiting });
    await take({ account: own.account, gapless: read.gapless, changed: waiting, chained });
    already = { entries: read.entries, statements: read.statements, around: null };
    waiting = chained.left;
  }
}

const noteBusy = (busy: Set<BusinessDay>, { day, creditCount, debitCount }: DayFigures): unknown =>
  creditCount + debitCount > 0 ? busy.add(day) : busy.delete(day);

/** Writes the hints that changed, for all breaks of the merchant, as a new entry may explain an old break. */
async function updateHints(options: ReconcileOptions): Promise<void> {
  const { db, lease, accounts, currencies, signal, readQuarantined } = options;
  const { merchantNo } = accounts;
  if ((await merchantsWithBreaks(db, [merchantNo])).length === 0) return;
  signal.throwIfAborted();
  const hints = await hintsToChange(db, merchantNo, currencies.minorUnits, readQuarantined);
  if (hints.size > 0) await writeTransaction(db, lease, (trx) => writeHints(trx, merchantNo, hints));
}

const changesIn = (chained: ChainedAccount, account: Account): DayChange[] =>
  chained.days
    .filter(({ differs }) => differs)
    .map(({ figures, stored }) => ({
      account,
      day: figures.day,
      oldClosing: stored?.closing ?? null,
      newClosing: figures.closing,
      entries: figures.creditCount + figures.debitCount,
      before: stored === undefined ? null : seenFigures(stored),
      after: seenFigures(figures),
    }));
