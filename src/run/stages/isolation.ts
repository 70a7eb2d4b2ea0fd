/** What is one merchant's own trouble and what is everybody's: the first is told in the report, the second ends the run. */
import { ObjectStoreRefused, ObjectStoreUnreachable } from '../../objects/object-store.ts';
import { isDatabaseTrouble } from '../../store/engine/errors.ts';
import { LeaseLost } from '../../store/engine/lease.ts';
import { TimeZoneWrong } from '../../sync/time-zone-proof.ts';
import { EXIT, exitCodeOf, type ExitCode } from '../verdict/exit-codes.ts';

const ABOUT_ALL = [LeaseLost, TimeZoneWrong, ObjectStoreUnreachable, ObjectStoreRefused];

/** Whether no other merchant would fare better: the run is told to stop, or what all of them share is in trouble. */
export const concernsAll = (error: unknown, signal: AbortSignal): boolean =>
  signal.aborted || isDatabaseTrouble(error) || ABOUT_ALL.some((kind) => error instanceof kind);

/** What a merchant's own failure makes of the run: a fault in daybook is one, anything else leaves it incomplete. */
export const ownExitCode = (error: unknown): ExitCode =>
  exitCodeOf(error) === EXIT.fault ? EXIT.fault : EXIT.incomplete;

/** The failure as a sentence for the report. */
export const ownSentence = (merchantNo: string, error: Error): string =>
  exitCodeOf(error) === EXIT.fault
    ? `${merchantNo}: a fault in daybook itself, please report it: ${error.name}: ${error.message}`
    : `${merchantNo}: ${error.message}`;
