/**
 * Judges whether the pages of a window hold all of the window: then it gets a certificate.
 *
 * What it asks: every page states the same total; each page but the last is full and the last holds the rest; the
 * distinct entries (unreadable ones included) are as many as that total; all lie inside the window, or as near to it as
 * the clock's slack allows.
 *
 * Why that is proof. Let S be the set of entries that match the query. No one promises an order of entries.
 * - S did not change while the pages were read. Each page shows members of S, so |S| distinct entries are all of S,
 *   whatever the order of each reply. A changing order can make the count too low, but never make it seem right.
 * - S only grew (a late entry) or only shrank. The total on a page is |S| at that moment, so equal totals on *all*
 *   pages mean that S did not change. The first and the last page alone would not do, as pages are read at the same
 *   time.
 * - An entry moved inside the window, as its time was amended. S did not change as a set: the first case.
 * - The total is wrong. If the last page is short, nothing follows it whatever the total says. If it is full (one
 *   window in a hundred, or by its own `pageSize`), one more page is asked for. It must be empty, or the last page again, as some platforms
 *   answer. Any other content means that the total is wrong, even if all of it came before: order may have hidden what
 *   is new.
 *
 * ### Example
 *
 * A window of 250 entries: pages of 100, 100 and 50, each with total 250. If the platform orders each reply anew, some
 * entries come twice and others not at all: 250 rows, but fewer distinct entries. The window is read again.
 *
 * Several readings of one second together are proof if each entry was seen before and after one instant: see
 * `uniteReadings`.
 *
 * What it cannot show, and docs/decisions/certificates.md tells: one entry leaving S and another joining it
 * between two pages of one reading; two entries amended between them; identical unreadable entries without batchNo on two pages.
 */
import type { LedgerEntry, UnreadableEntry, Window } from '../ledger/entry.ts';
import type { LedgerPage } from '../platform/ledger-reader.ts';
import { PAGE_SIZE_MAX } from '../platform/wire.ts';
import { placeOf } from './clocks.ts';

export interface Asked {
  readonly window: Window;
}

/** An unreadable entry, and how often it came on one page, as identical ones without batchNo are identical. */
export interface UnreadableSeen {
  readonly entry: UnreadableEntry;
  readonly times: number;
}

/** An entry that was not asked for: of another time. `reason` is a sentence. */
export interface OutOfScopeRecord {
  readonly entry: LedgerEntry;
  readonly reason: string;
}

/** One reading of a window, or several united. */
export interface Reading {
  readonly total: number;
  /** By batchNo, without entries that were not asked for. If an entry came twice, it is as on the later page. */
  readonly entries: ReadonlyMap<string, LedgerEntry>;
  /** By batchNo: entries of the windows next to this one. They came because it was asked for with the clock's slack. */
  readonly neighbours: ReadonlyMap<string, LedgerEntry>;
  /** Unreadable entries, by batchNo, or by raw text if that is missing. */
  readonly unreadable: ReadonlyMap<string, UnreadableSeen>;
  /** By batchNo. */
  readonly outOfScope: ReadonlyMap<string, OutOfScopeRecord>;
  readonly notices: readonly string[];
  /** Why there is no certificate, a sentence with the figures; null if there is one. */
  readonly problem: string | null;
  /** Whether the only problem is that entries are missing: another reading may bring them. */
  readonly mayUnite: boolean;
  /** Of united readings: what has not come again since all of it was known. Null: one reading. */
  readonly seenOnce: ReadonlySet<string> | null;
}

const contentOf = ({ transactionType, credit, debit, currency, balance, bookedAt }: LedgerEntry): string =>
  `${bookedAt}, ${credit === null ? `debit ${debit}` : `credit ${credit}`} ${currency}, balance ${balance}, type ${transactionType}`;

const usedTwice = (one: LedgerEntry, other: LedgerEntry): string => {
  const contents = [contentOf(one), contentOf(other)].sort();
  return `batchNo ${one.batchNo} is used for two entries (${contents.join('; and ')}): ask the platform for their numbers`;
};

/** The entries of a page. Of two under one number always the same, in whatever order they come: no reading amends it. */
function entriesOn(page: LedgerPage, blame: (sentence: string) => void): Iterable<LedgerEntry> {
  const byNumber = new Map<string, LedgerEntry>();
  for (const entry of page.entries) {
    const other = byNumber.get(entry.batchNo);
    const isReused = other !== undefined && !sameContent(other, entry);
    if (isReused) blame(usedTwice(other, entry));
    if (!isReused || contentOf(entry) < contentOf(other)) byNumber.set(entry.batchNo, entry);
  }
  return byNumber.values();
}

/** How many pages a total fills; an empty window has one (empty) page. */
export const pagesOf = (total: number): number => Math.max(1, Math.ceil(total / PAGE_SIZE_MAX));

/**
 * Whether the last page is full, so that one more has to be asked for: page `pagesOf(total) + 1`. A first page of all
 * entries is also full where it says so itself: the platform may send no more on a page, whatever the total.
 */
export const needsConfirming = ({ total, fullAt }: Pick<LedgerPage, 'total' | 'fullAt'>): boolean =>
  total > 0 && (total % PAGE_SIZE_MAX === 0 || total === fullAt);

/** Judges the pages of one reading, in order from page 1, with the extra one if the last page is full. */
export function judgePages(pages: readonly LedgerPage[], asked: Asked, clockSkewMs = 0): Reading {
  const { total } = pages[0]!;
  const entries = new Map<string, LedgerEntry>();
  const neighbours = new Map<string, LedgerEntry>();
  const unreadable = new Map<string, UnreadableSeen>();
  const outOfScope = new Map<string, OutOfScopeRecord>();
  const problems: string[] = [];
  const blame = (sentence: string) => problems.push(sentence);
  const changed = pages.findIndex((page) => page.total !== total);
  if (changed > 0) blame(`page 1 said ${total} in total, page ${changed + 1} said ${pages[changed]!.total}`);

  pages.forEach((page, index) => {
    for (const entry of entriesOn(page, blame)) {
      const reason = strangeness(entry, asked, clockSkewMs);
      if (reason !== null) {
        outOfScope.set(entry.batchNo, { entry, reason });
        blame(reason);
        continue;
      }
      const own = placeOf(entry, asked.window, clockSkewMs) === 'inside' ? entries : neighbours;
      const twin = entries.get(entry.batchNo) ?? neighbours.get(entry.batchNo);
      if (twin !== undefined && !sameContent(twin, entry)) {
        blame(`batchNo ${entry.batchNo} came twice with different contents`);
      }
      own.set(entry.batchNo, entry);
    }
    for (const [key, seen] of unreadableOn(page)) {
      // On two pages, it may be the same one that moved from one page to the other.
      if (seen.times > (unreadable.get(key)?.times ?? 0)) unreadable.set(key, seen);
    }
    const problem = pageProblem(pages, index);
    if (problem !== null) blame(problem);
  });
  const notices = pages.flatMap((page) => page.notices);
  const seen = { entries, neighbours, unreadable };
  const problem = problems[0] ?? shortfall(total, seen);
  const mayUnite = problems.length === 0;
  return { total, ...seen, outOfScope, notices, problem, mayUnite, seenOnce: null };
}

/**
 * Why the replies of one reading cannot all be true, in a sentence; null if they can. If the total grew, an entry came
 * between two pages; if pages only lack entries, each reply may have another order.
 */
export function contradictionOf(
  pages: readonly LedgerPage[],
  { total, problem, mayUnite }: Reading,
): string | null {
  const totals = pages.map((page) => page.total);
  const hasGrown = Math.max(...totals) > total && Math.min(...totals) === total;
  // A page that says how many it holds at most keeps to it.
  return mayUnite || hasGrown || pages[0]!.fullAt !== undefined ? null : problem;
}

/**
 * Puts two readings of a window together. Returns the later one alone if it needs no other, or if totals or contents
 * differ.
 *
 * Each reading may have shown only a part, as each reply had another order. Together they are the window only if all
 * entries were there at one instant: one that left and one that joined in between would leave the total unchanged. So
 * when as many entries are known as the total says, each of them must come again in a later reading. Then there is an
 * instant, between these readings, at which each was there, and they were as many as the total: all there was.
 *
 * ### Example
 *
 * The total is 3. Reading 1 shows `a`, `b`; reading 2 shows `b`, `c`. Now all 3 are known, and each has to come again.
 * Reading 3 shows `a`, `b`; reading 4 shows `a`, `c`. Each came again: the window is certified.
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

/** Whether a readable entry has the batchNo of an unreadable one. */
const isNamed = (key: string, { entries, neighbours }: Omit<Seen, 'unreadable'>): boolean => {
  const batchNo = key.startsWith('batchNo ') ? key.slice('batchNo '.length) : null;
  return batchNo !== null && (entries.has(batchNo) || neighbours.has(batchNo));
};

const keyOf = (entry: { readonly batchNo: string | null; readonly raw?: string }): string =>
  entry.batchNo === null ? `raw ${entry.raw ?? ''}` : `batchNo ${entry.batchNo}`;

/** The unreadable entries of a page, each as often as it is there; one with a batchNo counts once. */
function unreadableOn(page: LedgerPage): Map<string, UnreadableSeen> {
  const unreadable = new Map<string, UnreadableSeen>();
  for (const entry of page.unreadable) {
    const times = entry.batchNo === null ? (unreadable.get(keyOf(entry))?.times ?? 0) + 1 : 1;
    unreadable.set(keyOf(entry), { entry, times });
  }
  return unreadable;
}

/**
 * A key for each record of a page. Identical unreadable entries get one each, an entry that is there twice gets one.
 */
const recordKeys = (page: LedgerPage): string[] => [
  ...new Set(page.entries.map(keyOf)),
  ...[...unreadableOn(page)].flatMap(([key, { times }]) =>
    Array.from({ length: times }, (_, nth) => (nth === 0 ? key : `${key} ${nth}`)),
  ),
];

/**
 * What is wrong with the length of a page. It must be full, or hold the rest, or (the extra one) nothing or the last
 * again.
 */
function pageProblem(pages: readonly LedgerPage[], index: number): string | null {
  const [{ total }, page] = [pages[0]!, pages[index]!];
  const due = Math.min(PAGE_SIZE_MAX, Math.max(0, total - index * PAGE_SIZE_MAX));
  const records = page.entries.length + page.unreadable.length;
  if (due > 0) {
    const full = page.fullAt === undefined ? '' : ', as many as its pageSize,';
    return records < due || new Set(recordKeys(page)).size > due
      ? `page ${index + 1} of ${total} entries held ${records}${full} where ${due} were due`
      : null;
  }
  if (index === 0 || records === 0) return null;
  const last = new Set(recordKeys(pages[index - 1]!));
  const isLastAgain = records === last.size && recordKeys(page).every((key) => last.has(key));
  return isLastAgain
    ? null
    : `page ${index + 1} held ${records} entries where a total of ${total} leaves none`;
}

/** How many records are known: a batchNo counts once, an unreadable entry without one as often as it is on a page. */
export function distinctOf(seen: Seen): number {
  let distinct = seen.entries.size + seen.neighbours.size;
  for (const [key, { times }] of seen.unreadable) if (!isNamed(key, seen)) distinct += times;
  return distinct;
}

function shortfall(total: number, seen: Seen): string | null {
  const distinct = distinctOf(seen);
  return distinct === total ? null : `the total is ${total}, but ${distinct} distinct entries came`;
}

function strangeness(entry: LedgerEntry, { window }: Asked, clockSkewMs: number): string | null {
  if (placeOf(entry, window, clockSkewMs) !== 'outside') return null;
  const ignored = entry.bookedMs > window.endMs ? 'endDate' : 'beginDate';
  return (
    `batchNo ${entry.batchNo} is booked at ${entry.bookedAt}, which lies outside the window: the platform ignores ` +
    `${ignored}, or that timestamp is wrong or of another time zone than PLATFORM_TIME_ZONE`
  );
}

const sameContent = (one: LedgerEntry, other: LedgerEntry): boolean =>
  one.currency === other.currency &&
  one.transactionType === other.transactionType &&
  one.credit === other.credit &&
  one.debit === other.debit &&
  one.balance === other.balance &&
  one.bookedAt === other.bookedAt &&
  one.bookedMs === other.bookedMs;
