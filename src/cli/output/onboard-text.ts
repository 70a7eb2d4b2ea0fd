/** Words how an application stands, for a person and as a document. */
import type { ApplicationInvalid } from '../../onboarding/errors.ts';
import type { ApplicationStatus, RecordedName } from '../../onboarding/application-status.ts';
import { EXIT, type ExitCode } from '../../run/verdict/exit-codes.ts';
import type { CommandOutput } from '../context.ts';
import { line, lines } from './text.ts';
import type { Times } from './times.ts';
import type { ApplicationState } from '../../store/onboarding/applications.ts';

/** The exit code that each state gives to a script that submits or asks. */
const EXIT_OF: Readonly<Record<ApplicationState, ExitCode>> = {
  submitting: EXIT.done,
  accepted: EXIT.done,
  approved: EXIT.done,
  refused: EXIT.needsPerson,
  supplement: EXIT.needsPerson,
  rejected: EXIT.needsPerson,
  unknown: EXIT.incomplete,
};

export const invalid = ({ problems, message }: ApplicationInvalid): CommandOutput => ({
  document: { problems },
  text: message,
  exitCode: EXIT.usage,
});

export const documentOf = ({ application, ...rest }: ApplicationStatus) => ({ ...application, ...rest });

export const statusOutput = (status: ApplicationStatus, times: Times): CommandOutput => ({
  document: documentOf(status),
  text: lines(textOf(status, times), times.note),
  exitCode: status.replacedBy === null ? EXIT_OF[status.application.state] : EXIT.done,
});

export function textOf(
  { application, replacedBy, advice, recordedName, findings }: ApplicationStatus,
  times: Times,
): string {
  const { id, state, merOrderNo, bizFlow, processVersion, problem, changedAt } = application;
  const version = findings?.processVersion ?? processVersion;
  return lines(
    `application ${id}: ${state} since ${times.at(changedAt)}`,
    line`  merOrderNo ${merOrderNo}${bizFlow === null ? '' : `, bizFlow ${bizFlow}`}`,
    problem !== null && line`  problem: ${problem}`,
    ...(findings?.reasons ?? []).map((reason) => line`  reason: ${reason}`),
    findings !== null && findings.fields.length > 0 && line`  fields: ${findings.fields.join(', ')}`,
    version !== null && line`  process version: ${version}`,
    recordedName !== null && line`  ${recordedText(recordedName)}`,
    replacedBy !== null && `  replaced by application ${replacedBy}`,
    line`  ${advice}`,
  );
}

const recordedText = ({ isAsSent, name }: RecordedName): string =>
  (isAsSent
    ? 'the platform has the merchant under the English name that was sent'
    : 'the platform has the merchant under another English name than was sent') +
  (name !== null ? `: ${name}` : isAsSent ? '' : '; --reveal prints it');
