/** What is one merchant's own trouble and what is everybody's: the first is told in the report, the second ends the run. */
import { ObjectStoreRefused, ObjectStoreUnreachable } from '../objects/object-store.ts';
import { isDatabaseTrouble } from '../store/errors.ts';
import { LeaseLost } from '../store/lease.ts';
import { TimeZoneWrong } from '../sync/time-zone-proof.ts';
import { EXIT, exitCodeOf, gravest, type ExitCode } from './exit-codes.ts';

/** A stage that could not be done for one merchant; for the others it was. */
export interface MerchantFailure {
  readonly merchantNo: string;
  readonly stage: 'reconcile' | 'publish';
  readonly error: Error;
}

const ABOUT_ALL = [LeaseLost, TimeZoneWrong, ObjectStoreUnreachable, ObjectStoreRefused];

/** Whether no other merchant would fare better: the run is told to stop, or what all of them share is in trouble. */
export const concernsAll = (error: unknown, signal: AbortSignal): boolean =>
  signal.aborted || isDatabaseTrouble(error) || ABOUT_ALL.some((kind) => error instanceof kind);

/** Does one merchant's part of a stage. Resolves to its own failure or null; rejects with what concerns all. */
export async function alone(
  merchantNo: string,
  stage: MerchantFailure['stage'],
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<MerchantFailure | null> {
  try {
    await work();
    return null;
  } catch (error) {
    if (concernsAll(error, signal)) throw error;
    return { merchantNo, stage, error: error instanceof Error ? error : new Error(String(error)) };
  }
}

/** What a merchant's own failure makes of the run: a fault in daybook is one, anything else leaves it incomplete. */
export const ownExitCode = (error: Error): ExitCode =>
  exitCodeOf(error) === EXIT.fault ? EXIT.fault : EXIT.incomplete;

/** The failure as a sentence for the report. */
export const ownSentence = (merchantNo: string, error: Error): string =>
  exitCodeOf(error) === EXIT.fault
    ? `${merchantNo}: a fault in daybook itself, please report it: ${error.name}: ${error.message}`
    : `${merchantNo}: ${error.message}`;

/** The run's code and sentences with those of merchants a stage could not be done for, first of all. */
export const withFailures = (
  judged: { readonly exitCode: ExitCode; readonly notes: readonly string[] },
  failures: readonly MerchantFailure[],
): { exitCode: ExitCode; notes: string[] } => ({
  exitCode: gravest([judged.exitCode, ...failures.map(({ error }) => ownExitCode(error))]),
  notes: [...failures.map(({ merchantNo, error }) => ownSentence(merchantNo, error)), ...judged.notes],
});
