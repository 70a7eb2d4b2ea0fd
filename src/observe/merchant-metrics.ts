/** Each merchant as metrics, for DAYBOOK_METRICS_MERCHANTS. Only these have a merchant's number as a label. */
import type { MerchantStatus } from '../run/status.ts';
import { endOfDayMs, seconds, timestamp, type StateMetric } from './sample.ts';
import type { State } from './state.ts';

const ofEach =
  (value: (status: MerchantStatus, state: State) => number | null): StateMetric['samples'] =>
  (state) =>
    state.merchants.flatMap((status) => {
      const found = value(status, state);
      return found === null ? [] : [{ value: found, labels: { merchant: status.merchantNo } }];
    });

const metric = (name: string, help: string, value: Parameters<typeof ofEach>[0]): StateMetric => ({
  name,
  help,
  labels: ['merchant'],
  samples: ofEach(value),
});

export const MERCHANT_METRICS: readonly StateMetric[] = [
  metric(
    'daybook_merchant_last_good_reading_timestamp_seconds',
    'When the merchant was last read and nothing was left undone for it.',
    ({ lastGoodRunAt }) => lastGoodRunAt && timestamp(lastGoodRunAt),
  ),
  metric(
    'daybook_merchant_proven_through_timestamp_seconds',
    'The end of the last day up to which the merchant is proven.',
    ({ provenThrough }, { zone }) => {
      const endMs = endOfDayMs(provenThrough, zone);
      return endMs === null ? null : seconds(endMs);
    },
  ),
  metric(
    'daybook_merchant_dates_missing',
    'Days of the merchant that are over and of which something is missing.',
    ({ daysMissing }) => daysMissing,
  ),
  metric('daybook_merchant_breaks_open', 'Open breaks of the merchant.', ({ openBreaks }) => openBreaks),
  metric(
    'daybook_merchant_windows_uncertified',
    'Windows of the merchant without a certificate.',
    ({ uncertified }) => uncertified,
  ),
  metric(
    'daybook_merchant_entries_unreadable',
    'Unacknowledged unreadable entries of the merchant.',
    ({ quarantined }) => quarantined,
  ),
];
