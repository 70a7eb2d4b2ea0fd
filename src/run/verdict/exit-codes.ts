/** What a run's end means: which exit code wins where several apply, and what an error ends a command with. */
import { EXIT, ExpectedError, type ExitCode } from '../../ledger/ending.ts';

export { EXIT, type ExitCode };

const WEIGHT: readonly ExitCode[] = [EXIT.fault, EXIT.incomplete, EXIT.needsPerson, EXIT.done];

/** Whether a run on record did its work, even where something it brought to light needs a person. */
export const isGoodEnd = (exitCode: number | null): boolean =>
  exitCode === EXIT.done || exitCode === EXIT.needsPerson;

/** The gravest of what stages ended with: 70 before 4 before 3. */
export const gravest = (codes: readonly ExitCode[]): ExitCode =>
  WEIGHT.find((code) => codes.includes(code)) ?? EXIT.done;

/** Exit code of an error that ended a command: its own, or 70 where it is none that was expected. */
export const exitCodeOf = (error: unknown): ExitCode =>
  error instanceof ExpectedError ? error.exitCode : EXIT.fault;

/** What was asked for cannot be meant: an unknown merchant, from after to. The message is a whole sentence with the mend. */
export class UsageError extends ExpectedError {
  override readonly name = 'UsageError';
  readonly exitCode = EXIT.usage;
}

/** SIGTERM or Ctrl-C: the run ended early, at a window's edge. */
export class Interrupted extends ExpectedError {
  override readonly name = 'Interrupted';
  readonly exitCode = EXIT.incomplete;
  constructor() {
    super('stopped before the end; what was certified is kept, and the same command takes up from there');
  }
}
