/**
 * Submits an application (sp1101, docs/platform.md 4.3): checks it in full, records it encrypted, then sends it once.
 * The document does not say that sending twice is safe. So an application that may have arrived is never sent again by
 * itself.
 */
import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import { FormInvalid, type Problem } from '../../forms/problem.ts';
import type { Holder } from '../../host/process-identity.ts';
import { EXIT, ExpectedError } from '../../ledger/ending.ts';
import { counted } from '../../ledger/text.ts';
import type { ApplicationReceipt, ApplicationClient } from './application-client.ts';
import { isPlatformError, PlatformRejected, type PlatformError } from '../../platform/errors.ts';
import { isConnectionError, isUniqueViolation } from '../../store/engine/errors.ts';
import { lastError, retry } from '../../store/engine/retry.ts';
import type { DB } from '../../store/engine/schema.ts';
import { callbackUrlOf, notifyHashOf } from '../../store/notify-path.ts';
import {
  markAccepted,
  markRefused,
  markUnknown,
  lockApplications,
  recordApplication,
  type NewApplication,
  applicationById,
  applicationDetail,
  applicationPayload,
  type ApplicationRow,
  applicationByMerOrderNo,
  openPayloads,
  replacementOf,
} from './applications.ts';
import { adoptSecretKey } from '../../store/secrets/key-check.ts';
import type { SecretKey } from '../../store/secrets/secrets.ts';
import {
  checkApplication,
  isSuppliedVersion,
  type ApplicationPayload,
  type ApplicationRules,
} from './application-check.ts';
import { ApplicationStands, findApplication, NEVER_SENT } from './application-status.ts';
import { findingsOf } from './findings.ts';

/** The file breaks rules of the document. The message lists all of them, and no value, as these are personal. */
export class ApplicationInvalid extends FormInvalid {
  override readonly name = 'ApplicationInvalid';

  constructor(problems: readonly Problem[]) {
    super(
      `${counted(problems.length, 'problem', 'problems')} in the application; nothing was sent.`,
      problems,
    );
  }
}

/** The platform's receipt arrived but could not be stored. The message has its content. */
export class ReceiptNotStored extends ExpectedError {
  override readonly name = 'ReceiptNotStored';
  readonly exitCode = EXIT.incomplete;
}

const ORDER_NO_RANDOM_BYTES = 11;

/**
 * An order number of ours: `DB`, the day and random digits. It has 32 characters, the most that the platform takes
 * (docs/platform.md 2.3).
 */
export const newOrderNo = (now: Date): string =>
  `DB${now.toISOString().slice(0, 10).replaceAll('-', '')}${randomBytes(ORDER_NO_RANDOM_BYTES).toString('hex')}`;

export interface SubmitDeps {
  readonly db: Kysely<DB>;
  readonly client: ApplicationClient;
  readonly secretKeys: readonly SecretKey[];
  readonly rules: Omit<ApplicationRules, 'defaults'>;
  /** Used if the file has none. Null: the file must have one. */
  readonly referralChannel: string | null;
  /** Where the platform reaches `serve`. Null: the file must have a callbackUrl. */
  readonly publicUrl: string | null;
  readonly holder: Holder;
  readonly now: () => Date;
  readonly newOrderNo: () => string;
  /** Makes the secret part of the callback address. */
  readonly newSecret: () => string;
  readonly signal: AbortSignal;
  readonly storeDelaysMs?: readonly number[];
}

interface Submission {
  readonly file: unknown;
  /** The application this one is submitted in place of. */
  readonly replaces: number | null;
}

/**
 * Checks, records and sends. Returns the application as it stands then: `accepted`, `refused`, `unknown`, or a later
 * state if its result arrived before the receipt. Throws `ApplicationInvalid`, `ApplicationStands`, `UnknownSecretKey` or
 * `SecretKeyWrong` before anything is recorded. Throws `ReceiptNotStored` if the database was lost after the platform
 * had answered.
 */
export async function submitApplication(submission: Submission, deps: SubmitDeps): Promise<ApplicationRow> {
  const { db, client, secretKeys, signal } = deps;
  const { payload, notifyHash } = await prepare(submission, deps);
  signal.throwIfAborted();
  await adoptSecretKey(db, secretKeys);
  const application = await recordNewApplication(db, {
    merOrderNo: payload.merOrderNo,
    payload,
    notifyHash,
    processVersion: payload.processVersion ?? null,
    replaces: submission.replaces,
    holder: deps.holder,
    secretKeys,
    now: deps.now(),
  });
  let receipt: ApplicationReceipt;
  try {
    receipt = await client.submit(payload, signal);
  } catch (error) {
    return stateAfter(application, error, deps);
  }
  return keepReceipt(application, receipt, deps);
}

async function prepare({ file, replaces }: Submission, deps: SubmitDeps) {
  const earlier = replaces === null ? null : await replaceable(deps.db, replaces);
  const secret = deps.newSecret();
  const ours = deps.publicUrl === null ? null : callbackUrlOf(deps.publicUrl, 'onboarding', secret);
  const checked = checkApplication(file, {
    ...deps.rules,
    defaults: {
      merOrderNo: deps.newOrderNo(),
      referralChannel: deps.referralChannel,
      callbackUrl: ours,
      processVersion: earlier === null ? null : await processVersionOf(deps, earlier),
    },
  });
  if ('problems' in checked) throw new ApplicationInvalid(checked.problems);
  const { payload } = checked;
  if (payload.callbackUrl !== ours) return { payload, notifyHash: null };
  return (await asBefore(deps, payload)) ?? { payload, notifyHash: notifyHashOf(secret) };
}

/**
 * A refused application that is sent again keeps the address of its results, as the platform may have kept that: null where
 * there is none of this number, or it had an address of its own.
 */
async function asBefore(
  { db, secretKeys }: Pick<SubmitDeps, 'db' | 'secretKeys'>,
  payload: ApplicationPayload,
): Promise<{ readonly payload: ApplicationPayload; readonly notifyHash: string } | null> {
  const refused = await applicationByMerOrderNo(db, payload.merOrderNo);
  if (refused?.state !== 'refused' || !refused.isNotified) return null;
  const before = (await applicationPayload(db, secretKeys, refused.id)) as ApplicationPayload | null;
  const secret = before?.callbackUrl.split('/').at(-1);
  if (before === null || secret === undefined) return null;
  return { payload: { ...payload, callbackUrl: before.callbackUrl }, notifyHash: notifyHashOf(secret) };
}

/**
 * The process version for a new submission, as the platform gave it in its result or in the result's message. It is
 * sent from V2 on (docs/platform.md 9, rule 2).
 */
async function processVersionOf(
  { db, secretKeys }: Pick<SubmitDeps, 'db' | 'secretKeys'>,
  { id, state, processVersion }: ApplicationRow,
): Promise<string | null> {
  const detail = state === 'supplement' ? await applicationDetail(db, secretKeys, id) : null;
  const version = (detail === null ? null : findingsOf(detail).processVersion) ?? processVersion;
  return version !== null && isSuppliedVersion(version) ? version : null;
}

/**
 * The call failed. If the platform certainly does not have the application it becomes `refused`, else `unknown`. A
 * fault of our own is thrown once that is stored.
 */
async function stateAfter(
  application: ApplicationRow,
  error: unknown,
  deps: SubmitDeps,
): Promise<ApplicationRow> {
  const { db, secretKeys, now, signal } = deps;
  const { id } = application;
  if (isPlatformError(error) && !error.mayHaveArrived) {
    const problem = isRefusal(error) ? error.message : `${NEVER_SENT}: ${error.message}`;
    const refusal = { problem, detail: replyOf(error), secretKeys, now: now() };
    await persistently(deps, () => markRefused(db, application, refusal));
  } else {
    const problem = isPlatformError(error)
      ? error.message
      : `the submission ended before the platform’s reply arrived${signal.aborted ? ': it was stopped' : ''}`;
    const reply = isPlatformError(error) ? error.replyText() : null;
    const detail = reply !== null && JSON_TEXT.test(reply) ? reply : null;
    await persistently(deps, () => markUnknown(db, application, { problem, detail, secretKeys, now: now() }));
    if (!isPlatformError(error) && !signal.aborted) throw error;
  }
  return (await applicationById(db, id))!;
}

/** Only such a reply may name a bizFlow. A page of HTML says nothing of the application. */
const JSON_TEXT = /^\s*[{[]/;

const isRefusal = (error: PlatformError) => error instanceof PlatformRejected;
const replyOf = (error: PlatformError): string | null =>
  error instanceof PlatformRejected ? error.replyText() : null;

async function keepReceipt(
  application: ApplicationRow,
  { bizFlow, reply }: ApplicationReceipt,
  deps: SubmitDeps,
): Promise<ApplicationRow> {
  const { db, secretKeys, now } = deps;
  const { id, merOrderNo } = application;
  const withoutFlow = async (problem: string): Promise<ApplicationRow> => {
    const unknown = { problem, detail: reply, isReceived: true, secretKeys, now: now() };
    await persistently(deps, () => markUnknown(db, application, unknown));
    return (await applicationById(db, id))!;
  };
  try {
    if (bizFlow === null)
      return await withoutFlow('the platform’s receipt names no bizFlow, or none that can be kept');
    return await persistently(deps, () => markAccepted(db, id, { bizFlow, now: now() }));
  } catch (error) {
    if (isUniqueViolation(error))
      return withoutFlow(`the platform’s receipt has the bizFlow of another application, ${bizFlow ?? '?'}`);
    if (!isConnectionError(error)) throw error;
    const asWhat = bizFlow === null ? '' : ` as bizFlow ${bizFlow}`;
    const settle = bizFlow === null ? 'status' : `settle ${id} --biz-flow`;
    throw new ReceiptNotStored(
      `the platform accepted application ${id} (merOrderNo ${merOrderNo})${asWhat}, but the database connection was lost before ` +
        `that was stored. Do not submit it again; once the database is back: \`daybook onboard ${settle} ` +
        `${bizFlow ?? id}\`.`,
      { cause: error },
    );
  }
}

/** The call cannot be made a second time. So its outcome is stored even if the database connection is cut meanwhile. */
const persistently = <Result>({ storeDelaysMs }: SubmitDeps, work: () => Promise<Result>): Promise<Result> =>
  retry(work, { delaysMs: storeDelaysMs, withinMs: Infinity, atEnd: lastError });

const NOTHING_SENT = 'Nothing was sent';

/** The application that a new one replaces. Throws `ApplicationStands` if it must not be replaced. */
async function replaceable(db: Kysely<DB>, id: number): Promise<ApplicationRow> {
  const earlier = await findApplication(db, id);
  if (earlier.state === 'approved') {
    throw new ApplicationStands(
      `application ${id} is approved: there is nothing to replace. ${NOTHING_SENT}.`,
    );
  }
  if (earlier.state === 'submitting') {
    throw new ApplicationStands(`application ${id} is being submitted right now. ${NOTHING_SENT}.`);
  }
  const later = await replacementOf(db, id);
  if (later !== null) {
    throw new ApplicationStands(
      `application ${id} is replaced already, by ${later.id}; name that one instead. ${NOTHING_SENT}.`,
    );
  }
  return earlier;
}

/** The same for every way to write a registration number: with or without dashes, in capital or small letters. */
const companyOf = ({ countryCode, certificateNo }: ApplicationPayload): string =>
  `${countryCode} ${certificateNo.toUpperCase().replaceAll(/[^\p{L}\p{N}]/gu, '')}`;

/**
 * Only one process records at a time. Throws `ApplicationStands` if the order number is taken, or if another
 * application for the same registration number is undecided and is not the one to be replaced.
 */
function recordNewApplication(
  db: Kysely<DB>,
  application: NewApplication & { readonly payload: ApplicationPayload },
): Promise<ApplicationRow> {
  const { merOrderNo, payload, replaces, secretKeys } = application;
  return db.transaction().execute(async (trx) => {
    await lockApplications(trx);
    if (replaces !== null) await replaceable(trx, replaces);
    const namesake = await applicationByMerOrderNo(trx, merOrderNo);
    if (namesake !== null && namesake.state !== 'refused') {
      throw new ApplicationStands(
        `merOrderNo is that of application ${namesake.id} already (${namesake.state}): see \`daybook onboard status ` +
          `${namesake.id}\`; a new application takes another, or leaves it out. ${NOTHING_SENT}.`,
      );
    }
    const company = companyOf(payload);
    const open = await openPayloads(trx, secretKeys);
    const twin = open.find(
      (one) => one.application.id !== replaces && companyOf(one.payload as ApplicationPayload) === company,
    );
    if (twin !== undefined) {
      const { id, state } = twin.application;
      throw new ApplicationStands(
        `application ${id} is for the same registration number and stands as ${state}: \`daybook onboard status ${id}\` ` +
          `says what to do; --replaces ${id} submits this one in its place. ${NOTHING_SENT}.`,
      );
    }
    // One that is sent again stays in the place of the earlier one that it replaced.
    const inPlaceOf = replaces === namesake?.id ? null : replaces;
    return recordApplication(trx, { ...application, replaces: inPlaceOf ?? namesake?.replaces ?? null });
  });
}
