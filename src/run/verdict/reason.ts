/** A reason of a run's end. */
import { isGoodEnd, type ExitCode } from './exit-codes.ts';

/** Why a run is not green, or what a person should know about a green one. */
export interface Reason {
  /** The exit code of a run with this reason alone. */
  readonly exitCode: ExitCode;
  /** One sentence. */
  readonly what: string;
  /** What to do about it; null if the sentence says so already. */
  readonly todo: string | null;
  /** The merchant it concerns; left out if it concerns every merchant, or only needs a person. */
  readonly merchantNo?: string;
  /** Another try ends the same until a person has acted: a slot of the schedule is not tried again for this alone. */
  readonly awaitsPerson?: true;
}

/** Whether a run did not end well and every reason for that awaits a person. */
export function awaitsPerson(exitCode: ExitCode, reasons: readonly Reason[]): boolean {
  const grave = reasons.filter((reason) => !isGoodEnd(reason.exitCode));
  return !isGoodEnd(exitCode) && grave.length > 0 && grave.every((reason) => reason.awaitsPerson === true);
}
