/** Wall-clock times for people and for slots. */
import { tzOffset } from '@date-fns/tz';

/** `YYYY-MM-DD HH:mm` in a zone. */
export const wallTime = (ms: number, zone: string): string =>
  new Date(ms + tzOffset(zone, new Date(ms)) * 60_000).toISOString().slice(0, 16).replace('T', ' ');
