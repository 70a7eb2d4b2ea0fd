/**
 * Tells whether what is read is the merchant's own ledger, account by account. A platform that answers a call with a ledger
 * that is not read here shows none of the stored entries, and nothing but new ones. So what is read of an account waits until
 * a stored entry of it is shown; if none is, nothing of it is believed.
 *
 * Where nothing is stored of the days that are read, the newest stored entries before them are asked for, unless what came
 * goes on from their balance.
 */
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import type { LedgerEntry } from '../ledger/entry.ts';
import { counted } from '../ledger/text.ts';
import type { Compared } from '../store/compare-with-stored.ts';
import type { AccountAsked } from './page-source.ts';
import {
  createLedgerSight,
  SHOWN_COMPARED_MAX,
  UNKNOWN,
  type OwnLedgerOptions,
  type Sight,
} from './ledger-sight.ts';

/** None of the stored entries was shown, and all that was shown is new. Nothing of it was written. */
export class AnotherLedgerAnswered extends ExpectedError {
  override readonly name = 'AnotherLedgerAnswered';
  readonly exitCode = EXIT.incomplete;
  readonly entries: readonly LedgerEntry[];

  /** `account`: the currency if only one account of the merchant was answered so. */
  constructor(came: Iterable<LedgerEntry>, lacking: number, account: string | null) {
    // Calls are answered in any order; what is named must not depend on that.
    const shown = [...came].sort((a, b) => a.bookedMs - b.bookedMs || (a.batchNo < b.batchNo ? -1 : 1));
    const { batchNo, currency, bookedAt } = shown[0]!;
    super(
      `the platform answered with another ledger${account === null ? '' : ` for ${account}`}: none of ` +
        `${counted(lacking, 'stored entry', 'stored entries')} of these days ` +
        `was shown, and all of ${counted(shown.length, 'entry', 'entries')} that came ${shown.length === 1 ? 'is' : 'are'} new, ` +
        `such as ${batchNo}, booked ${bookedAt} in ${currency}. Nothing of it was written, and no statement follows it. Check ` +
        "PLATFORM_HEADERS (does each call say whose it is?) and the merchant's token, and ask the platform. If it booked " +
        'the ledger anew, `daybook amendments accept --merchant NO --note TEXT` says so.',
    );
    this.entries = shown.slice(0, SHOWN_COMPARED_MAX);
  }
}

export interface OwnLedger {
  /** Whether all of these entries are of accounts that are the merchant's own. */
  readonly knows: (entries: readonly LedgerEntry[]) => boolean;
  /** Whether an account is known to be the merchant's own. */
  readonly isKnown: () => boolean;
  readonly isSettled: () => boolean;
  /** From now on everything counts as the merchant's own, except accounts of which another ledger was answered until now. */
  readonly settle: () => void;
  /** Whether anything is stored of these days. Of several calls, only the first one asks. */
  readonly holds: () => Promise<boolean>;
  /** Whether anything is stored that a reading could show, or could go on from. */
  readonly mayTell: () => Promise<boolean>;
  readonly examine: (compared: readonly Compared[]) => Promise<Sight>;
  /** Null if no reading lacked stored entries and showed new ones alone. */
  readonly problem: () => AnotherLedgerAnswered | null;
  /** The accounts that another ledger was answered for, once all is settled, by currency. */
  readonly others: () => ReadonlyMap<string, AnotherLedgerAnswered>;
  /** Windows before the days that are read of which stored entries were not shown. */
  readonly olderLacking: () => readonly AccountAsked[];
}

interface Seen {
  readonly shown: Map<string, LedgerEntry>;
  readonly lacking: Set<string>;
}

/** Stands for all accounts together. */
const ALL = '';

export function createOwnLedger(options: OwnLedgerOptions): OwnLedger {
  const stored = createLedgerSight(options);
  const own = new Set<string>();
  const seen = new Map<string, Seen>();
  let others: Map<string, AnotherLedgerAnswered> | null = null;
  const note = (account: string, shown: readonly LedgerEntry[], lacking: readonly string[]): void => {
    const known = seen.get(account) ?? { shown: new Map(), lacking: new Set() };
    seen.set(account, known);
    for (const entry of shown) known.shown.set(entry.batchNo, entry);
    for (const one of lacking) known.lacking.add(one);
  };
  const isOther = (account: string): boolean =>
    !own.has(account) && (seen.get(account)?.lacking.size ?? 0) > 0;
  const problemOf = (account: string): AnotherLedgerAnswered => {
    const { shown, lacking } = seen.get(account)!;
    return new AnotherLedgerAnswered(shown.values(), lacking.size, account === ALL ? null : account);
  };
  const accounts = (): string[] => [...seen.keys()].filter((one) => one !== ALL);
  return {
    knows: (entries) =>
      others !== null || (own.size > 0 && entries.every(({ currency }) => own.has(currency))),
    isKnown: () => others !== null || own.size > 0,
    isSettled: () => others !== null,
    settle: () => {
      others ??= new Map(
        accounts()
          .filter(isOther)
          .map((one) => [one, problemOf(one)]),
      );
    },
    ...stored,
    examine: async (compared) => {
      const shown = compared.flatMap(({ part }) => part.reading.entries);
      if (shown.length === 0) return 'unknown';
      const known = await stored.known(compared, (currency) => own.has(currency));
      const sights: Sight[] = [];
      for (const [currency, came] of Map.groupBy(shown, (entry) => entry.currency)) {
        if (own.has(currency)) continue;
        const { sight, lacking } = await stored.sightOf(currency, came, known);
        if (sight === 'own') own.add(currency);
        if (sight !== 'own') note(currency, came, sight === 'other' ? lacking : []);
        sights.push(sight);
      }
      if (own.size > 0) {
        for (const one of await stored.withoutPast(accounts())) own.add(one);
        return sights.includes('other') ? 'other' : 'own';
      }
      const isOneOther = sights.includes('other');
      const { sight, lacking } = isOneOther ? UNKNOWN : await stored.sightOfAll(shown, known);
      note(ALL, shown, sight === 'other' ? lacking : []);
      if (sight === 'own') for (const { currency } of shown) own.add(currency);
      return isOneOther ? 'other' : sight;
    },
    problem: () => {
      if (own.size > 0) {
        const first = accounts().find(isOther);
        return first === undefined ? null : problemOf(first);
      }
      const all = [...seen.values()].flatMap(({ lacking }) => [...lacking]);
      const shown = seen.get(ALL)?.shown ?? new Map<string, LedgerEntry>();
      return all.length === 0 ? null : new AnotherLedgerAnswered(shown.values(), new Set(all).size, null);
    },
    others: () => others ?? new Map(),
  };
}
