/** The queues: daily runs, backfills, and dead letters. */
import type { Queue as QueueOptions } from 'pg-boss';

/** The database schema of pg-boss's tables, separate from daybook's own. */
export const QUEUE_SCHEMA = 'daybook_queue';

/** The queues that workers take jobs from, the most urgent first. */
export const LANES = ['night', 'backfill'] as const;
export type Lane = (typeof LANES)[number];

/** Where a job goes whose last attempt failed. Nothing takes it from there but `jobs redrive`. */
export const DEAD_LETTERS = 'dead';

/** A job that failed, or whose worker died, is tried again this often before it is given up. */
export const RETRY_LIMIT = 5;
/** The pause before the first of these attempts. It doubles each time, with some jitter. */
const RETRY_DELAY_S = 5;
const RETRY_DELAY_MAX_S = 300;

/** A job goes back to its queue if its worker has not been heard of for this long. */
const HEARTBEAT_S = 20;
/** No merchant takes longer. It is the longest time that pg-boss knows. */
const EXPIRE_S = 86_400;
/** How long a job waits for a worker before it is dropped; its run then says so. */
const KEPT_WAITING_S = 14 * 86_400;
const KEPT_DONE_S = 86_400;
const KEPT_DEAD_S = 90 * 86_400;

const worked = {
  // One job a merchant, waiting or at work: the next one is refused until it is done.
  policy: 'exclusive',
  deadLetter: DEAD_LETTERS,
  retryLimit: RETRY_LIMIT,
  retryDelay: RETRY_DELAY_S,
  retryBackoff: true,
  retryDelayMax: RETRY_DELAY_MAX_S,
  heartbeatSeconds: HEARTBEAT_S,
  expireInSeconds: EXPIRE_S,
  retentionSeconds: KEPT_WAITING_S,
  deleteAfterSeconds: KEPT_DONE_S,
} as const;

/** All queues. The dead letters come first, as the others name them. */
export const QUEUES: readonly QueueOptions[] = [
  { name: DEAD_LETTERS, retryLimit: 0, retentionSeconds: KEPT_DEAD_S, deleteAfterSeconds: KEPT_DEAD_S },
  ...LANES.map((name) => ({ name, ...worked })),
];

/** One merchant's work in one run. */
export interface MerchantJob {
  readonly runId: number;
  readonly merchantNo: string;
}
