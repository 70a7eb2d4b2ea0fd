/** Helpers to make forms: which entries a lie concerns, in which runs the platform lies, and how lines are changed. */
import { dayOf, dayWindow } from '../../../src/ledger/business-day.ts';
import { balanced, decimal, entriesOf, pick, unitsOf, type Booking } from '../books.ts';
import { OWN, VISIBLE, type Family, type Form, type Place, type Planted, type Scene } from '../form.ts';
import type { Call, Lies, Line, Moment, Reply } from '../platform.ts';

/** The platform lies in one run only, in two, every other night, or from that run on. */
export type Lasting = 'one night' | 'two runs' | 'every other night' | 'for good';

export function isReported({ since, night }: Moment, reported: Lasting): boolean {
  if (since < 0) return false;
  switch (reported) {
    case 'one night':
      return since === 0;
    case 'two runs':
      return since < 2;
    case 'every other night':
      return night % 2 === 0;
    case 'for good':
      return true;
  }
}

export const accountOf = (scene: Scene): string => scene.currencies[0]!;

/** The entries of the first account on a day, in order. */
export const dayEntries = (scene: Scene, day = scene.target): Booking[] =>
  entriesOf(scene.books, accountOf(scene), day, scene.zone);

/** An entry of the day that has others before and after it. */
export const middleOf = (scene: Scene, day = scene.target): Booking =>
  pick(scene.random, dayEntries(scene, day).slice(1, -1));

/** Two neighbours of the day. If it has enough entries, not its first nor its last. */
export function neighboursIn(scene: Scene): [Booking, Booking] {
  const entries = dayEntries(scene);
  const inner = entries.length > 3 ? entries.slice(1, -1) : entries;
  const first = Math.floor(scene.random() * (inner.length - 1));
  return [inner[first]!, inner[first + 1]!];
}

export const placesOf = (bookings: readonly Booking[], zone: string): Place[] =>
  bookings.map(({ currency, stampMs }) => ({ currency, day: dayOf(stampMs, zone) }));

const inWords = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Matches a sentence that says that the amount, balance or timestamp of an entry is wrong. */
export const saysWrong = (what: 'amount' | 'balance' | 'timestamp', ...bookings: Booking[]): RegExp => {
  const batchNo = `(?:${bookings.map((booking) => inWords(booking.batchNo)).join('|')})`;
  return new RegExp(`(?:${what}[^.]*${batchNo}|${batchNo}[^.]*${what})[^.]*\\b(?:wrong|off)\\b`, 'i');
};
/**
 * Matches a sentence that says between which entries one is missing, its amount, and that it may have another
 * timestamp.
 */
export function saysGap(scene: Scene, { batchNo, net, currency }: Booking): RegExp {
  const entries = scene.books.filter((one) => one.currency === currency);
  const at = entries.findIndex((one) => one.batchNo === batchNo);
  const [before, after] = [entries[at - 1]!.batchNo, entries[at + 1]!.batchNo];
  const amount = inWords(decimal(Math.abs(net), currency).replace(/(?<!\.\d*)\B(?=(\d{3})+(?!\d))/g, ','));
  const side = net > 0 ? 'credit' : 'debit';
  return new RegExp(
    `After ${before} .* but ${after} starts from .*: a net ${side} of ${amount} ${currency} is unexplained between these two entries\\.\\s.*` +
      'entries are missing .* or carry another time',
  );
}

/** Names the cause before any other that is possible. For causes that are known, not guessed. */
export const leads = (cause: RegExp): RegExp =>
  new RegExp(`^(?:(?!otherwise|perhaps).)*(?:${cause.source})`, 'is');

/** That entries are missing, or came late after they were missing. */
export const FIRST_MISSING =
  /entr(?:y|ies)[^.]* missing|no longer held|late entr|held \d+ where \d+ were due/i;

export const SAYS_MISSING = /entr(?:y|ies) (?:is|are) missing|no longer held entries|late entr(?:y|ies)/i;

/** Shows some of the merchant's lines changed, or not at all. */
export const changing = (
  bookings: readonly Booking[],
  change: (line: Line) => Line | readonly Line[],
  reported: Lasting = 'for good',
): Lies => {
  const batchNos = new Set(bookings.map(({ batchNo }) => batchNo));
  return {
    lines: (lines, at, merchantNo) =>
      merchantNo === OWN && isReported(at, reported)
        ? lines.flatMap((line) => (batchNos.has(line.batchNo) ? change(line) : [line]))
        : lines,
  };
};

export const hiding = (bookings: readonly Booking[], reported: Lasting = 'for good'): Lies =>
  changing(bookings, () => [], reported);

/** Changes the merchant's true books, from the lie's run on. All later balances follow. */
export const rewriting = (change: (books: readonly Booking[]) => readonly Booking[]): Lies => ({
  books: (books, { since }) => (since >= 0 && books[0]?.batchNo.startsWith('A') ? change(books) : books),
});

/** Changes some entries of the books. Later balances follow. */
export const amending = (
  bookings: readonly Booking[],
  change: (booking: Booking) => Booking | null,
): Lies => {
  const batchNos = new Set(bookings.map(({ batchNo }) => batchNo));
  return rewriting((books) =>
    balanced(
      books.flatMap((booking) => (batchNos.has(booking.batchNo) ? (change(booking) ?? []) : [booking])),
    ),
  );
};

/** A copy of the entry with a batchNo of its own. */
export const likeness = (booking: Booking, change: Partial<Booking> = {}): Booking => ({
  ...booking,
  batchNo: `A8${booking.batchNo.slice(1)}`,
  ...change,
});

/** Makes a form of one family. Whatever is not given has its usual value. */
export const formOf =
  (family: Family) =>
  (
    name: string,
    lie: string,
    plant: (scene: Scene) => Planted,
    more: Partial<Pick<Form, 'sight' | 'setting' | 'mustBeReported' | 'neverBelieved'>> = {},
  ): Form => ({
    name,
    family,
    lie,
    plant,
    sight: VISIBLE,
    setting: {},
    mustBeReported: false,
    neverBelieved: false,
    ...more,
  });

/** Several lies at once: what one shows, the next one changes. */
export const together = (...all: readonly Lies[]): Lies => ({
  ...(Object.assign({}, ...all) as Lies),
  books: (books, at) => all.reduce((held, { books: change }) => change?.(held, at) ?? held, books),
  lines: (lines, at, merchantNo) =>
    all.reduce((shown, { lines: change }) => change?.(shown, at, merchantNo) ?? shown, lines),
  reply: (reply, call, at, ask) =>
    all.reduce((answer, { reply: change }) => change?.(answer, call, at, ask) ?? answer, reply),
});

/** Changes all of the merchant's lines that `isMeant` picks. */
export const changingAll = (
  change: (line: Line) => Line | readonly Line[],
  reported: Lasting = 'for good',
  isMeant: (line: Line) => boolean = () => true,
): Lies => ({
  lines: (lines, at, merchantNo) =>
    merchantNo === OWN && isReported(at, reported)
      ? lines.flatMap((line) => (isMeant(line) ? change(line) : [line]))
      : lines,
});

/** Changes the merchant's replies, to the calls that `isMeant` picks. */
export const answering = (
  change: (reply: Reply, call: Call, ask: (call: Call) => Reply) => Reply,
  reported: Lasting = 'for good',
  isMeant: (call: Call, at: Moment) => boolean = () => true,
): Lies => ({
  reply: (reply, call, at, ask) =>
    call.merchantNo === OWN && isReported(at, reported) && isMeant(call, at)
      ? change(reply, call, ask)
      : reply,
});

export const emptied = (reply: Reply): Reply => ({ ...reply, total: 0, lines: [] });

/** The reply without some of its entries, and without them in its total. */
export const without = (
  reply: Reply,
  bookings: readonly Booking[],
  call: Call,
  ask: (call: Call) => Reply,
): Reply => {
  const gone = new Set(bookings.map(({ batchNo }) => batchNo));
  const all: Line[] = [];
  for (let pageNum = 1; all.length < reply.total; pageNum += 1) {
    const { lines } = ask({ ...call, pageNum });
    if (lines.length === 0) break;
    all.push(...lines);
  }
  const left = all.filter(({ batchNo }) => !gone.has(batchNo));
  const first = (call.pageNum - 1) * reply.pageSize;
  return { ...reply, total: left.length, lines: left.slice(first, first + reply.pageSize) };
};

export const reaches = (call: Call, day: string, zone: string): boolean => {
  const { beginMs, endMs } = dayWindow(day, zone);
  return call.beginMs <= endMs && call.endMs >= beginMs;
};

/** A decimal times a power of ten, as text. */
export const scaled = (text: string, currency: string, by: number): string =>
  text === 'null' ? text : decimal(unitsOf(text, currency)! * by, currency);
