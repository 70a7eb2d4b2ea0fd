/** Makes the figures of account days whose entries changed, and of the later days that change with them; of no other. */
import { ExpectedError } from '../ledger/ending.ts';
import type { Account, BusinessDay, Figures } from '../ledger/entry.ts';
import type { Currencies } from '../ledger/money.ts';
import type { DayFigures } from '../store/account-days.ts';
import { daysNotChained, noteChained } from '../store/certificates.ts';
import { hintsToChange, merchantsWithBreaks, writeHints } from '../store/breaks/hints.ts';
import { type BreakRow, replaceBreaks } from '../store/breaks/breaks.ts';
import type { QuarantinedReader } from '../ledger/hints/evidence.ts';
import type { Lease } from '../store/engine/lease.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';
import type { ReadAlready } from './account-view.ts';
import { accountsToChain, type AccountWork, type ToChainOptions } from './up-to-date.ts';
import { chainAccount, PASS_MAX, type ChainedAccount, type PassMax } from './chain-account.ts';
import { type Gapless, saveChained, saveChainedUnderLease, type Chained } from '../store/chaining.ts';

export interface ReconcileOptions extends ToChainOptions {
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

export interface FiguresSeen {
  /** For each account, those of the days asked for that hold entries. */
  readonly busy: readonly ReadonlySet<BusinessDay>[];
  /** False if `firstDaysWithBalance` names no account. */
  readonly mayOpenOnBalance: boolean;
}

export interface Reconciled extends ReconcileReport {
  readonly seen: FiguresSeen | null;
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
  if (currencies === null) await noteAllChained(options);
  if (hadBreaks || opened.length > 0) await updateHints(options);
  options.onProgress?.({ accountsDone: work.length, accounts: work.length });
  const seen = currencies === null ? { busy: [...busy.values()], mayOpenOnBalance } : null;
  const begins = work.some(({ read }) => read.last === null);
  return { accounts: work.length, daysChained, daysChanged, opened, healed, seen, begins };
}

/** Days that no account has entries or figures of are chained as well. */
async function noteAllChained({ db, lease, accounts: { merchantNo } }: ReconcileOptions): Promise<void> {
  const days = await daysNotChained(db, merchantNo);
  if (days.length > 0) await writeTransaction(db, lease, (trx) => noteChained(trx, merchantNo, days));
}

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

interface Pass {
  readonly account: Account;
  readonly gapless: Gapless | null;
  readonly changed: readonly BusinessDay[];
  readonly chained: ChainedAccount;
}

type SaveOptions = Pick<ReconcileOptions, 'db' | 'lease' | 'runId' | 'now'> &
  Readonly<{ merchantNo: string; hadBreaks: boolean; passMax: PassMax }>;

type BreaksSaved = Pick<ReconcileReport, 'opened' | 'healed'>;

/** Both functions throw `LeaseLost` or `StoreUnreachable`. */
function createPassSaver(options: SaveOptions) {
  const { passMax } = options;
  const opened: BreakRow[] = [];
  const healed: BreakRow[] = [];
  let kept: Pass[] = [];
  const save = async (): Promise<BreaksSaved> => {
    const passes = kept;
    kept = [];
    if (passes.length > 0) {
      const saved = await savePasses(passes, options, options.hadBreaks || opened.length > 0);
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
 * Saves breaks and the figures that differ, and takes the days off the list of changed ones. Days left for the next pass
 * stay on that list, so that a kill between two passes loses none. Each pass is of another account.
 */
async function savePasses(
  passes: readonly Pass[],
  { db, lease, merchantNo, runId, now }: SaveOptions,
  mayHaveBreaks: boolean,
): Promise<BreaksSaved> {
  if (!mayHaveBreaks && passes.every(({ chained }) => chained.breaks.length === 0)) {
    await saveChainedUnderLease(db, lease, merchantNo, chainedBy(passes));
    return NO_BREAKS;
  }
  const foundAt = now();
  return writeTransaction(db, lease, async (trx) => {
    const opened: BreakRow[] = [];
    const healed: BreakRow[] = [];
    const touched = new Map<Pass, readonly BusinessDay[]>();
    for (const pass of passes) {
      const { account, chained } = pass;
      if (!mayHaveBreaks && chained.breaks.length === 0) continue;
      const days = chained.days.map(({ figures }) => figures.day);
      const breaks = await replaceBreaks(trx, account, days, chained.breaks, { runId, now: foundAt });
      opened.push(...breaks.opened);
      healed.push(...breaks.healed);
      const changed = [...breaks.opened, ...breaks.healed, ...breaks.resolved];
      touched.set(
        pass,
        changed.map(({ day }) => day),
      );
    }
    await saveChained(trx, merchantNo, chainedBy(passes, touched));
    return { opened, healed };
  });
}

const NO_BREAKS: BreaksSaved = { opened: [], healed: [] };

function chainedBy(
  passes: readonly Pass[],
  broken: ReadonlyMap<Pass, readonly BusinessDay[]> = new Map<Pass, readonly BusinessDay[]>(),
): Chained {
  const daysOf = (chosen: (pass: Pass) => readonly BusinessDay[]) =>
    passes.flatMap((pass) => chosen(pass).map((day) => ({ currency: pass.account.currency, day })));
  return {
    figures: passes.flatMap((pass) => {
      const touched = new Set(broken.get(pass) ?? []);
      const changed = new Set(pass.changed);
      return pass.chained.days
        .filter(({ figures, differs }) => differs || touched.has(figures.day) || changed.has(figures.day))
        .map(({ figures, differs }) => ({ ...figures, isSame: !differs && !touched.has(figures.day) }));
    }),
    done: daysOf(({ changed, chained }) => changed.filter((day) => !chained.left.includes(day))),
    left: daysOf(({ chained }) => chained.left),
    gapless: passes.flatMap(({ account: { currency }, gapless }) =>
      gapless === null ? [] : [{ currency, ...gapless }],
    ),
  };
}
