/** How a command ends: the exit codes (docs/reference), and the errors that know theirs. Here, because every layer may import it. */

export const EXIT = {
  done: 0,
  usage: 2,
  needsPerson: 3,
  incomplete: 4,
  leaseHeld: 5,
  fault: 70,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/**
 * An error that is not a bug in daybook: a person can fix it, or wait. Its message is a complete sentence that says what
 * is wrong and what to do. Each class has the exit code that the command ends with. Any other error is a bug in
 * daybook, and the command ends with 70.
 */
export abstract class ExpectedError extends Error {
  /** For the compiler alone: an object with the same members is no such error. */
  declare readonly ours: never;
  abstract readonly exitCode: Exclude<ExitCode, typeof EXIT.done | typeof EXIT.fault>;
}

/** The exit code of an error that ended a command: its own, or 70 for an error no one expected. */
export const exitCodeOf = (error: unknown): ExitCode =>
  error instanceof ExpectedError ? error.exitCode : EXIT.fault;

/** An error as a sentence. For an internal error, asks for a report instead. */
export function problemText(error: unknown): string {
  if (exitCodeOf(error) !== EXIT.fault) return (error as Error).message;
  const name = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return `internal error: ${name}\nNo partial work was stored. Please report it; DAYBOOK_LOG_LEVEL=debug shows the stack.`;
}
