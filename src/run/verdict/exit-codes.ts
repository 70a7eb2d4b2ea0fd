/** Chooses exit codes: which one wins if several apply. */
import { EXIT, exitCodeOf, ExpectedError, type ExitCode } from '../../ledger/ending.ts';

export { EXIT, exitCodeOf, type ExitCode };

const WEIGHT: readonly ExitCode[] = [
  EXIT.fault,
  EXIT.incomplete,
  EXIT.leaseHeld,
  EXIT.needsPerson,
  EXIT.done,
];

/** Whether a recorded run did its work, even if something that it found needs a person. */
export const isGoodEnd = (exitCode: number | null): boolean =>
  exitCode === EXIT.done || exitCode === EXIT.needsPerson;

/** The most severe of the exit codes: 70 before 4 before 5 before 3. */
export const mostSevere = (codes: readonly ExitCode[]): ExitCode =>
  WEIGHT.find((code) => codes.includes(code)) ?? EXIT.done;

/**
 * The command cannot be meant as it was given: an unknown merchant, or `--from` after `--to`. The message is a complete
 * sentence with what to do.
 */
export class UsageError extends ExpectedError {
  override readonly name = 'UsageError';
  readonly exitCode = EXIT.usage;
}

/** SIGTERM or Ctrl-C: the run ended early, between two windows. */
export class Interrupted extends ExpectedError {
  override readonly name = 'Interrupted';
  readonly exitCode = EXIT.incomplete;
  constructor() {
    super('stopped before the end; what was certified is kept, and the same command takes up from there');
  }
}
