/** Whether what came of an account is its own ledger, by what is stored of the days that are read and of the days before. */
import type { Kysely } from 'kysely';
import type { LedgerEntry } from '../ledger/entry.ts';
import { addAmounts, compareAmounts, subtractAmounts } from '../ledger/money.ts';
import type { LedgerPage } from '../platform/ledger-reader.ts';
import { acceptedAmong } from '../store/absent-entries.ts';
import type { Compared } from '../store/compare-with-stored.ts';
import type { DB } from '../store/engine/schema.ts';
import { entriesByNumber, newestEntriesIn, windowsHolding } from '../store/entries.ts';
import type { Asked } from './certificate.ts';
import type { AccountAsked } from './page-source.ts';

/** Fewer entries than this may go and come anew in an honest ledger. */
const LACKING_MIN = 3;
/** Entries of an account that are compared with the stored ones, and stored entries that they are compared with. */
export const SHOWN_COMPARED_MAX = 200;
const LACKING_COMPARED_MAX = 2_000;
/** Stored entries of older days that are asked for; they fit on one page. */
const OLDER_ASKED_MAX = 20;

export interface OwnLedgerOptions {
  readonly db: Kysely<DB>;
  readonly merchantNo: string;
  readonly planned: readonly Asked[];
  /** The first page of a window; null if the platform refuses it. */
  readonly readOlder: (asked: AccountAsked) => Promise<LedgerPage | null>;
}

/** `own`: a stored entry is among them. `other`: stored entries are missing, and all that came is new. */
export type Sight = 'own' | 'other' | 'unknown';

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

export const UNKNOWN: Seeing = { sight: 'unknown', lacking: [] };
const OWN: Seeing = { sight: 'own', lacking: [] };

export function createLedgerSight(options: OwnLedgerOptions) {
  const { db, merchantNo, planned } = options;
  const about = { db, merchantNo };
  const remembered = new Map<string, Promise<unknown>>();
  const once = <Found>(key: string, find: () => Promise<Found>): Promise<Found> => {
    const found = (remembered.get(key) as Promise<Found> | undefined) ?? find();
    remembered.set(key, found);
    return found;
  };
  const beforeMs = Math.min(...planned.map(({ window }) => window.beginMs));
  const olderLacking: AccountAsked[] = [];

  const holds = (currency: string | null = null): Promise<boolean> =>
    once(`holds ${currency}`, async () => {
      const asked = planned.map(({ window }) => ({ window, currency }));
      return (await windowsHolding(db, merchantNo, asked)).length > 0;
    });
  const older = (currency: string | null): Promise<LedgerEntry[]> =>
    once(`older ${currency}`, () =>
      newestEntriesIn(db, { merchantNo, currency }, { beginMs: 0, endMs: beforeMs - 1 }, OLDER_ASKED_MAX),
    );

  /** Whether the newest stored entries before these days are shown. */
  const sightOfOlder = (currency: string | null, missing: readonly string[]): Promise<Seeing> =>
    once(`sight ${currency} ${missing.length}`, async () => {
      const { asked, ...seeing } = await seenOf(options, {
        currency,
        missing,
        entries: await older(currency),
      });
      if (seeing.sight === 'other') olderLacking.push(asked);
      return seeing;
    });

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
    known: (compared: readonly Compared[], isOwn: (currency: string) => boolean): Promise<Known> =>
      knownOf(about, compared, isOwn),
    sightOf: async (currency: string, came: readonly LedgerEntry[], known: Known): Promise<Seeing> => {
      if (came.some(known.isStored)) return OWN;
      const lacking = known.lacking.filter((one) => one.currency === currency);
      const { sight, lacking: missing } = await sightBy(about, came, lacking);
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
      const { sight, lacking } = await sightBy(about, came, known.lacking);
      if (sight !== 'unknown' || known.lacking.length > 0 || (await holds())) return { sight, lacking };
      const seen = await sightOfOlder(null, []);
      return seen.sight === 'unknown' ? OWN : seen;
    },
  };
}

async function seenOf(
  { db, merchantNo, readOlder }: OwnLedgerOptions,
  {
    currency,
    missing,
    entries,
  }: {
    readonly currency: string | null;
    readonly missing: readonly string[];
    readonly entries: readonly LedgerEntry[];
  },
): Promise<Seeing & { readonly asked: AccountAsked }> {
  const window = { beginMs: entries.at(-1)?.bookedMs ?? 0, endMs: (entries[0]?.bookedMs ?? 0) + 999 };
  const asked = { window, currency };
  const page = entries.length === 0 ? null : await readOlder(asked);
  if (page === null) return { ...UNKNOWN, asked };
  const numbers = new Set(entries.map(({ batchNo }) => batchNo));
  const contents = new Set(entries.map(contentOf));
  const isShown =
    page.unreadable.some(({ batchNo }) => batchNo !== null && numbers.has(batchNo)) ||
    page.entries.some((entry) => numbers.has(entry.batchNo) || contents.has(contentOf(entry)));
  if (isShown) return { ...OWN, asked };
  const lacking = [...missing, ...numbers];
  if (lacking.length < LACKING_MIN) return { ...UNKNOWN, asked };
  const isAccepted = (await acceptedAmong(db, merchantNo, lacking)) > 0;
  return isAccepted ? { ...OWN, asked } : { sight: 'other', lacking, asked };
}

async function sightBy(
  { db, merchantNo }: Pick<OwnLedgerOptions, 'db' | 'merchantNo'>,
  came: readonly LedgerEntry[],
  lacking: readonly LedgerEntry[],
): Promise<Seeing> {
  const missing = lacking.map(({ batchNo }) => batchNo);
  if (missing.length > 0 && (await acceptedAmong(db, merchantNo, missing)) > 0) return OWN;
  if (missing.length < LACKING_MIN) return UNKNOWN;
  const newestMs = Math.max(...lacking.map(({ bookedMs }) => bookedMs));
  // Where nothing of the older days is shown at all, these are gone, and what is newer may well be the merchant's own.
  const isLater = came.every(({ bookedMs }) => bookedMs > newestMs);
  return isLater && goesOn(lacking, came) ? UNKNOWN : { sight: 'other', lacking: missing };
}

async function knownOf(
  { db, merchantNo }: Pick<OwnLedgerOptions, 'db' | 'merchantNo'>,
  compared: readonly Compared[],
  isOwn: (currency: string) => boolean,
): Promise<Known> {
  const unstored = new Set(compared.flatMap((one) => one.unstored.entries.map(({ batchNo }) => batchNo)));
  const shown = compared.flatMap(({ part }) => part.reading.entries);
  const open = shown.filter(({ currency }) => !isOwn(currency));
  const isClear = (came: readonly LedgerEntry[]) => came.some(({ batchNo }) => !unstored.has(batchNo));
  const byCurrency = [...Map.groupBy(open, ({ currency }) => currency).values()];
  if (byCurrency.every(isClear)) return { isStored: ({ batchNo }) => !unstored.has(batchNo), lacking: [] };
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
