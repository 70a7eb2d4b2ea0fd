/**
 * Judges whether the pages of one window are the window: the certificate.
 *
 * What it asks: every page states the same total; each page but the last is full and the last holds the rest; the
 * distinct entries (unreadable ones included) are as many as that total; all lie inside the window, or as near to it as
 * the clock's slack allows, and are of the currency asked for.
 *
 * Why that is proof. Let S be the set of entries that match the query; the order of entries is nobody's promise.
 * - S did not change while the pages were read: each page shows members of S, so |S| distinct entries are all of S, in
 *   whatever order each request came. Order can make the count fall short, never make it pass.
 * - S only grew (a late entry), or only shrank: the total of a page is |S| at that moment, so equal totals on *all* pages
 *   say that S did not change. First and last page alone would not do, as pages are fetched concurrently.
 * - An entry moved inside the window (its time was amended): S as a set did not change; the first case.
 * - The last page is short: nothing follows it, even if the total lies. Where it is full (one window in a hundred), one
 *   more page is asked for: it must be empty, or the last page over again, as some pagers answer. A page that holds
 *   anything else says that the total lies, even if all of it came before: order may have hidden what is new.
 *
 * Several readings of one second, united, are proof where each entry was seen both before and after one instant: see
 * `uniteReadings`.
 *
 * What it cannot show, and docs/decisions/what-a-certificate-proves.md tells: one entry leaving S and another joining it
 * between two pages of one reading; two entries amended between them; identical unreadable entries without batchNo on two pages.
 */
import type { LedgerEntry, UnreadableEntry, Window } from '../ledger/entry.ts';
import type { LedgerPage } from '../platform/ledger-reader.ts';
import { PAGE_SIZE_MAX } from '../platform/wire.ts';
import { placeOf } from './clock-slack.ts';

export interface Asked {
  readonly window: Window;
  /** Null: every currency. */
  readonly currency: string | null;
}

/** An unreadable entry, and how often it came on one page: identical ones without batchNo are told apart by nothing. */
export interface UnreadableSeen {
  readonly entry: UnreadableEntry;
  readonly times: number;
}

/** An entry that was not asked for: of another time, or another currency. `reason` is a sentence. */
export interface Stranger {
  readonly entry: LedgerEntry;
  readonly reason: string;
}

/** One reading of a window, or several united. */
export interface Reading {
  readonly total: number;
  /** By batchNo, as the page latest in order has them; without entries that were not asked for. */
  readonly entries: ReadonlyMap<string, LedgerEntry>;
  /** By batchNo: entries of the windows beside it, which came as it is asked for with the clock's slack. */
  readonly neighbours: ReadonlyMap<string, LedgerEntry>;
  /** By batchNo, or by raw text where that is missing. */
  readonly unreadable: ReadonlyMap<string, UnreadableSeen>;
  /** By batchNo. */
  readonly strangers: ReadonlyMap<string, Stranger>;
  readonly notices: readonly string[];
  /** A sentence with the figures; null where everything adds up. */
  readonly problem: string | null;
  /** Whether all there is to blame is that entries are missing: another reading may bring them. */
  readonly mayUnite: boolean;
  /** Of united readings: what did not come again since the last of it came first. Null: one reading. */
  readonly seenOnce: ReadonlySet<string> | null;
}

/** Pages a total fills; an empty window is one (empty) page. */
export const pagesOf = (total: number): number => Math.max(1, Math.ceil(total / PAGE_SIZE_MAX));

/** Whether page `pagesOf(total) + 1` has to be asked for, and to be empty. */
export const needsConfirming = (total: number): boolean => total > 0 && total % PAGE_SIZE_MAX === 0;

/** Judges the pages of one reading, in order from page 1, the confirming one included. */
export function judgePages(pages: readonly LedgerPage[], asked: Asked, slackMs = 0): Reading {
  const { total } = pages[0]!;
  const entries = new Map<string, LedgerEntry>();
  const neighbours = new Map<string, LedgerEntry>();
  const unreadable = new Map<string, UnreadableSeen>();
  const strangers = new Map<string, Stranger>();
  const problems: string[] = [];
  const blame = (sentence: string) => problems.push(sentence);
  const changed = pages.findIndex((page) => page.total !== total);
  if (changed > 0) blame(`page 1 said ${total} in total, page ${changed + 1} said ${pages[changed]!.total}`);

  pages.forEach((page, index) => {
    for (const entry of page.entries) {
      const reason = strangeness(entry, asked, slackMs);
      if (reason !== null) {
        strangers.set(entry.batchNo, { entry, reason });
        blame(reason);
        continue;
      }
      const own = placeOf(entry, asked.window, slackMs) === 'inside' ? entries : neighbours;
      const twin = entries.get(entry.batchNo) ?? neighbours.get(entry.batchNo);
      if (twin !== undefined && !sameContent(twin, entry)) {
        blame(`batchNo ${entry.batchNo} came twice with different contents`);
      }
      own.set(entry.batchNo, entry);
    }
    for (const [key, seen] of unreadableOn(page)) {
      // On two pages it may be one that moved from the one to the other.
      if (seen.times > (unreadable.get(key)?.times ?? 0)) unreadable.set(key, seen);
    }
    const problem = pageProblem(pages, index);
    if (problem !== null) blame(problem);
  });
  const notices = pages.flatMap((page) => page.notices);
  const seen = { entries, neighbours, unreadable };
  const problem = problems[0] ?? shortfall(total, seen);
  const mayUnite = problems.length === 0;
  return { total, ...seen, strangers, notices, problem, mayUnite, seenOnce: null };
}

/**
 * What two readings of a window show together, where its total is the same and no content differs.
 *
 * Each may have shown only a part, as its pages came in different orders. Their union is the window only if all of it
 * was there at one instant: an entry that left and one that joined in between leave the total as it was. So once as
 * many entries are known as the total says, each must be seen again in a reading after that. Then, between these
 * readings, each was there (it came before, and came after), and they were as many as the total: all there was.
 */
export function uniteReadings(earlier: Reading, later: Reading): Reading {
  if (later.problem === null || !earlier.mayUnite || !later.mayUnite || earlier.total !== later.total)
    return later;
  const changed = [...later.entries.values()].some((entry) => {
    const before = earlier.entries.get(entry.batchNo);
    return before !== undefined && !sameContent(before, entry);
  });
  if (changed) return later;
  const seen = {
    entries: new Map([...earlier.entries, ...later.entries]),
    neighbours: new Map([...earlier.neighbours, ...later.neighbours]),
    unreadable: new Map([...earlier.unreadable, ...later.unreadable]),
  };
  const keys = keysOf(seen);
  const known = keysOf(earlier);
  const again = new Set(keysOf(later));
  const seenOnce =
    keys.length > known.length
      ? new Set(keys)
      : new Set([...(earlier.seenOnce ?? known)].filter((key) => !again.has(key)));
  const problem = shortfall(later.total, seen) ?? unconfirmed(later.total, seenOnce.size);
  return { ...later, ...seen, problem, seenOnce };
}

const unconfirmed = (total: number, count: number): string | null =>
  count === 0 ? null : `${total} entries came over several readings, but ${count} of them not a second time`;

type Seen = Pick<Reading, 'entries' | 'neighbours' | 'unreadable'>;

const keysOf = ({ entries, neighbours, unreadable }: Seen): string[] => [
  ...[...entries.keys(), ...neighbours.keys()].map((batchNo) => `batchNo ${batchNo}`),
  ...[...unreadable.keys()].filter((key) => !isNamed(key, { entries, neighbours })),
];

/** Whether an unreadable entry's batchNo is one of a readable entry as well. */
const isNamed = (key: string, { entries, neighbours }: Omit<Seen, 'unreadable'>): boolean => {
  const batchNo = key.startsWith('batchNo ') ? key.slice('batchNo '.length) : null;
  return batchNo !== null && (entries.has(batchNo) || neighbours.has(batchNo));
};

const keyOf = (entry: { readonly batchNo: string | null; readonly raw?: string }): string =>
  entry.batchNo === null ? `raw ${entry.raw ?? ''}` : `batchNo ${entry.batchNo}`;

/** A page's unreadable entries, each as often as it stands there; one with a batchNo counts once. */
function unreadableOn(page: LedgerPage): Map<string, UnreadableSeen> {
  const unreadable = new Map<string, UnreadableSeen>();
  for (const entry of page.unreadable) {
    const times = entry.batchNo === null ? (unreadable.get(keyOf(entry))?.times ?? 0) + 1 : 1;
    unreadable.set(keyOf(entry), { entry, times });
  }
  return unreadable;
}

/** Records of a page, identical unreadable entries counted each, entries that stand there twice once. */
const recordKeys = (page: LedgerPage): string[] => [
  ...new Set(page.entries.map(keyOf)),
  ...[...unreadableOn(page)].flatMap(([key, { times }]) =>
    Array.from({ length: times }, (_, nth) => (nth === 0 ? key : `${key} ${nth}`)),
  ),
];

/** What is wrong with a page's length: full is due, then the rest, then nothing or the last page over again. */
function pageProblem(pages: readonly LedgerPage[], index: number): string | null {
  const [{ total }, page] = [pages[0]!, pages[index]!];
  const due = Math.min(PAGE_SIZE_MAX, Math.max(0, total - index * PAGE_SIZE_MAX));
  const records = page.entries.length + page.unreadable.length;
  if (due > 0) {
    return records < due || new Set(recordKeys(page)).size > due
      ? `page ${index + 1} of ${total} entries held ${records} where ${due} were due`
      : null;
  }
  if (index === 0 || records === 0) return null;
  const last = new Set(recordKeys(pages[index - 1]!));
  const isLastAgain = records === last.size && recordKeys(page).every((key) => last.has(key));
  return isLastAgain
    ? null
    : `page ${index + 1} held ${records} entries where a total of ${total} leaves none`;
}

/** How many records of the total are known: identical unreadable entries as often as they stand on a page, a batchNo once. */
export function distinctOf(seen: Seen): number {
  let distinct = seen.entries.size + seen.neighbours.size;
  for (const [key, { times }] of seen.unreadable) if (!isNamed(key, seen)) distinct += times;
  return distinct;
}

function shortfall(total: number, seen: Seen): string | null {
  const distinct = distinctOf(seen);
  return distinct === total ? null : `the total is ${total}, but ${distinct} distinct entries came`;
}

function strangeness(entry: LedgerEntry, { window, currency }: Asked, slackMs: number): string | null {
  if (placeOf(entry, window, slackMs) === 'stranger') {
    const ignored = entry.bookedMs > window.endMs ? 'endDate' : 'beginDate';
    return (
      `batchNo ${entry.batchNo} is booked at ${entry.bookedAt}, which lies outside the window: the platform ignores ` +
      `${ignored}, or that timestamp is wrong or of another time zone than PLATFORM_TIME_ZONE`
    );
  }
  if (currency !== null && entry.currency !== currency) {
    return `batchNo ${entry.batchNo} is in ${entry.currency} where ${currency} was asked for`;
  }
  return null;
}

const sameContent = (one: LedgerEntry, other: LedgerEntry): boolean =>
  one.currency === other.currency &&
  one.transactionType === other.transactionType &&
  one.credit === other.credit &&
  one.debit === other.debit &&
  one.balance === other.balance &&
  one.bookedAt === other.bookedAt &&
  one.bookedMs === other.bookedMs;
