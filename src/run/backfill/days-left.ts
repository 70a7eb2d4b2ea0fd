/** Keeps the nightly work and backfills apart: what is left of a backfill is no missed night. Pure. */
import { dayWindow } from '../../ledger/business-day.ts';
import type { Window } from '../../ledger/entry.ts';
import type { OpenPart } from '../../store/backfills.ts';
import { sliceFrom } from './slices.ts';

/**
 * What a night takes for certified, given what is and the open backfills of the merchant. Nights take a short gap
 * between certificates for days that downtime left unread. A gap that an open backfill is at counts as certified here:
 * the slice that may be half read, and the days from there to the next certificate. A merchant of whom only backfills
 * have read anything has no certificate here.
 */
export function withoutBackfills(
  certified: readonly Window[],
  open: readonly Pick<OpenPart, 'nextDay' | 'toDay'>[],
  zone: string,
): readonly Window[] {
  if (open.length === 0) return certified;
  const covered: Window[] = [];
  let isReadBeyond = false;
  for (const { nextDay, toDay } of open) {
    const { beginMs } = dayWindow(nextDay, zone);
    const sliceEndMs = dayWindow(sliceFrom(nextDay, toDay).to, zone).endMs;
    const beyond = certified.filter(({ endMs }) => endMs > sliceEndMs);
    if (beyond.length === 0) continue;
    isReadBeyond = true;
    const nextMs = Math.max(sliceEndMs, Math.min(...beyond.map((window) => window.beginMs)) - 1);
    covered.push({ beginMs, endMs: Math.min(nextMs, dayWindow(toDay, zone).endMs) });
  }
  return isReadBeyond ? [...certified, ...covered] : [];
}
