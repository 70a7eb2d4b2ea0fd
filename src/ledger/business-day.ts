/** Turns business days and wall-clock times of the platform's time zone into instants, and back. */
import { EXIT, ExpectedError } from './ending.ts';
import { tzOffset } from '@date-fns/tz';
import { utc } from '@date-fns/utc';
import { eachDayOfInterval } from 'date-fns/eachDayOfInterval';
import type { BusinessDay, Window } from './entry.ts';
import { placesMeant } from './zone-names.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const SECOND_MS = 1_000;

/** A day that is not in the calendar, or not written `YYYY-MM-DD`. */
export class InvalidDay extends ExpectedError {
  override readonly name = 'InvalidDay';
  readonly exitCode = EXIT.usage;
  constructor(text: string) {
    super(`'${text}' is not a day of the calendar; write it as YYYY-MM-DD, like 2026-03-31.`);
  }
}

/** Days remembered of each zone: about eleven years. */
const DAYS_MAX = 4_000;

/** Remembers what `find` gives for each zone and key, as the same few days are asked for with every entry. */
function remembered<Key, Value>(find: (zone: string, key: Key) => Value): (zone: string, key: Key) => Value {
  const zones = new Map<string, Map<Key, Value>>();
  return (zone, key) => {
    let known = zones.get(zone);
    if (known === undefined) zones.set(zone, (known = new Map<Key, Value>()));
    let value = known.get(key);
    if (value === undefined) {
      value = find(zone, key);
      if (known.size >= DAYS_MAX) known.clear();
      known.set(key, value);
    }
    return value;
  };
}

/** The text of a day, by its number since 1970 in UTC. */
const textOf = remembered((_utc, utcDay: number): BusinessDay =>
  new Date(utcDay * DAY_MS).toISOString().slice(0, 10),
);

const dayText = (utcMs: number): BusinessDay => textOf('UTC', Math.floor(utcMs / DAY_MS));

/** Midnight of the day in UTC, whatever zone this machine is in. NaN where the calendar has no such day. */
function utcMidnight(day: string): number {
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN;
  // Some engines take 2026-02-30 for the second of March.
  return !Number.isNaN(ms) && dayText(ms) === day ? ms : Number.NaN;
}

/** Checks a calendar day. Throws `InvalidDay` for 2026-02-30, 2026-1-1 and the like. */
export function parseDay(text: string): BusinessDay {
  if (!isDay(text)) throw new InvalidDay(text);
  return text;
}

/** Whether it is a day of the calendar, written `YYYY-MM-DD`. */
export const isDay = (text: string): boolean => !Number.isNaN(utcMidnight(text));

/** The day `days` after (or before, when negative) `day`. */
export const addDays = (day: BusinessDay, days: number): BusinessDay =>
  dayText(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS);

/** Every day from `from` to `to`, both included; empty where `from` lies after `to`. */
export const daysFromTo = (from: BusinessDay, to: BusinessDay): BusinessDay[] =>
  from > to
    ? []
    : eachDayOfInterval({ start: utcMidnight(from), end: utcMidnight(to) }, { in: utc }).map((day) =>
        dayText(day.getTime()),
      );

/** Whether `name` is an IANA time zone this machine knows, and no abbreviation: in China CST is not what it is in Chicago. */
export function isTimeZone(name: string): boolean {
  if (placesMeant(name).length > 0) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return /^[A-Za-z]/.test(name);
  } catch {
    return false;
  }
}

const exactOffsetMs = (zone: string, ms: number): number =>
  Math.round(tzOffset(zone, new Date(ms)) * MINUTE_MS);

/** The zone's offset all through a day of UTC, given by its number since 1970; null where the clock changes in it. */
const steadyOffsetMs = remembered((zone, utcDay: number): number | null => {
  const offset = exactOffsetMs(zone, utcDay * DAY_MS);
  return exactOffsetMs(zone, (utcDay + 1) * DAY_MS - 1) === offset ? offset : null;
});

/** Offset of a zone at an instant, in ms east of UTC. */
export const offsetMs = (zone: string, ms: number): number =>
  steadyOffsetMs(zone, Math.floor(ms / DAY_MS)) ?? exactOffsetMs(zone, ms);

/** The date that a clock in the zone shows at an instant. Where the clock is set back over midnight, it shows an earlier date again. */
export const shownDay = (ms: number, zone: string): BusinessDay => dayText(ms + offsetMs(zone, ms));

/** The business day an instant belongs to in a zone: the one whose `dayWindow` holds it. */
export function dayOf(ms: number, zone: string): BusinessDay {
  const shown = shownDay(ms, zone);
  if (clockOf(zone, shown).offsets.length === 1) return shown;
  let day = shown;
  while (ms < dayWindow(day, zone).beginMs) day = addDays(day, -1);
  while (ms > dayWindow(day, zone).endMs) day = addDays(day, 1);
  return day;
}

/** Whether the zone's clock has changed on the instant's own day, before it. */
export const isAfterChange = (ms: number, zone: string): boolean =>
  offsetMs(zone, ms - DAY_MS) !== offsetMs(zone, ms) &&
  offsetMs(zone, dayWindow(dayOf(ms, zone), zone).beginMs) !== offsetMs(zone, ms);

/** The first instant of the new offset if the zone's offset changes once in (fromMs, toMs], else null. */
function transitionIn(zone: string, fromMs: number, toMs: number): number | null {
  const before = offsetMs(zone, fromMs);
  if (offsetMs(zone, toMs) === before) return null;
  let low = fromMs;
  let high = toMs;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetMs(zone, middle) === before) low = middle;
    else high = middle;
  }
  return high;
}

interface DayClock {
  /** Midnight of the day in UTC; NaN where the calendar has no such day. */
  readonly utcMs: number;
  /** The zone's offsets that can apply on that day: one, or two where the clock changes around it. */
  readonly offsets: readonly number[];
}

const SURROUNDING_MS = 15 * HOUR_MS;

const clockOf = remembered((zone, day: string): DayClock => {
  const utcMs = utcMidnight(day);
  const around = [utcMs - SURROUNDING_MS, utcMs + DAY_MS + SURROUNDING_MS];
  const offsets = Number.isNaN(utcMs) ? [] : [...new Set(around.map((ms) => offsetMs(zone, ms)))];
  return { utcMs, offsets };
});

const TIME_OF_DAY = /^ (?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d$/;
const ZERO = 48;

const twoDigits = (text: string, at: number): number =>
  (text.charCodeAt(at) - ZERO) * 10 + text.charCodeAt(at + 1) - ZERO;

/**
 * The instants that a wall-clock time `YYYY-MM-DD HH:mm:ss` can mean in a zone, earliest first. Nearly always there
 * is one. There is none in the hour that a clock skips, or if the text is no valid time, and there are two in the
 * hour that a clock repeats.
 */
export function instantsOf(bookedAt: string, zone: string): readonly number[] {
  const time = bookedAt.slice(10);
  if (!TIME_OF_DAY.test(time)) return [];
  const { utcMs, offsets } = clockOf(zone, bookedAt.slice(0, 10));
  const wallMs =
    utcMs + twoDigits(time, 1) * HOUR_MS + twoDigits(time, 4) * MINUTE_MS + twoDigits(time, 7) * SECOND_MS;
  if (offsets.length === 1) return [wallMs - offsets[0]!];
  return offsets
    .map((offset) => wallMs - offset)
    .filter((ms) => ms + offsetMs(zone, ms) === wallMs)
    .sort((a, b) => a - b);
}

/**
 * First instant of a day: from it on, the clock shows this date or a later one. It is midnight; or where the clock skips
 * midnight, the first instant after the skip; or where the clock is set back over midnight, the last midnight.
 */
function dayStartMs(day: BusinessDay, zone: string): number {
  const { utcMs, offsets } = clockOf(zone, day);
  if (offsets.length === 1) return utcMs - offsets[0]!;
  const around = { beginMs: utcMs - DAY_MS - SURROUNDING_MS, endMs: utcMs + DAY_MS + SURROUNDING_MS };
  const earlier = splitAtTransitions(around, zone).flatMap(({ beginMs, endMs }) => {
    const midnightMs = utcMs - offsetMs(zone, beginMs);
    return beginMs < midnightMs ? [Math.min(endMs + 1, midnightMs)] : [];
  });
  return Math.max(...earlier);
}

const windowOf = remembered((zone, day: BusinessDay): Window => ({
  beginMs: dayStartMs(day, zone),
  endMs: dayStartMs(addDays(day, 1), zone) - 1,
}));

/** The instants of a business day. The day is 23 or 25 hours long where the clock changes, and has none where the zone skips it. */
export const dayWindow = (day: BusinessDay, zone: string): Window => windowOf(zone, day);

/** Whether the zone has this day: a zone that goes over the date line skips one. */
export function hasDay(day: BusinessDay, zone: string): boolean {
  const { beginMs, endMs } = dayWindow(day, zone);
  return beginMs <= endMs;
}

/** The days from `from` to `to`, both included, that the zone has. */
export const zoneDays = (from: BusinessDay, to: BusinessDay, zone: string): BusinessDay[] =>
  daysFromTo(from, to).filter((day) => hasDay(day, zone));

/** The last day before `day` that the zone has. */
export function dayBefore(day: BusinessDay, zone: string): BusinessDay {
  const before = addDays(day, -1);
  return hasDay(before, zone) ? before : dayBefore(before, zone);
}

/** Whether the clock shows the date of this day before the day begins, as it is set back over midnight then. */
export function beginsTwice(day: BusinessDay, zone: string): boolean {
  const { utcMs, offsets } = clockOf(zone, day);
  if (offsets.length === 1) return false;
  const { beginMs } = dayWindow(day, zone);
  return offsets.some((offset) => utcMs - offset < beginMs && shownDay(utcMs - offset, zone) === day);
}

/** Cuts a window where the zone's offset changes. Inside each part a wall-clock time means exactly one instant. */
export function splitAtTransitions(window: Window, zone: string): Window[] {
  const parts: Window[] = [];
  let beginMs = window.beginMs;
  while (beginMs <= window.endMs) {
    const stepEndMs = Math.min(window.endMs, beginMs + DAY_MS);
    let at: number | null = null;
    let fromMs = beginMs;
    let toMs = stepEndMs;
    while (at === null && fromMs < window.endMs) {
      at = transitionIn(zone, fromMs, toMs);
      fromMs = toMs;
      toMs = Math.min(window.endMs, toMs + DAY_MS);
    }
    parts.push({ beginMs, endMs: at === null ? window.endMs : at - 1 });
    beginMs = at ?? window.endMs + 1;
  }
  return parts;
}

const WELL_KNOWN = [
  'Asia/Shanghai',
  'UTC',
  'Asia/Hong_Kong',
  'Asia/Singapore',
  'Europe/London',
  'Europe/Berlin',
  'America/New_York',
  'America/Los_Angeles',
  'Asia/Tokyo',
  'Asia/Kolkata',
  'Asia/Dubai',
  'America/Sao_Paulo',
  'Australia/Sydney',
];

/** IANA zones whose offset at an instant is `offsetMinutes` east of UTC, well-known ones first. */
export function zonesAt(ms: number, offsetMinutes: number): string[] {
  const names = [...new Set([...WELL_KNOWN, ...Intl.supportedValuesOf('timeZone')])];
  return names.filter((zone) => exactOffsetMs(zone, ms) === offsetMinutes * MINUTE_MS);
}
