/** How an application stands: what the platform said of it, what to do next, and how a person settles or forgets it. */
import type { Kysely, Transaction } from 'kysely';
import type { DB } from '../../store/engine/schema.ts';
import {
  applicationById,
  applicationDetail,
  applicationPayload,
  recordedName,
  replacementOf,
  type ApplicationRow,
  applicationByBizFlow,
  markAccepted,
  forgetApplication,
} from './applications.ts';
import type { SecretKey } from '../../store/secrets/secrets.ts';
import { EXIT, ExpectedError } from '../../ledger/ending.ts';
import { findingsOf, NOTHING_FOUND, shownFindings, type Findings } from './findings.ts';

export interface ApplicationStatus {
  readonly application: ApplicationRow;
  /** The number of a later application that was submitted in its place. */
  readonly replacedBy: number | null;
  readonly advice: string;
  /** Null if no result named one. */
  readonly recordedName: RecordedName | null;
  /** What the platform said with its refusal or result; null where it said nothing. */
  readonly findings: Findings | null;
}

/** The merchant's English name as the platform has it (docs/platform.md 6.1). */
export interface RecordedName {
  readonly isAsSent: boolean;
  /** Null unless it is to be revealed. */
  readonly name: string | null;
}

async function recordedNameOf(
  db: Kysely<DB>,
  id: number,
  { secretKeys, reveal }: { readonly secretKeys: readonly SecretKey[]; readonly reveal: boolean },
): Promise<RecordedName | null> {
  const name = await recordedName(db, secretKeys, id);
  if (name === null) return null;
  const sent = (await applicationPayload(db, secretKeys, id)) as { readonly merNameEn?: unknown } | null;
  return { isAsSent: sent?.merNameEn === name, name: reveal ? name : null };
}

interface StatusOptions {
  readonly secretKeys: readonly SecretKey[];
  /** Tokens of the settings: they are hidden as values of the application are. */
  readonly secrets?: readonly string[];
  readonly reveal: boolean;
}

/**
 * Null if there is no such application. The values of the application are hidden in the reasons, unless `reveal` is
 * set. Throws `UnknownSecretKey` or `SecretUnreadable`.
 */
export async function statusOfApplication(
  db: Kysely<DB>,
  id: number,
  { secretKeys, secrets = [], reveal }: StatusOptions,
): Promise<ApplicationStatus | null> {
  const application = await applicationById(db, id);
  if (application === null) return null;
  const later = await replacementOf(db, id);
  const detail = await applicationDetail(db, secretKeys, id);
  const advice = adviceOf(application, later !== null);
  const named = await recordedNameOf(db, id, { secretKeys, reveal });
  const summary = { application, replacedBy: later?.id ?? null, advice, recordedName: named };
  if (detail === null) return { ...summary, findings: null };
  const findings = findingsOf(detail);
  if (reveal) return { ...summary, findings };
  const payload = [await applicationPayload(db, secretKeys, id), secrets];
  // Of a reply that is neither a receipt nor a refusal only the number is shown: the rest may repeat the request.
  const said = application.state === 'unknown' ? { ...NOTHING_FOUND, bizFlow: findings.bizFlow } : findings;
  return { ...summary, findings: shownFindings(said, payload) };
}

/** What the problem of an application begins with that never reached the platform. */
export const NEVER_SENT = 'it was not sent';
const isNeverSent = (problem: string | null): boolean => problem?.startsWith(NEVER_SENT) === true;

const RESULT_ELSEWHERE =
  'Its result goes to the callbackUrl its file gave, and not to daybook: add the merchant with `daybook merchants add --merchant-no NO --token-stdin` ' +
  'when it comes.';

/** One or more sentences. `isReplaced`: a later application was submitted in its place. */
export function adviceOf(
  { id, merOrderNo, state, bizFlow, merchantNo, problem, isNotified, isReceived }: ApplicationRow,
  isReplaced = false,
): string {
  switch (state) {
    case 'submitting':
      return 'It is being sent to the platform; check again in a moment.';
    case 'accepted':
      return (
        'The platform has received it and reviews it; that is no approval yet. ' +
        (isNotified ? 'Keep `daybook serve` running: the result comes to it.' : RESULT_ELSEWHERE)
      );
    case 'refused':
      return (
        (isNeverSent(problem) ? 'Nothing reached the platform. ' : 'The platform refused it. ') +
        'Correct the problem and submit the file again. If a result arrives all the same, ' +
        '`daybook notifications` shows it, and `daybook notifications apply NUMBER` applies it.'
      );
    case 'unknown':
      if (isReplaced)
        return 'Another one was submitted in its place; a result that arrives all the same is still applied.';
      return isReceived
        ? 'The platform has received it, but did not say under which bizFlow. Do not submit it again: ask the platform ' +
            `for the bizFlow of merOrderNo ${merOrderNo}, then \`daybook onboard settle ${id} --biz-flow FLOW\`. A ` +
            'result that comes meanwhile is taken.'
        : 'It is unknown whether the platform has it, and daybook never sends it again by itself. Ask the platform ' +
            `whether it has merOrderNo ${merOrderNo}. If it has: \`daybook onboard settle ${id} --biz-flow FLOW\` with ` +
            `the bizFlow it names. If it has not: \`daybook onboard submit FILE --replaces ${id}\`. A result that ` +
            'comes meanwhile is taken.';
    case 'supplement':
      return isReplaced
        ? 'Another one was submitted in its place.'
        : `The platform wants documents supplemented; that is no rejection. It takes them for bizFlow ${bizFlow ?? '?'} ` +
            'by its operation sp1102 (addMaterial 1, reMaterial), whose request its document does not show; or as a ' +
            `new application: \`daybook onboard submit FILE --replaces ${id}\`, which carries the process version on.`;
    case 'approved':
      return `Merchant ${merchantNo ?? '?'} is known; its ledger joins the nightly run once a first call with its token succeeds.`;
    case 'rejected':
      return (
        'The platform rejected it, or could not process it. A corrected file can be submitted as a new application; an ' +
        'approval that arrives all the same is still applied.'
      );
  }
}

/** The state of this or another application does not allow it. The message says which one, and what to do. */
export class ApplicationStands extends ExpectedError {
  override readonly name = 'ApplicationStands';
  readonly exitCode = EXIT.usage;
}

/**
 * Settles an `unknown` application by hand: a person has asked the platform, and the platform has it. Throws
 * `ApplicationStands` if it is not unknown, or if the bizFlow belongs to another application.
 */
export async function settleApplication(
  db: Kysely<DB>,
  { id, bizFlow, now }: { readonly id: number; readonly bizFlow: string; readonly now: Date },
): Promise<ApplicationRow> {
  const application = await findApplication(db, id);
  const other = await applicationByBizFlow(db, bizFlow);
  if (other !== null && other.id !== id) {
    throw new ApplicationStands(`bizFlow ${bizFlow} is application ${other.id}’s; nothing was changed.`);
  }
  if (application.state !== 'unknown') {
    throw new ApplicationStands(
      `application ${id} stands as ${application.state}: only an unknown one is settled by hand; nothing was changed.`,
    );
  }
  return markAccepted(db, id, { bizFlow, now });
}

const CLOSED: readonly ApplicationRow['state'][] = ['approved', 'rejected', 'refused'];

/**
 * The application must be closed: decided, refused or replaced by another one. A second call changes nothing. Throws
 * `ApplicationStands` if it is open or does not exist.
 */
export async function forget(trx: Transaction<DB>, id: number, now: Date): Promise<ApplicationRow> {
  const application = await findApplication(trx, id);
  if (application.forgottenAt !== null) return application;
  if (!CLOSED.includes(application.state) && (await isOpen(trx, id))) {
    throw new ApplicationStands(
      `application ${id} stands as ${application.state}: what was sent is needed until it is decided; nothing was ` +
        'changed.',
    );
  }
  await forgetApplication(trx, id, now);
  return (await applicationById(trx, id))!;
}

const isOpen = async (db: Kysely<DB>, id: number): Promise<boolean> => (await replacementOf(db, id)) === null;

/** Throws `ApplicationStands` if there is no application of that number. */
export async function findApplication(db: Kysely<DB>, id: number): Promise<ApplicationRow> {
  const application = await applicationById(db, id);
  if (application !== null) return application;
  throw new ApplicationStands(
    `there is no application ${id}; \`daybook onboard list\` shows those there are.`,
  );
}
