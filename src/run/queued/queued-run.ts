/** A run that workers do: what it was asked for, kept with its row, and its merchants. */
import type { Chosen } from '../../ledger/account-filter.ts';
import type { BusinessDay } from '../../ledger/entry.ts';
import type { DueJob } from '../schedule/due.ts';
import type { DayRange } from '../range.ts';
import type { RunCommand } from '../report.ts';

/** What a queued run was asked for. Merchants are in table `run_merchant`, their tokens nowhere but in `merchant`. */
export interface QueuedRequest {
  readonly command: RunCommand;
  /** Null: for each merchant the days that a night reads. */
  readonly range: DayRange | null;
  readonly currencies: Chosen;
  readonly scheduled: DueJob | null;
  /** As in `RunDeps`; null if there is no such sweep. */
  readonly lateSweepDays: number | null;
  /** As in `RunRequest`; left out by versions that did not check. */
  readonly notRead?: readonly string[];
}

/** The row of a queued run. */
export interface QueuedRun {
  readonly id: number;
  readonly request: QueuedRequest;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  readonly startedAt: Date;
}
