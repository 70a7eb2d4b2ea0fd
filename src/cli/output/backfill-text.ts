/** Words how far backfills are. */
import type { BackfillStatus } from '../../run/backfill/progress.ts';
import { counted, line, table } from './text.ts';
import type { Times } from './times.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** `about 40 min`, `about 7 h`, `about 3 days`; `not known yet` for null. */
export function leftName(leftMs: number | null): string {
  if (leftMs === null) return 'not known yet';
  if (leftMs < 60_000) return 'under a minute';
  if (leftMs < 1.5 * HOUR_MS) return `about ${Math.round(leftMs / 60_000)} min`;
  return leftMs < 2 * DAY_MS
    ? `about ${Math.round(leftMs / HOUR_MS)} h`
    : `about ${Math.round(leftMs / DAY_MS)} days`;
}

/** `open`, `done` or `cancelled`. */
const stateOf = ({ endedAt, isCancelled }: BackfillStatus): string =>
  endedAt === null ? 'open' : isCancelled ? 'cancelled' : 'done';

export const backfillsTable = (backfills: readonly BackfillStatus[], times: Times): string =>
  table(
    [
      'backfill',
      'days',
      '>merchants',
      'state',
      '>days done',
      '>days left',
      'time left',
      '?>failing',
      '?asked for',
    ],
    backfills.map((one) => [
      one.id,
      `${one.from} to ${one.to}`,
      one.merchants,
      stateOf(one),
      one.daysDone,
      one.daysLeft,
      one.endedAt === null ? leftName(one.leftMs) : '',
      one.failing,
      times.at(one.requestedAt),
    ]),
  );

/** `backfill 3, 2025-01-01 to 2025-12-31 of 12 merchants: 1,200 days done, 3,180 days left, time left: about 7 h`. */
export const backfillText = ({
  id,
  from,
  to,
  merchants,
  daysDone,
  daysLeft,
  leftMs,
}: BackfillStatus): string =>
  `backfill ${id}, ${from} to ${to} of ${counted(merchants, 'merchant')}: ${counted(daysDone, 'day')} done, ` +
  `${counted(daysLeft, 'day')} left, time left: ${leftName(leftMs)}`;

/** What the next slices said that have failed, a line for each merchant. */
export const failureTexts = ({ id, failing, failures }: BackfillStatus, times: Times): string[] => [
  ...failures.map(
    ({ merchantNo, nextDay, tries, problem, tryAt }) =>
      line`backfill ${id}, ${merchantNo} from ${nextDay}: failed ${counted(tries, 'time')}, tried again at ${times.at(tryAt)}: ${problem}`,
  ),
  ...(failing > failures.length
    ? [`backfill ${id}: and ${counted(failing - failures.length, 'more merchant')}`]
    : []),
];
