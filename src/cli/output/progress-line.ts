/** Shows on one line of a terminal how far a run is. Without a terminal it writes nothing. */
import type { Logger } from 'pino';
import type { Retry } from '../../platform/transport.ts';
import type { Progress } from '../../run/active-run.ts';
import { counted } from './text.ts';

const REDRAW_MS = 100;

interface ProgressLine {
  readonly show: (progress: Progress) => void;
  readonly clear: () => void;
}

/** The time left is only shown after this time and from this share on, as it cannot be estimated before. */
const REMAINING_SHOWN_AFTER_MS = 3_000;
const REMAINING_SHOWN_FROM_SHARE = 0.05;

/** `, about 3 min left`; empty as long as it cannot be estimated. */
export function leftText(elapsedMs: number, done: number, all: number): string {
  const share = all === 0 ? 0 : done / all;
  if (elapsedMs < REMAINING_SHOWN_AFTER_MS || share < REMAINING_SHOWN_FROM_SHARE || share >= 1) return '';
  const leftS = Math.ceil((elapsedMs * (1 - share)) / share / 1_000);
  if (leftS < 60) return `, about ${Math.max(5, Math.ceil(leftS / 5) * 5)} s left`;
  const minutes = Math.round(leftS / 60);
  return minutes < 90 ? `, about ${minutes} min left` : `, about ${Math.round(minutes / 60)} h left`;
}

export function createProgressLine(
  terminal: { readonly isTTY?: boolean; readonly write: (text: string) => unknown } = process.stderr,
  nowMs: () => number = () => performance.now(),
): ProgressLine {
  if (!terminal.isTTY) return { show: () => undefined, clear: () => undefined };
  const merchants = new Map<string, SyncProgress>();
  let run: Extract<Progress, { stage: 'merchants' }> | null = null;
  let drawnMs = 0;
  let stage: Progress['stage'] | null = null;
  let beganMs = 0;
  return {
    show: (given) => {
      // Of many merchants side by side, only those that are done are counted.
      if (given.stage === 'merchants') run = given.merchants > 1 ? given : null;
      const progress = run ?? given;
      if (progress.stage === 'merchants' && run === null) return;
      if (progress.stage === 'sync') merchants.set(progress.merchantNo, progress);
      if (progress.stage !== stage) [stage, beganMs] = [progress.stage, nowMs()];
      if (nowMs() - drawnMs < REDRAW_MS) return;
      drawnMs = nowMs();
      const { text, done = 0, all = 0 } = progressText(progress, [...merchants.values()]);
      terminal.write(`\r\u001b[K${text}${leftText(nowMs() - beganMs, done, all)}`);
    },
    clear: () => void terminal.write('\r\u001b[K'),
  };
}

type SyncProgress = Extract<Progress, { stage: 'sync' }>;

interface ProgressText {
  readonly text: string;
  /** How much of it all is done, to estimate the time left; left out where that is not known. */
  readonly done?: number;
  readonly all?: number;
}

/** `reading` has the progress of each merchant that is read. */
function progressText(progress: Progress, reading: readonly SyncProgress[]): ProgressText {
  switch (progress.stage) {
    case 'reconcile': {
      const { accountsDone: done, accounts: all } = progress;
      return { text: `chaining account ${done} of ${all}`, done, all };
    }
    case 'publish': {
      const { daysDone: done, days: all } = progress;
      return { text: `publishing day ${done} of ${all}`, done, all };
    }
    case 'adopt': {
      const statements = counted(progress.statements, 'statement');
      return { text: `taking over day ${progress.days}, ${statements} so far` };
    }
    case 'import':
      return { text: `reading: ${counted(progress.rows, 'row')}` };
    case 'merchants': {
      const { merchantsDone: done, merchants: all } = progress;
      return { text: `merchant ${done.toLocaleString('en')} of ${all.toLocaleString('en')}`, done, all };
    }
    case 'sync': {
      const sum = (figure: 'entries' | 'requests' | 'windowsDone' | 'windowsPlanned'): number =>
        reading.reduce((total, one) => total + one[figure], 0);
      const [done, all] = [sum('windowsDone'), sum('windowsPlanned')];
      const read = `${counted(sum('entries'), 'entry', 'entries')}, ${counted(sum('requests'), 'call')}`;
      return { text: `reading: ${read}, window ${done} of ${all}`, done, all };
    }
  }
}

/** For this long, further retries of the same subject are only logged at level debug. */
const QUIET_MS = 10_000;

export function createRetryLog(log: Logger, clock = (): number => performance.now()): (retry: Retry) => void {
  const reportedMs = new Map<string, number>();
  return (retry) => {
    const nowMs = clock();
    const isNews = nowMs - (reportedMs.get(retry.subject) ?? Number.NEGATIVE_INFINITY) >= QUIET_MS;
    if (isNews) reportedMs.set(retry.subject, nowMs);
    log[isNews ? 'warn' : 'debug'](retry, 'calling again');
  };
}
