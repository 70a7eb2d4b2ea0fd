/**
 * Tells whether what is read is the merchant's own ledger, account by account. A platform that answers a call with a ledger
 * that is not read here shows none of the stored entries, and nothing but new ones. So what is read of an account waits until
 * a stored entry of it is shown; if none is, nothing of it is believed.
 *
 * Where nothing is stored of the days that are read, the newest stored entries before them are asked for, unless what came
 * goes on from their balance.
 */
import type { Kysely } from 'kysely';
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import type { LedgerEntry } from '../ledger/entry.ts';
import { addAmounts, compareAmounts, subtractAmounts } from '../ledger/money.ts';
import { counted } from '../ledger/text.ts';
import type { LedgerPage } from '../platform/ledger-reader.ts';
import { acceptedAmong } from '../store/absent-entries.ts';
import type { Compared } from '../store/compare-with-stored.ts';
import type { DB } from '../store/engine/schema.ts';
import { entriesByNumber, newestBefore, windowsHolding } from '../store/entries.ts';
import type { Asked } from './certificate.ts';

/** Fewer entries than this may go and come anew in an honest ledger. */
const LACKING_MIN = 3;
/** Entries of an account that are compared with the stored ones, and stored entries that they are compared with. */
const SHOWN_COMPARED_MAX = 200;
const LACKING_COMPARED_MAX = 2_000;
/** Stored entries of older days that are asked for; they fit on one page. */
const OLDER_ASKED_MAX = 20;

/** None of the stored entries was shown, and all that was shown is new. Nothing of it was written. */
export class AnotherLedgerAnswered extends ExpectedError {
  override readonly name = 'AnotherLedgerAnswered';
  readonly exitCode = EXIT.incomplete;
  readonly entries: readonly LedgerEntry[];

  /** `account`: the currency if only one account of the merchant was answered so. */
  constructor(shown: readonly LedgerEntry[], lacking: number, account: string | null) {
    const { batchNo, currency, bookedAt } = shown[0]!;
    super(
      `the platform answered with another ledger${account === null ? '' : ` for ${account}`}: none of ` +
        `${counted(lacking, 'stored entry', 'stored entries')} of these days ` +
        `was shown, and all of ${counted(shown.length, 'entry', 'entries')} that came ${shown.length === 1 ? 'is' : 'are'} new, ` +
        `such as ${batchNo}, booked ${bookedAt} in ${currency}. Nothing of it was written, and no statement follows it. Check ` +
        "PLATFORM_HEADERS (does each call say whose it is?) and the merchant's token, and ask the platform. If it booked " +
        'the ledger anew, `daybook amendments accept` says so.',
    );
    this.entries = shown.slice(0, SHOWN_COMPARED_MAX);
  }
}

/** `own`: a stored entry is among them. `other`: stored entries are missing, and all that came is new. */
type Sight = 'own' | 'other' | 'unknown';

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
  readonly olderLacking: () => readonly Asked[];
}

export interface OwnLedgerOptions {
  readonly db: Kysely<DB>;
  readonly merchantNo: string;
  readonly planned: readonly Asked[];
  /** The first page of a window; null if the platform refuses it. */
  readonly readOlder: (asked: Asked) => Promise<LedgerPage | null>;
}

interface Seen {
  readonly shown: Map<string, LedgerEntry>;
  readonly lacking: Set<string>;
}

const WHOLE = '';

export function createOwnLedger(options: OwnLedgerOptions): OwnLedger {
  const stored = createStored(options);
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
    return new AnotherLedgerAnswered([...shown.values()], lacking.size, account === WHOLE ? null : account);
  };
  const accounts = (): string[] => [...seen.keys()].filter((one) => one !== WHOLE);
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
      note(WHOLE, shown, sight === 'other' ? lacking : []);
      if (sight === 'own') for (const { currency } of shown) own.add(currency);
      return isOneOther ? 'other' : sight;
    },
    problem: () => {
      if (own.size > 0) {
        const first = accounts().find(isOther);
        return first === undefined ? null : problemOf(first);
      }
      const all = [...seen.values()].flatMap(({ lacking }) => [...lacking]);
      const shown = seen.get(WHOLE)?.shown ?? new Map<string, LedgerEntry>();
      return all.length === 0
        ? null
        : new AnotherLedgerAnswered([...shown.values()], new Set(all).size, null);
    },
    others: () => others ?? new Map(),
  };
}

/** What of the entries that came, and of those that did not, is stored; by number. */
interface Known {
  readonly isStored: (entry: LedgerEntry) => boolean;
  /** Stored entries that did not come. */
  readonly lacking: readonly LedgerEntry[];
}

interface Seeing {
  readonly sight: Sight;
  /** Numbers of stored entries that were not shown. */
  readonly lacking: readonly string[];
}

const UNKNOWN: Seeing = { sight: 'unknown', lacking: [] };
const OWN: Seeing = { sight: 'own', lacking: [] };

function createStored({ db, merchantNo, planned, readOlder }: OwnLedgerOptions) {
  const remembered = new Map<string, Promise<unknown>>();
  const once = <Found>(key: string, find: () => Promise<Found>): Promise<Found> => {
    const found = (remembered.get(key) as Promise<Found> | undefined) ?? find();
    remembered.set(key, found);
    return found;
  };
  const beforeMs = Math.min(...planned.map(({ window }) => window.beginMs));
  const olderLacking: Asked[] = [];

  const holds = (currency: string | null = null): Promise<boolean> =>
    once(`holds ${currency}`, async () => {
      const about = planned.filter((one) => currency === null || (one.currency ?? currency) === currency);
      const asked = about.map((one) => ({ window: one.window, currency: currency ?? one.currency }));
      return (await windowsHolding(db, merchantNo, asked)).length > 0;
    });
  const older = (currency: string | null): Promise<LedgerEntry[]> =>
    once(`older ${currency}`, () => newestBefore(db, { merchantNo, currency }, beforeMs, OLDER_ASKED_MAX));

  /** Whether the newest stored entries before these days are shown. */
  const sightOfOlder = (currency: string | null, missing: readonly string[]): Promise<Seeing> =>
    once(`sight ${currency} ${missing.length}`, async () => {
      const entries = await older(currency);
      if (entries.length === 0) return UNKNOWN;
      const window = { beginMs: entries.at(-1)!.bookedMs, endMs: entries[0]!.bookedMs + 999 };
      const page = await readOlder({ window, currency });
      if (page === null) return UNKNOWN;
      const numbers = new Set(entries.map(({ batchNo }) => batchNo));
      const contents = new Set(entries.map(contentOf));
      const isShown =
        page.unreadable.some(({ batchNo }) => batchNo !== null && numbers.has(batchNo)) ||
        page.entries.some((entry) => numbers.has(entry.batchNo) || contents.has(contentOf(entry)));
      if (isShown) return OWN;
      const lacking = [...missing, ...numbers];
      if (lacking.length < LACKING_MIN) return UNKNOWN;
      if ((await acceptedAmong(db, merchantNo, lacking)) > 0) return OWN;
      olderLacking.push({ window, currency });
      return { sight: 'other', lacking };
    });

  const sightBy = async (came: readonly LedgerEntry[], lacking: readonly LedgerEntry[]): Promise<Seeing> => {
    const missing = lacking.map(({ batchNo }) => batchNo);
    if (missing.length > 0 && (await acceptedAmong(db, merchantNo, missing)) > 0) return OWN;
    if (missing.length < LACKING_MIN) return UNKNOWN;
    const newestMs = Math.max(...lacking.map(({ bookedMs }) => bookedMs));
    // Where nothing of the older days is shown at all, these are gone, and what is newer may well be the merchant's own.
    const isLater = came.every(({ bookedMs }) => bookedMs > newestMs);
    return isLater && goesOn(lacking, came) ? UNKNOWN : { sight: 'other', lacking: missing };
  };

  return {
    holds: () => holds(),
    mayTell: async () => (await holds()) || (await older(null)).length > 0,
    olderLacking: () => olderLacking,
    /** Of these accounts, those of which nothing is stored. */
    withoutPast: async (currencies: readonly string[]): Promise<string[]> => {
      const without: string[] = [];
      for (const one of currencies)
        if (!(await holds(one)) && (await older(one)).length === 0) without.push(one);
      return without;
    },
    known: async (compared: readonly Compared[], isOwn: (currency: string) => boolean): Promise<Known> => {
      const unstored = new Set(compared.flatMap((one) => one.unstored.entries.map(({ batchNo }) => batchNo)));
      const shown = compared.flatMap(({ part }) => part.reading.entries);
      const open = shown.filter(({ currency }) => !isOwn(currency));
      const isClear = (came: readonly LedgerEntry[]) => came.some(({ batchNo }) => !unstored.has(batchNo));
      const byCurrency = [...Map.groupBy(open, ({ currency }) => currency).values()];
      if (byCurrency.every(isClear))
        return { isStored: ({ batchNo }) => !unstored.has(batchNo), lacking: [] };
      const asked = byCurrency.flatMap((came) => came.slice(0, SHOWN_COMPARED_MAX));
      const lackingNos = compared.flatMap((one) => one.unstored.lacking).slice(0, LACKING_COMPARED_MAX);
      const known = await entriesByNumber(db, merchantNo, [
        ...asked.map(({ batchNo }) => batchNo),
        ...lackingNos,
      ]);
      // A ledger that was renumbered has the same entries.
      const contents = new Set([...known.values()].map(contentOf));
      return {
        isStored: (entry) =>
          !unstored.has(entry.batchNo) || known.has(entry.batchNo) || contents.has(contentOf(entry)),
        lacking: lackingNos.flatMap((one) => known.get(one) ?? []),
      };
    },
    sightOf: async (currency: string, came: readonly LedgerEntry[], known: Known): Promise<Seeing> => {
      if (came.some(known.isStored)) return OWN;
      const lacking = known.lacking.filter((one) => one.currency === currency);
      const { sight, lacking: missing } = await sightBy(came, lacking);
      if (sight !== 'unknown') return { sight, lacking: missing };
      if (lacking.length >= LACKING_MIN || (lacking.length === 0 && (await holds(currency)))) return UNKNOWN;
      const before = await older(currency);
      if (before.length === 0) return UNKNOWN;
      if (lacking.length === 0 && goesOn(before, came)) return OWN;
      const seen = await sightOfOlder(
        currency,
        lacking.map(({ batchNo }) => batchNo),
      );
      return seen.sight === 'unknown' && lacking.length === 0 ? OWN : seen;
    },
    /** Of all accounts together, where none is known. */
    sightOfAll: async (came: readonly LedgerEntry[], known: Known): Promise<Seeing> => {
      const { sight, lacking } = await sightBy(came, known.lacking);
      if (sight !== 'unknown' || known.lacking.length > 0 || (await holds())) return { sight, lacking };
      const seen = await sightOfOlder(null, []);
      return seen.sight === 'unknown' ? OWN : seen;
    },
  };
}

/** Whether, of an account, the first of the entries that came goes on from the balance of the newest ones before. */
function goesOn(before: readonly LedgerEntry[], came: readonly LedgerEntry[]): boolean {
  const accounts = Map.groupBy(before, ({ currency }) => currency);
  return [...accounts].some(([currency, own]) => {
    const theirs = came.filter((one) => one.currency === currency);
    return theirs.length > 0 && firstGoesOn(own, theirs);
  });
}

function firstGoesOn(before: readonly LedgerEntry[], came: readonly LedgerEntry[]): boolean {
  const newestMs = Math.max(...before.map(({ bookedMs }) => bookedMs));
  const firstMs = Math.min(...came.map(({ bookedMs }) => bookedMs));
  const closings = before.filter(({ bookedMs }) => bookedMs === newestMs);
  return came
    .filter(({ bookedMs }) => bookedMs === firstMs)
    .some((entry) => closings.some((one) => compareAmounts(one.balance, openingOf(entry)) === 0));
}

const openingOf = ({ balance, credit, debit }: LedgerEntry): string =>
  addAmounts(subtractAmounts(balance, credit ?? '0'), debit ?? '0');

const contentOf = ({ currency, credit, debit, balance, bookedAt }: LedgerEntry): string =>
  JSON.stringify(
    [currency, credit, debit, balance, bookedAt].map((value) => (value === null ? null : plain(value))),
  );

/** Amounts may be spelt with or without zeros at their end. */
const plain = (value: string): string => (/^-?\d+\.\d*0+$/.test(value) ? value.replace(/\.?0+$/, '') : value);
