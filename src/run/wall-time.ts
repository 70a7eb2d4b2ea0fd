/** Wall-clock times for people and for slots. */
import { tzOffset } from '@date-fns/tz';

/** What a zone's clock shows at an instant, as ms of the same reading in UTC. */
export const wallMs = (ms: number, zone: string): number => ms + tzOffset(zone, new Date(ms)) * 60_000;

/** `YYYY-MM-DD HH:mm` in a zone. */
export const wallTime = (ms: number, zone: string): string =>
  new Date(wallMs(ms, zone)).toISOString().slice(0, 16).replace('T', ' ');

/** `YYYY-MM-DD HH:mm:ss` in a zone. */
export const wallSecond = (ms: number, zone: string): string =>
  new Date(wallMs(ms, zone)).toISOString().slice(0, 19).replace('T', ' ');
