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
  const merchants = new Map<string, Extract<Progress, { stage: 'sync' }>>();
  let run: Extract<Progress, { stage: 'merchants' }> | null = null;
  let drawnMs = 0;
  let stage: Progress['stage'] | null = null;
  let beganMs = 0;
  const left = (done: number, all: number): string => leftText(nowMs() - beganMs, done, all);
  const wording = (progress: Progress): string => {
    if (progress.stage === 'reconcile')
      return (
        `chaining account ${progress.accountsDone} of ${progress.accounts}` +
        left(progress.accountsDone, progress.accounts)
      );
    if (progress.stage === 'publish')
      return `publishing day ${progress.daysDone} of ${progress.days}${left(progress.daysDone, progress.days)}`;
    if (progress.stage === 'adopt')
      return `taking over day ${progress.days}, ${counted(progress.statements, 'statement')} so far`;
    if (progress.stage === 'merchants')
      return (
        `merchant ${progress.merchantsDone.toLocaleString('en')} of ${progress.merchants.toLocaleString('en')}` +
        left(progress.merchantsDone, progress.merchants)
      );
    const all = [...merchants.values()];
    const sum = (figure: (one: (typeof all)[number]) => number) =>
      all.reduce((total, one) => total + figure(one), 0);
    return (
      `reading: ${counted(
        sum((one) => one.entries),
        'entry',
        'entries',
      )}, ${counted(
        sum((one) => one.requests),
        'call',
      )}, ` +
      `window ${sum((one) => one.windowsDone)} of ${sum((one) => one.windowsPlanned)}` +
      left(
        sum((one) => one.windowsDone),
        sum((one) => one.windowsPlanned),
      )
    );
  };
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
      terminal.write(`\r\u001b[K${wording(progress)}`);
    },
    clear: () => void terminal.write('\r\u001b[K'),
  };
}

/** For this long, further retries of the same subject are only logged at level debug. */
const QUIET_MS = 10_000;

export function createRetryLog(log: Logger, clock: () => number): (retry: Retry) => void {
  const reportedMs = new Map<string, number>();
  return (retry) => {
    const nowMs = clock();
    const isNews = nowMs - (reportedMs.get(retry.subject) ?? Number.NEGATIVE_INFINITY) >= QUIET_MS;
    if (isNews) reportedMs.set(retry.subject, nowMs);
    log[isNews ? 'warn' : 'debug'](retry, 'calling again');
  };
}
