/** Which stages each command runs. */
import type { RunCommand } from '../report.ts';
import { ObjectStoreRefused, ObjectStoreUnreachable } from '../../objects/object-store.ts';
import { isDatabaseTrouble } from '../../store/engine/errors.ts';
import { TimeZoneWrong } from '../../sync/time-zone-proof.ts';
import { EXIT, exitCodeOf, type ExitCode } from '../verdict/exit-codes.ts';

export type Stage = 'sync' | 'reconcile' | 'publish';

export const STAGES: Readonly<Record<RunCommand, readonly Stage[]>> = {
  run: ['sync', 'reconcile', 'publish'],
  sync: ['sync'],
  reconcile: ['reconcile'],
  publish: ['publish'],
};

/** Tells trouble of one merchant from trouble of all. The first is only reported; the second ends the run. */
const ABOUT_ALL = [TimeZoneWrong, ObjectStoreUnreachable, ObjectStoreRefused];

/** Whether the error would hit every other merchant too: the run was asked to stop, or something they share fails. */
export const concernsAll = (error: unknown, signal: AbortSignal): boolean =>
  signal.aborted || isDatabaseTrouble(error) || ABOUT_ALL.some((kind) => error instanceof kind);

export const ownExitCode = (error: unknown): ExitCode =>
  exitCodeOf(error) === EXIT.fault ? EXIT.fault : EXIT.incomplete;

export const ownSentence = (merchantNo: string, error: Error): string =>
  exitCodeOf(error) === EXIT.fault
    ? `${merchantNo}: internal error, please report it: ${error.name}: ${error.message}`
    : `${merchantNo}: ${error.message}`;
