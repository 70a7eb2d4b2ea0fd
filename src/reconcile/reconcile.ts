/** Makes the figures of account days whose entries changed, and of the later days that change with them; of no other. */
import type { Kysely } from 'kysely';
import type { AccountFilter } from '../ledger/account-filter.ts';
import type { Account, BusinessDay, Figures } from '../ledger/entry.ts';
import type { Currencies } from '../ledger/money.ts';
import { saveAccountDays } from '../store/account-days.ts';
import { lastDays } from '../store/account-ends.ts';
import { changedDays, clearChangedDays, markChangedDays, restartedDays } from '../store/changed-days.ts';
import { hintsToChange, merchantsWithBreaks, writeHints } from '../store/breaks/break-hints.ts';
import { replaceBreaks, type BreakRow } from '../store/breaks/breaks.ts';
import type { QuarantinedReader } from '../ledger/chain/quarantined-entries.ts';
import type { Lease } from '../store/engine/lease.ts';
import type { DB } from '../store/engine/schema.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';
import { createCertifiedCheck, type CertifiedCheck } from './certified-check.ts';
import { daysWithoutEntries } from './quiet-days.ts';
import { chainAccount, joiningDays, type ChainedAccount } from './chain-account.ts';

export interface ReconcileOptions {
  readonly db: Kysely<DB>;
  readonly lease: Lease;
  readonly zone: string;
  readonly clockToleranceS: number;
  readonly currencies: Currencies;
  /** Reads the amounts that an unreadable entry's raw text may mean. Without it, none are read. */
  readonly readQuarantined?: QuarantinedReader;
  /** Whose days get figures. Hints are given to every account of these merchants. */
  readonly accounts: AccountFilter;
  /** What of the merchants is known already. Without it, it is asked for. */
  readonly known?: { readonly hasBreaks: boolean; readonly hasRestarted: boolean };
  /** How much one transaction takes; `PASS_MAX` where it is not given. */
  readonly passMax?: { readonly days: number; readonly breaks: number };
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

/**
 * Chains every account with changed days, from the first of them until a day starts from the same balance as last time.
 * Figures and breaks of an account are saved in one transaction, or in several where it has very many days. Where nothing
 * changed, nothing is written.
 * Throws `LeaseLost`, `StoreUnreachable`, or the signal's reason.
 */
export async function reconcileAccounts(options: ReconcileOptions): Promise<ReconcileReport> {
  const checks = new Map<string, CertifiedCheck>();
  const checkOf = (account: Account): CertifiedCheck => {
    const known = checks.get(accountKey(account)) ?? createCertifiedCheck(options.db, account);
    checks.set(accountKey(account), known);
    return known;
  };
  const work = await accountsToChain({ ...options, checkOf });
  let daysChained = 0;
  const daysChanged: DayChange[] = [];
  const opened: BreakRow[] = [];
  const healed: BreakRow[] = [];
  for (const [index, { account, days }] of work.entries()) {
    options.onProgress?.({ accountsDone: index, accounts: work.length });
    let waiting: readonly BusinessDay[] = days;
    while (waiting.length > 0) {
      options.signal.throwIfAborted();
      const chained = await chainAccount({
        ...options,
        account,
        isCertified: checkOf(account),
        changed: waiting,
      });
      const mayHaveBreaks = options.known?.hasBreaks !== false || opened.length > 0;
      const breaks = await saveAccount(chained, waiting, account, { ...options, mayHaveBreaks });
      daysChained += chained.days.length;
      daysChanged.push(...changesIn(chained, account));
      opened.push(...breaks.opened);
      healed.push(...breaks.healed);
      waiting = chained.left;
    }
  }
  if (options.known?.hasBreaks !== false || opened.length > 0) await updateHints(options);
  options.onProgress?.({ accountsDone: work.length, accounts: work.length });
  return { accounts: work.length, daysChained, daysChanged, opened, healed };
}

/** Writes the hints that changed, for all breaks of the merchants, as a new entry may explain an old break. */
async function updateHints(options: ReconcileOptions): Promise<void> {
  const { db, lease, accounts, currencies, signal, readQuarantined } = options;
  for (const merchantNo of await merchantsWithBreaks(db, accounts.merchants)) {
    signal.throwIfAborted();
    const hints = await hintsToChange(db, merchantNo, currencies.minorUnits, readQuarantined);
    if (hints.size > 0) await writeTransaction(db, lease, (trx) => writeHints(trx, merchantNo, hints));
  }
}

/**
 * In one transaction, saves breaks and the figures that differ, and takes the days off the list of changed ones. Days
 * left for the next pass stay on that list, so that a kill between two passes loses none.
 */
function saveAccount(
  chained: ChainedAccount,
  changed: readonly BusinessDay[],
  account: Account,
  { db, lease, runId, now, mayHaveBreaks }: ReconcileOptions & { readonly mayHaveBreaks: boolean },
): Promise<{ readonly opened: BreakRow[]; readonly healed: BreakRow[] }> {
  const days = chained.days.map(({ figures }) => figures.day);
  const foundAt = now();
  return writeTransaction(db, lease, async (trx) => {
    const isUnbroken = !mayHaveBreaks && chained.breaks.length === 0;
    const breaks = isUnbroken
      ? NO_BREAKS
      : await replaceBreaks(trx, account, days, chained.breaks, { runId, now: foundAt });
    const touched = new Set([
      ...changed,
      ...breaks.opened.map(({ day }) => day),
      ...breaks.healed.map(({ day }) => day),
    ]);
    const due = chained.days.filter(({ figures, differs }) => differs || touched.has(figures.day));
    await saveAccountDays(
      trx,
      account,
      due.map(({ figures }) => figures),
    );
    await markChangedDays(trx, account, chained.left);
    await clearChangedDays(
      trx,
      account,
      changed.filter((day) => !chained.left.includes(day)),
    );
    return breaks;
  });
}

const NO_BREAKS = { opened: [], healed: [] };

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

interface AccountWork {
  readonly account: Account;
  /** Days to chain: their entries changed, or the time before them is proven now. */
  days: BusinessDay[];
}

/** One check an account for the whole pass, so that its certificates are read once. */
type WithChecks = ReconcileOptions & { readonly checkOf: (account: Account) => CertifiedCheck };

async function accountsToChain(options: WithChecks): Promise<AccountWork[]> {
  const work = new Map<string, AccountWork>();
  const add = (account: Account, days: readonly BusinessDay[]): void => {
    const key = accountKey(account);
    const known = work.get(key);
    if (known === undefined) work.set(key, { account, days: [...days] });
    else known.days = [...new Set([...known.days, ...days])];
  };
  const { db, accounts, checkOf } = options;
  for (const { account, days } of await changedDays(db, accounts)) add(account, days);
  const restarted = options.known?.hasRestarted === false ? [] : await restartedDays(db, accounts);
  for (const { account, days } of restarted) {
    const joining = await joiningDays({ ...options, account, isCertified: checkOf(account) }, days);
    if (joining.length > 0) add(account, joining);
  }
  for (const { account, days } of await emptyDays([...work.values()], options))
    if (days.length > 0) add(account, days);
  return [...work.values()];
}

/** Of each account asked for, the days that are proven to hold no entry and have no figures yet. */
async function emptyDays(
  work: readonly AccountWork[],
  { db, zone, accounts: asked, checkOf }: WithChecks,
): Promise<readonly AccountWork[]> {
  const accounts = new Map<string, { account: Account; last: BusinessDay | null; changed: BusinessDay[] }>();
  for (const { account, day } of await lastDays(db, asked))
    accounts.set(accountKey(account), { account, last: day, changed: [] });
  for (const { account, days } of work) {
    const known = accounts.get(accountKey(account));
    accounts.set(accountKey(account), { account, last: known?.last ?? null, changed: days });
  }
  const found: AccountWork[] = [];
  for (const { account, last, changed } of accounts.values())
    found.push({
      account,
      days: await daysWithoutEntries({ db, account, zone, isCertified: checkOf(account) }, last, changed),
    });
  return found;
}

const accountKey = ({ merchantNo, currency }: Account): string => JSON.stringify([merchantNo, currency]);
