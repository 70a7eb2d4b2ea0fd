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
 * An error that is no fault of daybook: something a person can mend or wait out. Its message is a whole sentence that
 * says what was wrong and what to do, and each class declares the exit code that a command ends with because of it.
 * Any other error is a fault in daybook itself, and ends with 70.
 */
export abstract class ExpectedError extends Error {
  abstract readonly exitCode: Exclude<ExitCode, typeof EXIT.done | typeof EXIT.fault>;
}
