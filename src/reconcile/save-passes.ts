/** Saves what passes over a merchant's accounts made, in one transaction. */
import type { Kysely } from 'kysely';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import { replaceBreaks, type BreakRow } from '../store/breaks/breaks.ts';
import type { Lease } from '../store/engine/lease.ts';
import type { DB } from '../store/engine/schema.ts';
import type { Gapless } from '../store/days-to-chain.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';
import { saveChained, saveChainedUnderLease, type Chained } from '../store/save-chained.ts';
import type { ChainedAccount, PassMax } from './chain-account.ts';

export interface Pass {
  readonly account: Account;
  /** Where the account's days with figures had no gap before the pass. */
  readonly gapless: Gapless | null;
  /** The days that it was to chain. */
  readonly changed: readonly BusinessDay[];
  readonly chained: ChainedAccount;
}

export interface SaveOptions {
  readonly db: Kysely<DB>;
  readonly lease: Lease;
  readonly merchantNo: string;
  readonly runId: number;
  readonly now: () => Date;
  /** False if the merchant had no break that is not healed. */
  readonly hadBreaks: boolean;
  readonly passMax: PassMax;
}

interface BreaksSaved {
  readonly opened: readonly BreakRow[];
  readonly healed: readonly BreakRow[];
}

export interface PassSaver {
  /** Keeps a pass, to be saved with others. Saves all of them if days are left for the account's next pass, or if they are many. */
  readonly take: (pass: Pass) => Promise<void>;
  /** Saves what is kept. Returns the breaks of all passes. */
  readonly save: () => Promise<BreaksSaved>;
}

/** Both functions throw `LeaseLost` or `StoreUnreachable`. */
export function createPassSaver(options: SaveOptions): PassSaver {
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
      const isUnbroken = !mayHaveBreaks && chained.breaks.length === 0;
      const days = chained.days.map(({ figures }) => figures.day);
      const breaks = isUnbroken
        ? { ...NO_BREAKS, resolved: [] }
        : await replaceBreaks(trx, account, days, chained.breaks, { runId, now: foundAt });
      opened.push(...breaks.opened);
      healed.push(...breaks.healed);
      touched.set(
        pass,
        [...breaks.opened, ...breaks.healed, ...breaks.resolved].map(({ day }) => day),
      );
    }
    await saveChained(trx, merchantNo, chainedBy(passes, touched));
    return { opened, healed };
  });
}

const NO_BREAKS: BreaksSaved = { opened: [], healed: [] };

/** What is to be saved of the passes. `broken`: the days whose breaks changed. */
function chainedBy(
  passes: readonly Pass[],
  broken: ReadonlyMap<Pass, readonly BusinessDay[]> = new Map<Pass, readonly BusinessDay[]>(),
): Chained {
  const of = ({ account: { currency } }: Pass, days: readonly BusinessDay[]) =>
    days.map((day) => ({ currency, day }));
  return {
    figures: passes.flatMap((pass) => {
      const touched = new Set([...pass.changed, ...(broken.get(pass) ?? [])]);
      return pass.chained.days
        .filter(({ figures, differs }) => differs || touched.has(figures.day))
        .map(({ figures }) => figures);
    }),
    done: passes.flatMap((pass) =>
      of(
        pass,
        pass.changed.filter((day) => !pass.chained.left.includes(day)),
      ),
    ),
    left: passes.flatMap((pass) => of(pass, pass.chained.left)),
    gapless: passes.flatMap(({ account: { currency }, gapless }) =>
      gapless === null ? [] : [{ currency, ...gapless }],
    ),
  };
}
