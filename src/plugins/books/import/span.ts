/**
 * The span of time that a file of an own book holds. An entry outside may be in another file: the next one of a book that is exported day by
 * day, or hour by hour, in whatever zone it has its days. So a time stands for itself, and only a day without a time for all of that day.
 */
import { addDays, dayOf, dayWindow } from '../../../ledger/business-day.ts';
import type { BusinessDay } from '../../../ledger/entry.ts';
import type { Moment } from './values.ts';

/** What is held. An entry with a time is, from `beginMs` to `endMs`; one of a day alone, from `from` to `to`; each both included. */
export interface Span {
  readonly beginMs: number;
  readonly endMs: number;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  /** The days in the book's zone that it reaches, complete or not. */
  readonly firstDay: BusinessDay;
  readonly lastDay: BusinessDay;
}

/** Of `zone`, the book's own. */
export function createSpan(zone: string) {
  let [beginMs, endMs] = [Infinity, -Infinity];
  let [from, to, firstDay, lastDay] = ['9', '0', '9', '0'];
  const add = ({ bookedAt, day }: Moment): void => {
    if (bookedAt === null) {
      const window = dayWindow(day, zone);
      [beginMs, endMs] = [Math.min(beginMs, window.beginMs), Math.max(endMs, window.endMs)];
      [from, to] = [day < from ? day : from, day > to ? day : to];
      [firstDay, lastDay] = [day < firstDay ? day : firstDay, day > lastDay ? day : lastDay];
      return;
    }
    const ms = Date.parse(bookedAt);
    const own = dayOf(ms, zone);
    // Of the second of the first row and of the last one, there may be more in the file before or behind.
    [beginMs, endMs] = [Math.min(beginMs, ms + 1), Math.max(endMs, ms - 1)];
    [firstDay, lastDay] = [own < firstDay ? own : firstDay, own > lastDay ? own : lastDay];
  };
  /** Null where no row was added and no day is named. `named` are the days that a person says the file holds completely. */
  const held = (named: {
    readonly from?: BusinessDay | undefined;
    readonly to?: BusinessDay | undefined;
  }): Span | null => {
    const [first, last] = [named.from ?? firstDay, named.to ?? lastDay];
    if (first === '9' || last === '0' || first > last) return null;
    return {
      ...{ firstDay: first, lastDay: last },
      beginMs: named.from === undefined ? beginMs : dayWindow(named.from, zone).beginMs,
      endMs: named.to === undefined ? endMs : dayWindow(named.to, zone).endMs,
      // Days between that are reached by times alone are complete, but the first and the last.
      from: named.from ?? (from <= firstDay ? from : addDays(firstDay, 1)),
      to: named.to ?? (to >= lastDay ? to : addDays(lastDay, -1)),
    };
  };
  return { add, held };
}
