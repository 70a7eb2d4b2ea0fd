/** One line on a terminal that says how far a run is; nothing at all elsewhere. */
import type { Progress } from '../run/progress.ts';
import { counted } from './text.ts';

const REDRAW_MS = 100;

export interface ProgressLine {
  readonly show: (progress: Progress) => void;
  readonly clear: () => void;
}

export function createProgressLine(terminal: NodeJS.WriteStream = process.stderr): ProgressLine {
  if (!terminal.isTTY) return { show: () => undefined, clear: () => undefined };
  const merchants = new Map<string, Extract<Progress, { stage: 'sync' }>>();
  let drawnMs = 0;
  const wording = (progress: Progress): string => {
    if (progress.stage === 'reconcile')
      return `chaining account ${progress.accountsDone} of ${progress.accounts}`;
    if (progress.stage === 'publish') return `publishing day ${progress.daysDone} of ${progress.days}`;
    if (progress.stage === 'adopt')
      return `taking over day ${progress.days}, ${counted(progress.statements, 'statement')} so far`;
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
      )}, ` + `window ${sum((one) => one.windowsDone)} of ${sum((one) => one.windowsPlanned)}`
    );
  };
  return {
    show: (progress) => {
      if (progress.stage === 'sync') merchants.set(progress.merchantNo, progress);
      if (performance.now() - drawnMs < REDRAW_MS) return;
      drawnMs = performance.now();
      terminal.write(`\r\u001b[K${wording(progress)}`);
    },
    clear: () => void terminal.write('\r\u001b[K'),
  };
}
