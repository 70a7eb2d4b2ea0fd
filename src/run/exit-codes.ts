/** What a run's end means to the shell: CONTRACT's exit codes, and which one wins where several apply. */

export const EXIT = {
  done: 0,
  usage: 2,
  needsPerson: 3,
  incomplete: 4,
  leaseHeld: 5,
  fault: 70,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

const WEIGHT: readonly ExitCode[] = [EXIT.fault, EXIT.incomplete, EXIT.needsPerson, EXIT.done];

/** Whether a run on record did its work, even where something it brought to light needs a person. */
export const isGoodEnd = (exitCode: number | null): boolean =>
  exitCode === EXIT.done || exitCode === EXIT.needsPerson;

/** The gravest of what stages ended with: 70 before 4 before 3. */
export const gravest = (codes: readonly ExitCode[]): ExitCode =>
  WEIGHT.find((code) => codes.includes(code)) ?? EXIT.done;

/**
 * Errors a person can mend, by name, so that this one place maps them and no layer has to import another's errors.
 * Whatever is not here is a fault in daybook.
 */
const BY_NAME: Readonly<Record<string, ExitCode>> = {
  SettingsInvalid: EXIT.usage,
  UsageError: EXIT.usage,
  InvalidDay: EXIT.usage,
  TimeZoneWrong: EXIT.usage,
  TimeZoneUnproven: EXIT.incomplete,
  ScenarioInvalid: EXIT.usage,
  NothingToVerify: EXIT.usage,
  StatementDamaged: EXIT.incomplete,
  EmbeddedDatabaseBusy: EXIT.leaseHeld,
  LeaseHeld: EXIT.leaseHeld,
  LeaseLost: EXIT.incomplete,
  MigrationsPending: EXIT.usage,
  DatabaseUnsupported: EXIT.usage,
  ApplicationInvalid: EXIT.usage,
  ApplicationStands: EXIT.usage,
  ReceiptNotStored: EXIT.incomplete,
  RegistrationInvalid: EXIT.usage,
  OrderNoTaken: EXIT.usage,
  PayeeInReview: EXIT.usage,
  RegistrationInFlight: EXIT.leaseHeld,
  RegistrationUnanswered: EXIT.incomplete,
  UnknownSecretKey: EXIT.usage,
  SecretUnreadable: EXIT.usage,
  DatabaseUnreachable: EXIT.incomplete,
  StoreUnreachable: EXIT.incomplete,
  ObjectStoreUnreachable: EXIT.incomplete,
  ObjectStoreRefused: EXIT.usage,
  PlatformUnreachable: EXIT.incomplete,
  PlatformRejected: EXIT.incomplete,
  PlatformReplyInvalid: EXIT.incomplete,
  ListenRefused: EXIT.usage,
  Interrupted: EXIT.incomplete,
};

/** Exit code of an error that ended a command; 70 where the error is none a person can mend. */
export const exitCodeOf = (error: unknown): ExitCode =>
  (error instanceof Error ? BY_NAME[error.name] : undefined) ?? EXIT.fault;

/** What was asked for cannot be meant: an unknown merchant, from after to. The message is a whole sentence with the mend. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** SIGTERM or Ctrl-C: the run ended early, at a window's edge. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  constructor() {
    super('stopped before the end; what was certified is kept, and the same command takes up from there');
  }
}
