/** Tells a person how late entries come, and where the lookback reaches further back because of it. */
import type { DaysLate, Lateness } from '../ledger/lateness.ts';
import type { MerchantSync } from './report.ts';
import { countedInText as counted } from '../ledger/text.ts';

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
  const more = reported.length - NAMED_MAX;
  const named = reported.slice(0, NAMED_MAX).join('; ');
  return `lookback extended, as entries come late: ${named}${more > 0 ? `; and ${more} more` : ''}`;
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
