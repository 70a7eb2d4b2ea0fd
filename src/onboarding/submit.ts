/**
 * Submits an application (sp1101, docs/platform.md 4.3): checked in full, recorded encrypted, then sent once.
 * It is not documented as idempotent, so what was answered, or may have arrived, is never sent again by
 * itself.
 */
import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import { isPlatformError, PlatformRejected, type PlatformError } from '../platform/errors.ts';
import type { ApplicationReceipt, ApplicationClient } from '../platform/application.ts';
import {
  applicationById,
  applicationDetail,
  markAccepted,
  markRefused,
  markUnknown,
  type ApplicationRow,
} from '../store/onboarding/applications.ts';
import { isConnectionError } from '../store/engine/errors.ts';
import { adoptSecretKey } from '../store/secrets/key-check.ts';
import { callbackUrlOf, notifyHashOf } from '../store/notifications/notify-path.ts';
import type { Holder } from '../host/process-identity.ts';
import type { DB } from '../store/engine/schema.ts';
import type { SecretKey } from '../store/secrets/secrets.ts';
import { lastError, retry } from '../store/engine/retry.ts';
import { isUniqueViolation } from '../store/engine/unique-violation.ts';
import { checkApplication, type ApplicationRules } from './check.ts';
import { ApplicationInvalid, ReceiptNotStored } from './errors.ts';
import { findingsOf } from './findings.ts';
import { recordNewApplication, replaceable } from './record.ts';
import { isSuppliedVersion } from './values.ts';

const ORDER_NO_RANDOM_BYTES = 11;

/**
 * An order number of ours: `DB`, the day, and chance; 32 characters, as many as the platform takes
 * (docs/platform.md 2.3).
 */
export const newOrderNo = (now: Date): string =>
  `DB${now.toISOString().slice(0, 10).replaceAll('-', '')}${randomBytes(ORDER_NO_RANDOM_BYTES).toString('hex')}`;

export interface SubmitDeps {
  readonly db: Kysely<DB>;
  readonly client: ApplicationClient;
  readonly secretKeys: readonly SecretKey[];
  readonly rules: Omit<ApplicationRules, 'defaults'>;
  /** Taken where the file names none; null: it has to. */
  readonly referralChannel: string | null;
  /** Under which `serve` is reached; null: the file has to give a callbackUrl. */
  readonly publicUrl: string | null;
  readonly holder: Holder;
  readonly now: () => Date;
  readonly newOrderNo: () => string;
  /** Of the path its result comes by. */
  readonly newSecret: () => string;
  readonly signal: AbortSignal;
  readonly storeDelaysMs?: readonly number[];
}

export interface Submission {
  /** A file's content. */
  readonly file: unknown;
  /** The application this one is submitted in place of. */
  readonly replaces: number | null;
}

/**
 * Checks, records and sends. Resolves to how the application stands: `accepted`, `refused`, `unknown`, or further on
 * where a result overtook the receipt. Throws before anything is recorded: `ApplicationInvalid`, `ApplicationStands`,
 * `UnknownSecretKey`, `SecretKeyWrong`; and `ReceiptNotStored` where the database went away after the platform answered.
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
    return standingAfter(application, error, deps);
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
  return { payload, notifyHash: payload.callbackUrl === ours ? notifyHashOf(secret) : null };
}

/**
 * What the platform told for the resubmission, in its result or in the message of it; from V2 on
 * (docs/platform.md 9, rule 2).
 */
async function processVersionOf(
  { db, secretKeys }: Pick<SubmitDeps, 'db' | 'secretKeys'>,
  { id, state, processVersion }: ApplicationRow,
): Promise<string | null> {
  const detail = state === 'supplement' ? await applicationDetail(db, secretKeys, id) : null;
  const version = (detail === null ? null : findingsOf(detail).processVersion) ?? processVersion;
  return version !== null && isSuppliedVersion(version) ? version : null;
}

/** The call failed: what is certain becomes `refused`, everything else `unknown`. A fault of ours is thrown after. */
async function standingAfter(
  application: ApplicationRow,
  error: unknown,
  deps: SubmitDeps,
): Promise<ApplicationRow> {
  const { db, secretKeys, now, signal } = deps;
  const { id } = application;
  if (isPlatformError(error) && !error.mayHaveArrived) {
    const refusal = { problem: error.message, detail: replyOf(error), secretKeys, now: now() };
    await persistently(deps, () => markRefused(db, application, refusal));
  } else {
    const problem = isPlatformError(error)
      ? error.message
      : `the submission ended before the platform’s reply came${signal.aborted ? ': it was stopped' : ''}`;
    await persistently(deps, () => markUnknown(db, id, { problem, now: now() }));
    if (!isPlatformError(error) && !signal.aborted) throw error;
  }
  return (await applicationById(db, id))!;
}

const replyOf = (error: PlatformError): string | null =>
  error instanceof PlatformRejected ? error.replyText() : null;

async function keepReceipt(
  { id, merOrderNo }: ApplicationRow,
  { bizFlow }: ApplicationReceipt,
  deps: SubmitDeps,
): Promise<ApplicationRow> {
  const { db, now } = deps;
  const withoutFlow = async (problem: string): Promise<ApplicationRow> => {
    await persistently(deps, () => markUnknown(db, id, { problem, isReceived: true, now: now() }));
    return (await applicationById(db, id))!;
  };
  try {
    if (bizFlow === null) return await withoutFlow('the platform’s receipt names no bizFlow');
    return await persistently(deps, () => markAccepted(db, id, { bizFlow, now: now() }));
  } catch (error) {
    if (isUniqueViolation(error))
      return withoutFlow(`the platform’s receipt has the bizFlow of another application, ${bizFlow ?? '?'}`);
    if (!isConnectionError(error)) throw error;
    const asWhat = bizFlow === null ? '' : ` as bizFlow ${bizFlow}`;
    const settle = bizFlow === null ? 'status' : `settle ${id} --biz-flow`;
    throw new ReceiptNotStored(
      `the platform accepted application ${id} (merOrderNo ${merOrderNo})${asWhat}, but the database went away before ` +
        `that was stored. Do not submit it again; once the database is back: \`daybook onboard ${settle} ` +
        `${bizFlow ?? id}\`.`,
      { cause: error },
    );
  }
}

/** The call cannot be made again, so its outcome is not given up for a connection that was cut. */
const persistently = <Result>({ storeDelaysMs }: SubmitDeps, work: () => Promise<Result>): Promise<Result> =>
  retry(work, { delaysMs: storeDelaysMs, withinMs: Infinity, atEnd: lastError });
