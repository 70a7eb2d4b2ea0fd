/** What is reported of merchants next to their figures, in words and bounded: what is missing, asked for, noticed, adjusted, late. */
import type { Window } from '../ledger/entry.ts';
import { wallSecond } from '../ledger/wall-time.ts';
import type { Adjustment } from '../store/month-close.ts';
import type { HistoricalComparison } from '../store/historical-days.ts';
import { latenessText } from './lateness-text.ts';
import type { OpenRange } from './requested.ts';
import type { MerchantStatus } from './status.ts';
import { daysName, rangeName } from './verdict/judge.ts';
import { reasonOfDiscrepancy, reasonsOfHeld } from './verdict/finding-reasons.ts';
import { reasonsOfNotices, reasonsOfShared } from './verdict/notice-reasons.ts';

/** Lines under a heading; of all, the first ones. */
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
  readonly #differing = new First<string>(LINES_SHOWN_MAX);
  readonly #held = new First<string>(LINES_SHOWN_MAX);
  /** A notice about two merchants is in the status of both. */
  readonly #notices = new Set<string>();

  /** `zone` is that of the times in the lines. */
  constructor(zone: string) {
    this.#zone = zone;
  }

  add({ merchantNo, missing, requested, adjustments, notices, discrepancies, held }: MerchantStatus): void {
    const zone = this.#zone;
    for (const span of missing) this.#missing.add(() => `${merchantNo} ${spanText(span, zone)}: ${span.why}`);
    for (const range of requested) this.#requested.add(() => requestedText(range, zone));
    for (const one of adjustments) this.#adjusted.add(() => adjustmentText(one));
    for (const one of discrepancies) {
      const { what, todo } = reasonOfDiscrepancy(one);
      this.#differing.add(() => `${what}: ${todo}`);
    }
    for (const { what, todo } of reasonsOfHeld(held, zone)) this.#held.add(() => `${what}: ${todo ?? ''}`);
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
        'older days, compared with the platform:',
        ofShown(({ olderDays }) => olderDays && historicalDaysText(olderDays, this.#zone)),
      ],
      ['entries that came late, in the last 13 months:', ofShown(({ lateness }) => latenessText(lateness))],
      [
        'requested, and not completely proven yet (the nightly run reads on; `daybook runs forget-range ID` gives one up):',
        this.#requested,
      ],
      [
        'closed months that were adjusted (`daybook close YYYY-MM --merchant NO` makes the next close):',
        this.#adjusted,
      ],
      ['noticed in the last 31 days, each reported once:', new First(LINES_SHOWN_MAX, this.#notices)],
      ['proven days, days with figures and days with a statement differ:', this.#differing],
      ['held, as only a person can confirm that it is gone:', this.#held],
      ['missing:', this.#missing],
    ];
    return lists
      .filter(([, { count }]) => count > 0)
      .map(([heading, { items, count }]) => ({ heading, items, more: count - items.length }));
  }
}

/** The first few of many things, and how many there were. */
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

/** A requested range, with what is missing of it. */
export const requestedText = (range: OpenRange, zone: string): string =>
  `range ${range.id}: ${range.merchantNo} ${rangeName(range)}, asked for ${wallSecond(range.requestedAt.getTime(), zone)}` +
  `${range.runId === null ? '' : ` by run ${range.runId}`}; ` +
  (range.missingDays.length === 0
    ? 'every day that is over is proven'
    : `missing ${daysName(range.missingDays)}`);

export const adjustmentText = ({
  merchantNo,
  month,
  number,
  currency,
  day,
  frozenRevision,
  revision,
  reason,
}: Adjustment): string =>
  `adjusts close ${number} of ${month}: ${merchantNo} ${currency} ${day} ` +
  (frozenRevision === null
    ? `was not published, is revision ${revision}`
    : `from revision ${frozenRevision} to ${revision} (${reason ?? 'entries changed'})`);

/** `2026-01-01 to 2026-02-28: total of 1234 held at ..., 300 of 1234 entries re-read since ...`. */
function historicalDaysText(
  { from, to, total, isHeld, checkedAt, round }: HistoricalComparison,
  zone: string,
): string {
  const held = isHeld ? 'held' : 'did not hold';
  return (
    `${from} to ${to}: total of ${total} ${held} at ${wallSecond(checkedAt.getTime(), zone)}, ` +
    `${round.read} of ${round.of} entries re-read since ${wallSecond(round.beganAt.getTime(), zone)}`
  );
}
