/** A reason of a run's end. */
import type { ExitCode } from './exit-codes.ts';

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
}
