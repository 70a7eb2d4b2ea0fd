/** Formats instants as wall-clock times, for people and for the schedule's slots. */
import { offsetMs } from './business-day.ts';
import type { Window } from './entry.ts';

/** What a clock in the zone shows at an instant, as the ms at which a clock in UTC shows the same. */
export const wallMs = (ms: number, zone: string): number => ms + offsetMs(zone, ms);

/** `YYYY-MM-DD HH:mm` in a zone. */
export const wallTime = (ms: number, zone: string): string =>
  new Date(wallMs(ms, zone)).toISOString().slice(0, 16).replace('T', ' ');

/** `YYYY-MM-DD HH:mm:ss` in a zone. */
export const wallSecond = (ms: number, zone: string): string =>
  new Date(wallMs(ms, zone)).toISOString().slice(0, 19).replace('T', ' ');

/** `+08:00`: how far a zone's clock is ahead of UTC at an instant. */
export function offsetText(ms: number, zone: string): string {
  const minutes = Math.round(offsetMs(zone, ms) / 60_000);
  const two = (count: number): string => String(Math.floor(count)).padStart(2, '0');
  return `${minutes < 0 ? '-' : '+'}${two(Math.abs(minutes) / 60)}:${two(Math.abs(minutes) % 60)}`;
}

/** `2026-04-01 10:00:00 +08:00`, in UTC where the zone is not known. */
export function instantText(at: Date, zone: string | null): string {
  const [ms, known] = [at.getTime(), zone ?? 'UTC'];
  return `${wallSecond(ms, known)} ${offsetText(ms, known)}`;
}

/** `2026-03-31 22:00:00 to 2026-03-31 23:00:00 (Asia/Shanghai)`. The second time is the first one after the window. */
export const wallSpan = ({ beginMs, endMs }: Window, zone: string): string =>
  `${wallInstant(beginMs, zone)} to ${wallInstant(endMs + 1, zone)} (${zone})`;

const INSTANT = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;
const WINDOW_IN_UTC = new RegExp(`the window (${INSTANT}) to (${INSTANT})`, 'g');

/** Stored problems of readings name their window in UTC; people read it in the platform's zone. */
export const windowsInZone = (text: string, zone: string): string =>
  text.replaceAll(WINDOW_IN_UTC, (_, begin: string, end: string) => {
    return `the window ${wallSpan({ beginMs: Date.parse(begin), endMs: Date.parse(end) }, zone)}`;
  });

/** With milliseconds, unless it is a complete second. */
const wallInstant = (ms: number, zone: string): string =>
  new Date(wallMs(ms, zone)).toISOString().slice(0, 23).replace('T', ' ').replace('.000', '');
