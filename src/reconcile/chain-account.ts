/**
 * Chains an account forward, stretch after stretch, from its first day that is out of date until a stretch ends as it did last time and
 * no later day is out of date. What comes of it is what a chain from scratch would give.
 */
import type { Kysely } from 'kysely';
import { dayBefore } from '../ledger/business-day.ts';
import { entriesIn, sameStated } from '../ledger/chain/figures.ts';
import type { Account, BusinessDay, ContinuityBreak } from '../ledger/entry.ts';
import type { Currencies } from '../ledger/money.ts';
import { compareAmounts } from '../ledger/money.ts';
import type { DayFigures } from '../store/account-days.ts';
import type { CertifiedDays } from '../store/chain-facts.ts';
import type { DB } from '../store/engine/schema.ts';
import { isLedgerBegin } from '../store/ledger-past.ts';
import { dayWindow } from '../ledger/business-day.ts';
import { dayEntries, type DayEntries } from './day-entries.ts';
import { KnownDays } from './known-days.ts';
import { chainStretch, dayAfter, DAYS_TOGETHER_MAX, type Stretch } from './stretch.ts';

/** The most that one pass holds in memory and one transaction writes. The next pass does the rest. */
export interface PassMax {
  readonly days: number;
  readonly breaks: number;
}
export const PASS_MAX: PassMax = { days: 3_660, breaks: 20_000 };

interface FiguredDay {
  readonly figures: DayFigures;
  readonly stored: DayFigures | undefined;
  readonly differs: boolean;
}

export interface ChainedAccount {
  readonly days: readonly FiguredDay[];
  readonly breaks: readonly ContinuityBreak[];
  /** Days for the next pass, in order. */
  readonly left: readonly BusinessDay[];
}

export interface ChainAccountOptions {
  readonly db: Kysely<DB>;
  readonly account: Account;
  readonly zone: string;
  /** The days that are out of date, in order; at least one. */
  readonly days: readonly BusinessDay[];
  readonly certified: CertifiedDays;
  /** What adopted statements say of days without figures. */
  readonly adopted: ReadonlyMap<BusinessDay, DayFigures>;
  readonly clockToleranceS: number;
  readonly currencies: Currencies;
  readonly passMax?: PassMax;
  readonly signal: AbortSignal;
}

export async function chainAccount(options: ChainAccountOptions): Promise<ChainedAccount> {
  const { passMax = PASS_MAX, days } = options;
  const pass = new ForwardPass(options);
  const isFull = () => pass.dayCount >= passMax.days || pass.breakCount >= passMax.breaks;
  for (const day of days) pass.waiting.add(day);
  while (pass.waiting.size > 0 && !isFull()) await pass.run(earliest(pass.waiting), isFull);
  return pass.result();
}

function earliest(days: Iterable<BusinessDay>): BusinessDay {
  let first: BusinessDay | undefined;
  for (const day of days) if (first === undefined || day < first) first = day;
  return first!;
}

class ForwardPass {
  readonly waiting = new Set<BusinessDay>();
  dayCount = 0;
  breakCount = 0;
  readonly #options: ChainAccountOptions;
  readonly #known: KnownDays;
  readonly #entries: DayEntries;
  /** By their first day. They do not overlap. */
  readonly #stretches = new Map<BusinessDay, Stretch>();

  constructor(options: ChainAccountOptions) {
    const { db, account, zone, days } = options;
    this.#options = options;
    this.#known = new KnownDays(db, account, days[0]!);
    this.#entries = dayEntries(db, account, zone, days);
  }

  /** Chains from the stretch of that day on, as far as later days depend on it. */
  async run(day: BusinessDay, isFull: () => boolean): Promise<void> {
    const { zone, signal } = this.#options;
    let first = await this.#stretchStart(day);
    let front = { first, jumps: await this.#jumps(first) };
    let through = first;
    for (;;) {
      signal.throwIfAborted();
      const stretch = await this.#chain(first, through);
      const earlier = stretch.wantsEarlier ? await this.#joined(stretch) : null;
      if (earlier !== null) {
        first = earlier;
        if (stretch.through > through) through = stretch.through;
        if (first < front.first) front = { first, jumps: await this.#jumps(first) };
        continue;
      }
      const isSameEnd = await this.#keep(stretch);
      first = dayAfter(stretch.through, zone);
      if (!(await this.#continues(stretch, isSameEnd)) && first > through) break;
      if (isFull()) {
        this.waiting.add(first);
        break;
      }
      if (first > through) through = first;
    }
    if ((await this.#jumps(front.first)) !== front.jumps) await this.#waitBefore(front.first);
  }

  /** The figures of all days, with the breaks between stretches: such a break counts for both days, and for quiet ones between. */
  async result(): Promise<ChainedAccount> {
    const made: FiguredDay[] = [];
    const stretches = [...this.#stretches.values()].sort((a, b) => (a.from > b.from ? -1 : 1));
    for (const { days, endsOn, through } of stretches) {
      let jumps = await this.#jumps(dayAfter(through, this.#options.zone));
      for (const day of days.toReversed()) {
        const isQuiet = entriesIn(day) === 0;
        const figures = jumps && (isQuiet || day.day === endsOn) ? brokenAfter(day) : day;
        if (!isQuiet) jumps = day.startsWithBreak && !day.restarted;
        const stored = await this.#known.stored(day.day);
        made.push({ figures, stored, differs: stored === undefined || storedDiffers(figures, stored) });
      }
    }
    return {
      days: made.reverse(),
      breaks: stretches.reverse().flatMap(({ breaks }) => breaks),
      left: [...this.waiting].sort(),
    };
  }

  /** The first day of the stretch that the day is in: the day before it has a clean end, or it does not go on from that. */
  async #stretchStart(day: BusinessDay): Promise<BusinessDay> {
    const before = await this.#takenUp(day);
    return before === undefined || before.isOrderFinal ? day : this.#stretchStart(before.day);
  }

  /** Whether no entry can be missing between the end of the day before and the day's first entry. */
  async #goesOn(day: BusinessDay): Promise<boolean> {
    const { certified, zone } = this.#options;
    if (!certified.isComplete(dayBefore(day, zone))) return false;
    if (certified.isComplete(day)) return true;
    const throughMs = certified.provenThrough(day);
    if (throughMs === null) return false;
    const firstMs = await this.#entries.firstMs(day);
    return firstMs === undefined ? (await this.#known.at(day)) !== undefined : firstMs <= throughMs;
  }

  async #takenUp(day: BusinessDay): Promise<DayFigures | undefined> {
    const before = await this.#known.at(dayBefore(day, this.#options.zone));
    return before !== undefined && (await this.#goesOn(day)) ? before : undefined;
  }

  async #chain(first: BusinessDay, through: BusinessDay): Promise<Stretch> {
    const { account, adopted, certified, clockToleranceS, currencies, db, signal, zone } = this.#options;
    const stretch = await chainStretch({
      ...{ account, first, through, zone, clockToleranceS, signal },
      before: await this.#takenUp(first),
      read: this.#entries.read,
      goesOn: (day) => this.#goesOn(day),
      isComplete: certified.isComplete,
      known: async (day) => (await this.#known.at(day)) ?? adopted.get(day),
      adoptedClosing: (day) => adopted.get(dayBefore(day, zone))?.closing,
      minorUnits: currencies.minorUnits(account.currency),
    });
    return (await isDecidedByBegin(stretch, db, account, zone))
      ? { ...stretch, days: stretch.days.map((day) => ({ ...day, otherClosings: undefined })) }
      : stretch;
  }

  /** Where the stretch before this one begins if both can be chained together; else null. */
  async #joined({ from, busyDays }: Stretch): Promise<BusinessDay | null> {
    let before = await this.#takenUp(from);
    while (before !== undefined && entriesIn(before) === 0) before = await this.#takenUp(before.day);
    if (before === undefined) return null;
    const start = await this.#stretchStart(before.day);
    let together = busyDays;
    for (let day = start; day < from; day = dayAfter(day, this.#options.zone)) {
      const figures = await this.#known.at(day);
      if (figures !== undefined && entriesIn(figures) > 0) together += 1;
    }
    return together <= DAYS_TOGETHER_MAX ? start : null;
  }

  /** Returns whether the stretch leaves to later days what its last day left before. */
  async #keep(stretch: Stretch): Promise<boolean> {
    const { zone } = this.#options;
    for (const other of [...this.#stretches.values()]) {
      if (other.from > stretch.through || other.through < stretch.from) continue;
      this.#stretches.delete(other.from);
      this.dayCount -= other.days.length;
      this.breakCount -= other.breaks.length;
    }
    this.#stretches.set(stretch.from, stretch);
    this.dayCount += stretch.days.length;
    this.breakCount += stretch.breaks.length;
    const then = await this.#known.at(stretch.through);
    for (const figures of stretch.days) await this.#known.put(figures);
    for (let day = stretch.from; day <= stretch.through; day = dayAfter(day, zone)) this.waiting.delete(day);
    const now = stretch.days.at(-1);
    return now === undefined || now.day !== stretch.through ? then === undefined : endsAs(now, then);
  }

  async #continues({ through, days }: Stretch, isSameEnd: boolean): Promise<boolean> {
    const { certified, zone } = this.#options;
    const next = dayAfter(through, zone);
    if (this.waiting.has(next)) return true;
    const known = await this.#known.at(next);
    if (known !== undefined) return !isSameEnd && (!known.restarted || (await this.#goesOn(next)));
    return days.length > 0 && certified.isComplete(through) && certified.isComplete(next);
  }

  /** Whether the first entry from that day on does not start from the balance that the days before end on. */
  async #jumps(day: BusinessDay): Promise<boolean> {
    const next = await this.#known.busyFrom(day);
    return next?.startsWithBreak === true && !next.restarted;
  }

  /** A break in front of that day has come or gone. It counts for the quiet days before it, too, and for the one before these. */
  async #waitBefore(day: BusinessDay): Promise<void> {
    let before = await this.#known.before(day);
    for (; before !== undefined; before = await this.#known.before(before.day)) {
      this.waiting.add(before.day);
      if (entriesIn(before) > 0) break;
    }
  }
}

/** The balance, the entry and the cleanness of an end are all that later days take over from it. */
const endsAs = (now: DayFigures, then: DayFigures | undefined): boolean =>
  then !== undefined &&
  compareAmounts(now.closing, then.closing) === 0 &&
  now.lastBatchNo === then.lastBatchNo &&
  now.lastBookedMs === then.lastBookedMs &&
  now.isOrderFinal === then.isOrderFinal;

const brokenAfter = (figures: DayFigures): DayFigures => ({
  ...figures,
  verdict: 'broken',
  breakCount: figures.breakCount + 1,
  breaksAfter: figures.breaksAfter + 1,
});

/** Whether the stretch begins the account's ledger, and on zero: that decides which balances it closes on. */
async function isDecidedByBegin(
  { days }: Stretch,
  db: Kysely<DB>,
  account: Account,
  zone: string,
): Promise<boolean> {
  const first = days.find(({ lastBookedMs }) => lastBookedMs !== null);
  if (first?.restarted !== true || first.otherClosings === undefined) return false;
  if (compareAmounts(first.opening, '0') !== 0) return false;
  return isLedgerBegin(db, account, dayWindow(first.day, zone));
}

const storedDiffers = (figures: DayFigures, stored: DayFigures): boolean =>
  !sameStated(figures, stored) ||
  (['lastBatchNo', 'lastBookedMs', 'isOrderFinal', 'startsWithBreak'] as const).some(
    (figure) => figures[figure] !== stored[figure],
  );
