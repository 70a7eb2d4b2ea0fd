/** Exit codes and the reasons of a run's end: which one wins if several apply. */
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

/** Why a run is not green, or what a person should know about a green one. */
export interface Reason {
  readonly exitCode: ExitCode;
  readonly what: string;
  /** What to do about it; null if the sentence says so already. */
  readonly todo: string | null;
  /** The merchant it concerns; left out if it concerns every merchant, or only needs a person. */
  readonly merchantNo?: string;
  /** Another try ends the same until a person has acted: a slot of the schedule is not tried again for this alone. */
  readonly awaitsPerson?: true;
}

export const needsPerson = (what: string, todo: string | null = null): Reason => ({
  ...{ exitCode: EXIT.needsPerson, what, todo },
});

/** A reason of one merchant, whom its sentence names first. */
export const ofMerchant = (exitCode: ExitCode, merchantNo: string, what: string, todo: string): Reason => ({
  ...{ exitCode, what: `${merchantNo}: ${what}`, todo, merchantNo },
});

/** The first `max` by name, and how many more there are: `A1, A2, and 398 more`. */
export const listed = <Item>(
  items: readonly Item[],
  nameOf: (item: Item) => string,
  max: number,
  separator = ', ',
): string =>
  items.slice(0, max).map(nameOf).join(separator) +
  (items.length > max ? `${separator}and ${items.length - max} more` : '');

export function awaitsPerson(exitCode: ExitCode, reasons: readonly Reason[]): boolean {
  const grave = reasons.filter((reason) => !isGoodEnd(reason.exitCode));
  return !isGoodEnd(exitCode) && grave.length > 0 && grave.every((reason) => reason.awaitsPerson === true);
}

/** Whether other processes are at work on all that keeps the run from a good end. `busy`: merchants left out for that. */
export function isLeftToOthers({
  exitCode,
  busy,
  reasons,
}: {
  readonly exitCode: number;
  readonly busy: number;
  readonly reasons: readonly Reason[];
}): boolean {
  if (isGoodEnd(exitCode) || busy === 0) return false;
  return reasons.filter((reason) => !isGoodEnd(reason.exitCode)).length <= busy;
}

export const ownExitCode = (error: unknown): ExitCode =>
  exitCodeOf(error) === EXIT.fault ? EXIT.fault : EXIT.incomplete;

export const ownSentence = (merchantNo: string, error: Error): string =>
  exitCodeOf(error) === EXIT.fault
    ? `${merchantNo}: internal error, please report it: ${error.name}: ${error.message}`
    : `${merchantNo}: ${error.message}`;
