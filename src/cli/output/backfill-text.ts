/** Shows how far backfills are. */
import type { BackfillStatus } from '../../run/backfill/progress.ts';
import { leftName } from '../../run/status-remarks.ts';
import { table } from './text.ts';
import type { Times } from './times.ts';

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
