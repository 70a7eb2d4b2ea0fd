/** Wall-clock times for people and for slots. */
import { tzOffset } from '@date-fns/tz';

/** `YYYY-MM-DD HH:mm` in a zone. */
export const wallTime = (ms: number, zone: string): string => wallSecond(ms, zone).slice(0, 16);

/** `YYYY-MM-DD HH:mm:ss` in a zone. */
export const wallSecond = (ms: number, zone: string): string =>
  new Date(ms + tzOffset(zone, new Date(ms)) * 60_000).toISOString().slice(0, 19).replace('T', ' ');
