/** What is reported of how it stands next to the figures, in the same words by `status` and by its page. Pure. */
import { countedInText as counted, firstNamed, showableText } from '../ledger/text.ts';
import { wallSecond } from '../ledger/wall-time.ts';
import type { Undelivered } from './alerts.ts';
import { undeliveredMailText } from './statement-mail.ts';
import type { BackfillStatus } from './backfills.ts';
import { checkedText } from './active-run.ts';
import { clockNews } from './verdict/merchant-reasons.ts';
import type { Overview } from './health.ts';
import type { QueueGlance } from './work-queue.ts';
import type { LastRuns } from './run-state.ts';
import { TIME_ZONE_ON_TRUST, type MerchantSync } from './report.ts';
import type { MerchantStatus } from './status.ts';
import {
  howToReadOrDisable,
  notReadText,
  reasonOfDiscrepancy,
  reasonOfSilent,
  reasonsOfHeld,
} from './verdict/finding-reasons.ts';
import type { UnmatchedCount } from '../ledger/own-books.ts';
import type { Window } from '../ledger/entry.ts';
import type { Adjustment, Preparation } from '../months/closes.ts';
import type { HistoricalComparison } from '../store/historical-days.ts';
import type { OpenRange } from './coverage.ts';
import { daysName, rangeName } from './verdict/judge.ts';
import { listed } from './verdict/exit-codes.ts';
import { reasonsOfNotices, reasonsOfShared } from './verdict/notice-reasons.ts';
import type { DaysLate, Lateness } from '../ledger/lateness.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MERCHANTS_NAMED_MAX = 20;

/** The queue, the backfills, the platform's clock and the alerts: a line for each thing that there is to say. */
export const remarksOf = (
  { queue, backfills, runs }: Pick<Overview, 'queue' | 'backfills' | 'runs'>,
  unreported: Undelivered | null,
  unmailed: Undelivered | null,
  zone: string,
): string[] =>
  [
    ...(queue === undefined ? [] : queueLines(queue)),
    ...backfills.flatMap((one) => [backfillText(one), ...failureTexts(one, zone)]),
    clockText(runs),
    unreported && undeliveredText(unreported),
    unmailed && undeliveredMailText(unmailed),
  ].filter((text) => text !== null);

/** A line for each of the first merchants whose token is nowhere, with what to do. */
export const notReadLines = (notRead: readonly string[]): string[] => [
  ...notRead.slice(0, MERCHANTS_NAMED_MAX).map((one) => `${notReadText(one)}: ${howToReadOrDisable(one)}`),
  ...(notRead.length > MERCHANTS_NAMED_MAX
    ? [`and ${counted(notRead.length - MERCHANTS_NAMED_MAX, 'more merchant')} that are not read`]
    : []),
];

/** Said where the zone of the business days is not proven; null where it is. */
export const zoneRemark = (proof: string): string | null => (proof === 'trusted' ? TIME_ZONE_ON_TRUST : null);

function queueLines(glance: QueueGlance | null): string[] {
  if (glance === null) return ['queue: its tables are missing; run `daybook migrate`'];
  const lanes = glance.lanes.map(
    ({ lane, waiting, active }) => `${lane} ${waiting.toLocaleString('en')} waiting, ${active} at work`,
  );
  const named = glance.givenUp.map(({ merchantNo, runId }) => `${merchantNo} of run ${runId}`);
  const givenUp =
    `${counted(glance.givenUpCount, 'job was', 'jobs were')} given up: ` +
    `${firstNamed(named, named.length, glance.givenUpCount)}; \`daybook jobs list\` says why, \`daybook jobs redrive\` sends them back`;
  return [`queue: ${lanes.join('; ')}`, ...(glance.givenUpCount > 0 ? [givenUp] : [])];
}

/** `about 40 min`, `about 7 h`, `about 3 days`; `not known yet` for null. */
export function leftName(leftMs: number | null): string {
  if (leftMs === null) return 'not known yet';
  if (leftMs < 60_000) return 'under a minute';
  if (leftMs < 1.5 * HOUR_MS) return `about ${Math.round(leftMs / 60_000)} min`;
  return leftMs < 2 * DAY_MS
    ? `about ${Math.round(leftMs / HOUR_MS)} h`
    : `about ${Math.round(leftMs / DAY_MS)} days`;
}

/** `backfill 3, 2025-01-01 to 2025-12-31 of 12 merchants: 1,200 days done, 3,180 days left, time left: about 7 h`. */
export const backfillText = ({ id, from, to, leftMs, ...left }: BackfillStatus): string =>
  `backfill ${id}, ${from} to ${to} of ${counted(left.merchants, 'merchant')}: ${counted(left.daysDone, 'day')} done, ` +
  `${counted(left.daysLeft, 'day')} left, time left: ${leftName(leftMs)}`;

/** What the next slices said that have failed, a line for each merchant. */
export const failureTexts = ({ id, failing, failures }: BackfillStatus, zone: string): string[] => [
  ...failures.map(
    ({ merchantNo, nextDay, attempts, problem, tryAt }) =>
      `backfill ${id}, ${merchantNo} from ${nextDay}: failed ${counted(attempts, 'time')}, tried again at ${wallSecond(tryAt.getTime(), zone)}: ${showableText(problem)}`,
  ),
  ...(failing > failures.length
    ? [`backfill ${id}: and ${counted(failing - failures.length, 'more merchant')}`]
    : []),
];

function clockText({ last }: LastRuns): string | null {
  const figure = (name: string): number => Number(last?.figures[name] ?? 0);
  const news = clockNews({
    platformBehindMs: figure('platformBehindMs'),
    platformAheadMs: figure('platformAheadMs'),
  });
  return news === null ? null : `seen by run ${last!.id}: ${news}`;
}

function undeliveredText({ failing, givenUp }: Undelivered): string | null {
  if (failing + givenUp === 0) return null;
  const reported = [
    failing > 0 ? `${failing} not delivered yet` : [],
    givenUp > 0 ? `${givenUp} given up in the last week` : [],
  ].flat();
  return `alerts: ${reported.join(', ')}: see \`daybook alerts list\`, and try \`daybook alerts test\``;
}

export class CheckedBeyond {
  readonly #byChecks = new Map<string, First<string>>();

  add({ merchantNo, lastGoodRunAt, checked }: MerchantStatus): void {
    if (lastGoodRunAt === null) return;
    const text = checkedText(checked);
    const own = this.#byChecks.get(text) ?? new First<string>(MERCHANTS_NAMED_MAX);
    this.#byChecks.set(text, own);
    own.add(merchantNo);
  }

  /** One line if it is the same for all merchants, as it mostly is. */
  lines(): string[] {
    return [...this.#byChecks].map(([text, own]) => {
      const more = own.count - own.items.length;
      const named = `${own.items.join(', ')}${more === 0 ? '' : ` and ${more.toLocaleString('en')} more`}`;
      const of = this.#byChecks.size === 1 ? '' : ` of ${named}`;
      return `checked${of} beyond the days read, by the last successful run: ${text}`;
    });
  }
}

export interface StatusList {
  readonly heading: string;
  readonly items: readonly string[];
  readonly more: number;
}

const LINES_SHOWN_MAX = 10;

/** Collects the lists of many merchants; it keeps what is shown of them. */
export class StatusLists {
  readonly #zone: string;
  readonly #missing = new First<string>(LINES_SHOWN_MAX);
  readonly #requested = new First<string>(LINES_SHOWN_MAX);
  readonly #adjusted = new First<string>(LINES_SHOWN_MAX);
  readonly #prepared = new First<string>(LINES_SHOWN_MAX);
  readonly #differing = new First<string>(LINES_SHOWN_MAX);
  readonly #held = new First<string>(LINES_SHOWN_MAX);
  readonly #silent = new First<string>(LINES_SHOWN_MAX);
  /** A notice about two merchants is in the status of both. */
  readonly #notices = new Set<string>();

  /** `zone` is that of the times in the lines. */
  constructor(zone: string) {
    this.#zone = zone;
  }

  add(status: MerchantStatus): void {
    const {
      merchantNo,
      missing,
      requested,
      adjustments,
      preparations,
      notices,
      discrepancies,
      held,
      silent,
    } = status;
    const zone = this.#zone;
    for (const span of missing) this.#missing.add(() => `${merchantNo} ${spanText(span, zone)}: ${span.why}`);
    for (const range of requested) this.#requested.add(() => requestedText(range, zone));
    for (const one of adjustments) this.#adjusted.add(() => adjustmentText(one));
    for (const one of preparations)
      this.#prepared.add(() => preparationText(one, (at) => wallSecond(at.getTime(), zone)));
    for (const one of discrepancies) {
      const { what, todo } = reasonOfDiscrepancy(one);
      this.#differing.add(() => `${what}: ${todo}`);
    }
    for (const { what, todo } of reasonsOfHeld(held, zone)) this.#held.add(() => `${what}: ${todo ?? ''}`);
    for (const { what, todo } of silent.map(reasonOfSilent)) this.#silent.add(() => `${what}: ${todo ?? ''}`);
    for (const { what } of [...reasonsOfShared(notices), ...reasonsOfNotices(notices)])
      this.#notices.add(what);
  }

  /** The lists that have lines. Those of each merchant's history are of the merchants `shown` alone. */
  of(shown: readonly MerchantStatus[]): StatusList[] {
    const ofShown = (textOf: (status: MerchantStatus) => string | null): First<string> =>
      new First(
        Infinity,
        shown.flatMap((status) => {
          const text = textOf(status);
          return text === null ? [] : [`${status.merchantNo} ${text}`];
        }),
      );
    const lists: readonly (readonly [string, First<string>])[] = [
      [
        'older days, whose total was compared with the platform:',
        ofShown(({ olderDays }) => olderDays && historicalDaysText(olderDays, this.#zone)),
      ],
      ['entries that came late, in the last 13 months:', ofShown(({ lateness }) => latenessText(lateness))],
      [
        'requested, and not read completely yet (the nightly run reads on; `daybook runs forget-range ID` gives one up):',
        this.#requested,
      ],
      [
        'closed months that were adjusted (`daybook close YYYY-MM --merchant NO` makes the next close):',
        this.#adjusted,
      ],
      [
        'own books, as matched with the ledger (`daybook books unmatched` lists what is open):',
        ofShown(({ ownBooks }) => (ownBooks.length === 0 ? null : ownBooks.map(ownBooksText).join('; '))),
      ],
      ['months that wait for approval (`daybook close YYYY-MM --merchant NO --approve`):', this.#prepared],
      ['noticed in the last 31 days, each reported once:', new First(LINES_SHOWN_MAX, this.#notices)],
      ['proven days, days with figures and days with a statement differ:', this.#differing],
      ['held entries: a person has to confirm that they are gone:', this.#held],
      ['silent accounts: the next entry ends it, or a person:', this.#silent],
      ['missing:', this.#missing],
    ];
    return lists
      .filter(([, { count }]) => count > 0)
      .map(([heading, { items, count }]) => ({ heading, items, more: count - items.length }));
  }
}

export class First<Item> {
  readonly items: Item[] = [];
  readonly #max: number;
  count = 0;

  constructor(max: number, items: Iterable<Item> = []) {
    this.#max = max;
    for (const item of items) this.add(item);
  }

  /** Takes an item, or what makes it: it is made only if it is one of the first. */
  add(item: Item | (() => Item)): void {
    if (this.items.length < this.#max)
      this.items.push(typeof item === 'function' ? (item as () => Item)() : item);
    this.count += 1;
  }
}

const spanText = ({ beginMs, endMs }: Window, zone: string): string =>
  `${wallSecond(beginMs, zone)} to ${wallSecond(endMs, zone)}`;

export const requestedText = (range: OpenRange, zone: string): string =>
  `range ${range.id}: ${range.merchantNo} ${rangeName(range)}, asked for ${wallSecond(range.requestedAt.getTime(), zone)}` +
  `${range.runId === null ? '' : ` by run ${range.runId}`}; ` +
  (range.missingDays.length === 0
    ? 'every day that is over is proven'
    : `missing ${daysName(range.missingDays)}`);

export function adjustmentText({ merchantNo, month, number, currency, day, ...one }: Adjustment): string {
  const { frozenRevision, revision, reason } = one;
  const what =
    frozenRevision === null
      ? `was not published, is revision ${revision}`
      : `from revision ${frozenRevision} to ${revision} (${reason ?? 'entries changed'})`;
  return `adjusts close ${number} of ${month}: ${merchantNo} ${currency} ${day} ${what}`;
}

export const preparationText = (
  { merchantNo, month, by, at }: Preparation,
  atText: (at: Date) => string,
): string =>
  `${month} of ${merchantNo}: prepared by ${by} at ${atText(at)}, waits for approval by another person`;

/** `2026-01-01 to 2026-02-28: total of 1234 confirmed on ..., 300 of 1234 entries re-read since ...`. */
function historicalDaysText(
  { from, to, total, isHeld, checkedAt, round }: HistoricalComparison,
  zone: string,
): string {
  const confirmed = isHeld ? 'confirmed' : 'differed';
  return (
    `${from} to ${to}: total of ${total} ${confirmed} on ${wallSecond(checkedAt.getTime(), zone)}, ` +
    `${round.read} of ${round.of} entries re-read since ${wallSecond(round.beganAt.getTime(), zone)}`
  );
}

/** `CNY: 3 entries only in the ledger, 2 only in own books, the oldest of 2026-03-01`. */
function ownBooksText({ currency, ledger, book, oldest, waiting, isChanged }: UnmatchedCount): string {
  const open =
    oldest === null
      ? isChanged
        ? 'nothing is unmatched so far'
        : 'all entries are matched'
      : `${counted(ledger, 'entry', 'entries')} only in the ledger, ${book.toLocaleString('en')} only in own books, the oldest of ${oldest}`;
  const wait = waiting === 0 ? '' : `, ${counted(waiting, 'match waits', 'matches wait')} for approval`;
  return `${currency}: ${open}${wait}${isChanged ? ', and own books have changed since: `daybook books match`' : ''}`;
}

/** Most merchants named in the line about wider lookbacks. */
const NAMED_MAX = 10;

/** One line about the merchants whose lookback was widened; null if there are none. */
export function extendedLookbackText(
  sync: readonly Pick<MerchantSync, 'merchantNo' | 'widerSweep'>[],
): string | null {
  const reported = sync.flatMap(({ merchantNo, widerSweep }) => {
    if (widerSweep === undefined) return [];
    const { days, asked, lateness } = widerSweep;
    const bound = asked > days ? `; DAYBOOK_RESWEEP_DAYS_MAX keeps it from ${counted(asked, 'day')}` : '';
    return [
      `${merchantNo} ${counted(days, 'day')} (99 % of its late entries came ${within(lateness)}${bound})`,
    ];
  });
  if (reported.length === 0) return null;
  return `lookback extended, as entries come late: ${listed(reported, String, NAMED_MAX, '; ')}`;
}

/** `12 late entries (3,600 entries observed): half came within 1 day, ...`; null if nothing was measured yet. */
export function latenessText({
  watchedEntries,
  lateEntries,
  median,
  p99,
  worst,
  final,
}: Lateness): string | null {
  if (watchedEntries + lateEntries === 0) return null;
  const late =
    median === null || p99 === null || worst === null
      ? ''
      : `: half came ${within(median)}, 99 % ${within(p99)}, the latest ${within(worst)}`;
  const reported =
    final === null
      ? 'Not yet known when a day can be treated as final'
      : `A day has 99.9 % of its entries after ${counted(final.afterDays, 'day')}`;
  const watched = `(${watchedEntries.toLocaleString('en')} entries observed)`;
  return `${counted(lateEntries, 'late entry', 'late entries')} ${watched}${late}. ${reported}.`;
}

const within = ({ atMost }: DaysLate): string => `within ${counted(atMost, 'day')}`;

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads an age as ms; null if the text is none. */
export function ageOf(text: string): number | null {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const unitMs = UNIT_MS[unit ?? ''];
  return count === undefined || unitMs === undefined ? null : Number(count) * unitMs;
}

/** `26h`; in minutes where it is not full hours. */
export const ageName = (ms: number): string =>
  ms % 3_600_000 === 0 ? `${ms / 3_600_000}h` : `${Math.ceil(ms / 60_000)}m`;
