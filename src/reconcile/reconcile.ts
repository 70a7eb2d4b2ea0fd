/** Makes the figures of a merchant's days that are out of date, and of the days that change with them; of no other. */
import type { Kysely } from 'kysely';
import { type AccountFilter, accountsOf, type MerchantAccounts } from '../ledger/account-filter.ts';
import { dayBefore } from '../ledger/business-day.ts';
import { ExpectedError } from '../ledger/ending.ts';
import type { Account, BusinessDay, Figures } from '../ledger/entry.ts';
import type { Currencies } from '../ledger/money.ts';
import { daysNotChained, noteChained, type DayNotChained } from '../store/certificates.ts';
import { hintsToChange, merchantsWithBreaks, writeHints } from '../store/breaks/hints.ts';
import { type BreakRow, replaceBreaks } from '../store/breaks/breaks.ts';
import type { QuarantinedReader } from '../ledger/hints/evidence.ts';
import type { Lease } from '../store/engine/lease.ts';
import type { DB } from '../store/engine/schema.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';
import { chainFacts, type CertifiedDays } from '../store/chain-facts.ts';
import { adoptedFigures, saveChained } from '../store/chaining.ts';
import { chainAccount, PASS_MAX, type ChainedAccount, type PassMax } from './chain-account.ts';
import { daysOutOfDate } from './up-to-date.ts';

export interface ReconcileOptions {
  readonly db: Kysely<DB>;
  readonly zone: string;
  readonly accounts: MerchantAccounts;
  readonly known?: { readonly hasBreaks: boolean };
  readonly lease: Lease;
  readonly clockToleranceS: number;
  readonly currencies: Currencies;
  /** Reads the amounts that an unreadable entry's raw text may mean. Without it, none are read. */
  readonly readQuarantined?: QuarantinedReader;
  readonly passMax?: PassMax;
  readonly runId: number;
  readonly now: () => Date;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: { readonly accountsDone: number; readonly accounts: number }) => void;
}

export interface DayChange {
  readonly account: Account;
  readonly day: BusinessDay;
  readonly oldClosing: string | null;
  readonly newClosing: string;
  readonly entries: number;
  readonly before: SeenFigures | null;
  readonly after: SeenFigures;
}

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

export interface Reconciled extends ReconcileReport {
  /** Whether an account got its first figures. */
  readonly begins: boolean;
}

/**
 * Chains every account that has days out of date. Figures and breaks are saved in one transaction, or in several where there are
 * very many days. Where nothing changed, nothing is written. Throws `LeaseLost`, `StoreUnreachable`, or the signal's reason.
 */
export async function reconcileAccounts(options: ReconcileOptions): Promise<Reconciled> {
  const { db, known, passMax = PASS_MAX, signal, zone } = options;
  const { merchantNo, currencies } = options.accounts;
  const accounts = await flaggedDays(db, accountsOf(merchantNo, currencies), zone);
  const flagged = currencies === null ? await daysNotChained(db, merchantNo) : [];
  const hadBreaks = known?.hasBreaks !== false;
  const { take, save } = createPassSaver({ ...options, merchantNo, flagged, hadBreaks, passMax });
  let daysChained = 0;
  const daysChanged: DayChange[] = [];
  try {
    for (const [index, own] of accounts.entries()) {
      options.onProgress?.({ accountsDone: index, accounts: accounts.length });
      await chainInPasses(own, options, async (pass) => {
        await take(pass);
        daysChained += pass.chained.days.length;
        daysChanged.push(...changesIn(pass.chained, pass.account));
      });
    }
  } catch (error) {
    // An account that cannot be chained keeps none of the others from being saved.
    if (!(error instanceof ExpectedError) && !signal.aborted) await save();
    throw error;
  }
  const { opened, healed } = await save(flagged.map(({ day }) => day));
  if (hadBreaks || opened.length > 0) await updateHints(options);
  options.onProgress?.({ accountsDone: accounts.length, accounts: accounts.length });
  const begins = accounts.some(({ begun }) => begun === null);
  return { accounts: accounts.length, daysChained, daysChanged, opened, healed, begins };
}

interface FlaggedAccount {
  readonly account: Account;
  readonly days: readonly BusinessDay[];
  readonly begun: BusinessDay | null;
  readonly certified: CertifiedDays;
}

/** The accounts with days that are to be chained, and these days. */
async function flaggedDays(db: Kysely<DB>, accounts: AccountFilter, zone: string): Promise<FlaggedAccount[]> {
  return (await chainFacts(db, accounts, zone))
    .map((facts) => {
      const { merchantNo, currency, begun, certified } = facts;
      return { account: { merchantNo, currency }, days: daysOutOfDate(facts, zone), begun, certified };
    })
    .filter(({ days }) => days.length > 0);
}

async function chainInPasses(
  { account, days, certified }: FlaggedAccount,
  options: ReconcileOptions,
  take: (pass: Pass) => Promise<void>,
): Promise<void> {
  const daysBefore = days.map((day) => dayBefore(day, options.zone));
  const adopted = await adoptedFigures(options.db, account, [...days, ...daysBefore]);
  let waiting = days;
  while (waiting.length > 0) {
    options.signal.throwIfAborted();
    const chained = await chainAccount({ ...options, account, certified, adopted, days: waiting });
    await take({ account, days: waiting, chained });
    waiting = chained.left;
  }
}

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

interface Pass {
  readonly account: Account;
  /** The days that were out of date when it began. */
  readonly days: readonly BusinessDay[];
  readonly chained: ChainedAccount;
}

type SaveOptions = Pick<ReconcileOptions, 'db' | 'lease' | 'runId' | 'now'> &
  Readonly<{ merchantNo: string; flagged: readonly DayNotChained[]; hadBreaks: boolean; passMax: PassMax }>;

type BreaksSaved = Pick<ReconcileReport, 'opened' | 'healed'>;

/** Both functions throw `LeaseLost` or `StoreUnreachable`. */
function createPassSaver(options: SaveOptions) {
  const { passMax } = options;
  const opened: BreakRow[] = [];
  const healed: BreakRow[] = [];
  let kept: Pass[] = [];
  /** With the last of them, the days of the merchant are chained, also those that no account has entries or figures of. */
  const save = async (chained: readonly BusinessDay[] = []): Promise<BreaksSaved> => {
    const passes = kept;
    kept = [];
    if (passes.length > 0 || chained.length > 0) {
      const saved = await savePasses(passes, options, {
        mayHaveBreaks: options.hadBreaks || opened.length > 0,
        chained,
      });
      opened.push(...saved.opened);
      healed.push(...saved.healed);
    }
    return { opened, healed };
  };
  const count = (of: (chained: ChainedAccount) => readonly unknown[]): number =>
    kept.reduce((sum, { chained }) => sum + of(chained).length, 0);
  /** Keeps a pass, to be saved with others. Saves all if days are left for the account's next pass, or if they are many. */
  const take = async (pass: Pass): Promise<void> => {
    kept.push(pass);
    const isMuch =
      count(({ days }) => days) >= passMax.days || count(({ breaks }) => breaks) >= passMax.breaks;
    if (isMuch || pass.chained.left.length > 0) await save();
  };
  return { take, save };
}

/**
 * Saves breaks and the figures that differ, or whose entries changed. Until all is saved, no day counts as chained, so that a
 * kill between two passes loses none. Each pass is of another account.
 */
function savePasses(
  passes: readonly Pass[],
  { db, lease, merchantNo, flagged, runId, now }: SaveOptions,
  { mayHaveBreaks, chained: allChained }: { mayHaveBreaks: boolean; chained: readonly BusinessDay[] },
): Promise<BreaksSaved> {
  const foundAt = now();
  const changed = new Set(flagged.filter(({ hasOtherEntries }) => hasOtherEntries).map(({ day }) => day));
  return writeTransaction(db, lease, async (trx) => {
    const saved: { opened: BreakRow[]; healed: BreakRow[] } = { opened: [], healed: [] };
    for (const { account, days, chained } of passes) {
      const touched = new Set(days.filter((day) => changed.has(day)));
      const doneDays = days.filter((day) => !chained.left.includes(day));
      if (mayHaveBreaks || chained.breaks.length > 0) {
        const chainedDays = chained.days.map(({ figures }) => figures.day);
        const context = { runId, now: foundAt };
        const { opened, healed, resolved } = await replaceBreaks(
          trx,
          account,
          chainedDays,
          chained.breaks,
          context,
        );
        saved.opened.push(...opened);
        saved.healed.push(...healed);
        for (const { day } of [...opened, ...healed, ...resolved]) touched.add(day);
      }
      await saveChained(trx, account, {
        figures: chained.days
          .filter(({ figures, differs }) => differs || touched.has(figures.day))
          .map(({ figures }) => figures),
        done: doneDays,
      });
    }
    await noteChained(trx, merchantNo, allChained);
    return saved;
  });
}
