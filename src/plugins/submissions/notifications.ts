/**
 * Results that the platform pushed (sp3101, sp3401; docs/platform.md 6): each is kept encrypted before it is answered, and
 * settled later, once, in one commit with what it changes. What changes nothing by itself waits for a person.
 */
import { createHmac, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { EXIT, ExpectedError } from '../../ledger/ending.ts';
import { type Db, rowsOf, type Trx } from '../../store/engine/database.ts';
import { codeOf, isConnectionError } from '../../store/engine/errors.ts';
import { lastError, retry } from '../../store/engine/retry.ts';
import { NEEDS_PERSON } from '../../store/fleet-counts.ts';
import { isPathOpen, notifyHashOf, type NotificationKind } from '../../store/notify-path.ts';
import { fingerprintKey } from '../../store/secrets/key-check.ts';
import {
  decryptSecret,
  encryptSecret,
  SecretUnreadable,
  UnknownSecretKey,
  type SecretKey,
} from '../../store/secrets/secrets.ts';
import {
  applicationByBizFlow,
  applicationByNotifyHash,
  applyApplicationResult,
  markBrokenOff,
} from './applications.ts';
import { AS_DOCUMENTED } from './body.ts';
import { beneficiaryByNotifyHash, decideBeneficiary } from './registrations.ts';
import {
  changesNothing,
  decidedBy,
  decisionBy,
  identityOf,
  judgeApplication,
  judgeRegistration,
  readApplicationResult,
  readRegistrationResult,
  type NotificationOutcome,
  type Verdict,
} from './results.ts';

/** Posts to one path within an hour. A path is known to the platform alone, which posts a few times. */
export const POSTS_A_PATH_MAX = 200;
const HOUR_MS = 3_600_000;
/** No sender waits longer than this for the commit. */
const COMMIT_MS_MAX = 5_000;
/** Who guesses paths gets no more answers a second on a connection than this allows, and leaves the rest to the platform. */
const UNKNOWN_ANSWERED_AFTER_MS = 200;
/** Posts held in memory at once. Further senders are asked to come again. */
const POSTS_WAITING_MAX = 500;

interface Post {
  readonly kind: NotificationKind;
  /** The last part of the path. */
  readonly secret: string;
  /** As received, not read yet. */
  readonly body: string;
  /** The sender's address, if known. */
  readonly source?: string;
}

/** The post is not kept. `statusCode` is what the sender gets. */
export class PostRefused extends ExpectedError {
  override readonly name = 'PostRefused';
  readonly exitCode = EXIT.incomplete;
  readonly statusCode: 404 | 429 | 503;
  readonly code: string;

  constructor(statusCode: 404 | 429 | 503, code: string, options?: ErrorOptions) {
    super(code, options);
    this.statusCode = statusCode;
    this.code = code;
  }
}

export interface InboxDeps {
  readonly db: Db;
  readonly secretKeys: readonly SecretKey[];
  readonly now: () => Date;
  /** Called after each commit. */
  readonly onKept?: () => void;
}

export type Inbox = ReturnType<typeof createInbox>;

/** `keep` resolves once the post is committed. Throws `PostRefused`, and nothing else. */
export function createInbox({ db, secretKeys, now, onKept }: InboxDeps) {
  let held = 0;
  /** Returns how many posts the path had within the hour; null if it is unknown. */
  const insert = async (post: Post): Promise<number | null> => {
    if (secretKeys.length === 0) throw new PostRefused(503, 'there is no key to keep it with');
    if (held >= POSTS_WAITING_MAX) throw new PostRefused(503, 'too many posts wait to be kept');
    held += 1;
    try {
      return await withinTime(insertPost(db, secretKeys, post, now()));
    } catch (error) {
      throw new PostRefused(503, 'the post could not be kept', { cause: error });
    } finally {
      held -= 1;
    }
  };
  return {
    keep: async (post: Post): Promise<void> => {
      const before = await insert(post);
      if (before === null) {
        await sleep(UNKNOWN_ANSWERED_AFTER_MS);
        throw new PostRefused(404, 'unknown path');
      }
      if (before >= POSTS_A_PATH_MAX) throw new PostRefused(429, 'too many posts by one path');
      onKept?.();
    },
  };
}

/** The work may still succeed after its time is over. At worst a post is then kept twice, which processing notices. */
async function withinTime<Result>(work: Promise<Result>): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('not done in time')), COMMIT_MS_MAX);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

export const bodyPlace = (id: string) => ({ table: 'notification', row: id, column: 'body_ciphertext' });

/**
 * One insert, where the path is known and had fewer than `POSTS_A_PATH_MAX` posts. Returns how many it had, or null where
 * it is unknown. When it resolves, the post is on disk, even if the server or role is set to commit without waiting: a lost
 * token is never sent again (docs/platform.md 5). A connection cut while idle fails at its next use, so it is tried twice.
 */
async function insertPost(
  db: Db,
  secretKeys: readonly SecretKey[],
  { kind, secret, body, source = null }: Omit<Post, 'source'> & { readonly source?: string | null },
  now: Date,
): Promise<number | null> {
  const [id, notifyHash] = [randomUUID(), notifyHashOf(secret)];
  const ciphertext = encryptSecret(secretKeys, bodyPlace(id), body);
  const insert = () => rowsOf(db)<{ posts: number }>`
    WITH path AS MATERIALIZED (
      SELECT (SELECT count(*) FROM (
        SELECT FROM notification WHERE notify_hash = ${notifyHash}
          AND received_at > ${new Date(now.getTime() - HOUR_MS)} AND id <> ${id} LIMIT ${POSTS_A_PATH_MAX}
      ) AS recent) AS posts
      WHERE ${isPathOpen(sql`${kind}::text`, sql`${notifyHash}::text`, now)}
    ), kept AS (
      INSERT INTO notification (id, kind, notify_hash, body_ciphertext, received_at, source)
      SELECT ${id}::uuid, ${kind}, ${notifyHash}, ${ciphertext}, ${now}::timestamptz, ${source}
      FROM path, (SELECT CASE WHEN current_setting('synchronous_commit') = 'off'
        THEN set_config('synchronous_commit', 'local', true) END AS waits) AS disk
      WHERE posts < ${POSTS_A_PATH_MAX}
      ON CONFLICT (id) DO NOTHING
    )
    SELECT posts FROM path`;
  const [path] = await retry(insert, { delaysMs: [0], atEnd: lastError });
  return path?.posts ?? null;
}

interface Notification {
  readonly id: string;
  readonly number: number;
  readonly kind: NotificationKind;
  readonly notifyHash: string;
  readonly outcome: NotificationOutcome | null;
  /** Null once it was forgotten. */
  readonly bodyCiphertext: string | null;
}

const notifications = (db: Db) =>
  db
    .selectFrom('notification')
    .select([
      'id',
      'number',
      'kind',
      'notify_hash as notifyHash',
      'outcome',
      'body_ciphertext as bodyCiphertext',
    ])
    .$castTo<Notification>();

const IS_OPEN = sql<boolean>`((outcome IS NULL OR outcome = 'waiting') AND body_ciphertext IS NOT NULL)`;
const AWAITS_PERSON = sql<boolean>`(outcome IN (${sql.join(NEEDS_PERSON)}) AND resolved_at IS NULL)`;

interface SettleContext {
  readonly secretKeys: readonly SecretKey[];
  /** Key of the digests by which a repeated result is found. */
  readonly digestKey: Buffer;
  readonly now: Date;
  /** Someone says that it is the result, whatever stands. */
  readonly byPerson: boolean;
}

interface Settlement extends Pick<Verdict<never>, 'outcome' | 'reason'> {
  /** The order number of the application or registration. Null if the path belongs to none. */
  readonly merOrderNo: string | null;
  /** The application's state, or the registration's status, from now on. */
  readonly standing?: string;
  readonly merchantNo?: string | null;
  readonly resultDigest?: string;
}

type Settle = (trx: Trx, post: Notification, body: string, context: SettleContext) => Promise<Settlement>;

const BELONGS_TO_NOTHING = changesNothing('unknown', 'belongs to nothing any more');

/** Only JSON changes anything without a person. */
const notAsWritten = (written: string, number: number) =>
  changesNothing(
    'malformed',
    `it came as ${written}: \`daybook notifications show ${number} --reveal\` prints it as read, and ` +
      `\`daybook notifications apply ${number}\` applies it`,
  );

const settleApplication: Settle = async (trx, { number, notifyHash }, body, context) => {
  const { secretKeys, digestKey, now, byPerson } = context;
  const application = await applicationByNotifyHash(trx, notifyHash);
  if (application === null) return { ...BELONGS_TO_NOTHING, merOrderNo: null };
  const { id, merOrderNo } = application;
  const { result, problem, written } = readApplicationResult(body);
  if (result === null) return { ...changesNothing('malformed', problem), merOrderNo };
  const resultDigest = createHmac('sha256', digestKey).update(identityOf(result)).digest('hex');
  const verdict = byPerson
    ? decisionBy(result)
    : judgeApplication(result, application, await wasApplied(trx, notifyHash, resultDigest));
  if (verdict.change === null) return { ...verdict, merOrderNo };
  if (written !== AS_DOCUMENTED && !byPerson) return { ...notAsWritten(written, number), merOrderNo };
  const other = await applicationByBizFlow(trx, result.bizFlow);
  if (other !== null && other.id !== id)
    return { ...changesNothing('contradiction', 'names the bizFlow of another application'), merOrderNo };
  const decision = verdict.change;
  const { bizFlow, processVersion, merNameEn } = result;
  const change = { decision, bizFlow, processVersion, merNameEn, byPerson, secretKeys, now };
  if (!(await applyApplicationResult(trx, application, change)))
    return { ...changesNothing('second-token', 'the merchant has another token already'), merOrderNo };
  const merchantNo = decision.to === 'approved' ? decision.merchantNo : null;
  return { ...verdict, merOrderNo, resultDigest, standing: decision.to, merchantNo };
};

const wasApplied = async (trx: Trx, notifyHash: string, resultDigest: string): Promise<boolean> =>
  (await trx
    .selectFrom('notification')
    .select('id')
    .where('notify_hash', '=', notifyHash)
    .where('outcome', '=', 'applied')
    .where('result_digest', '=', resultDigest)
    .executeTakeFirst()) !== undefined;

const settleRegistration: Settle = async (trx, { number, notifyHash }, body, { now, byPerson }) => {
  const registration = await beneficiaryByNotifyHash(trx, notifyHash);
  if (registration === null) return { ...BELONGS_TO_NOTHING, merOrderNo: null };
  const { id, merOrderNo } = registration;
  const { result, problem, written } = readRegistrationResult(body);
  if (result === null) return { ...changesNothing('malformed', problem), merOrderNo };
  const verdict = byPerson ? decidedBy(result) : judgeRegistration(result, registration);
  if (verdict.change === null) return { ...verdict, merOrderNo };
  if (written !== AS_DOCUMENTED && !byPerson) return { ...notAsWritten(written, number), merOrderNo };
  const { status, payeeId } = verdict.change;
  await decideBeneficiary(trx, id, { status, payeeId, note: null, now });
  return { ...verdict, merOrderNo, standing: status };
};

const SETTLE: Readonly<Record<NotificationKind, Settle>> = {
  onboarding: settleApplication,
  beneficiary: settleRegistration,
};

const bodyOf = (secretKeys: readonly SecretKey[], { id }: Notification, ciphertext: string): string =>
  decryptSecret(secretKeys, bodyPlace(id), ciphertext);

export interface ProcessDeps {
  readonly db: Db;
  readonly secretKeys: readonly SecretKey[];
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

export interface ProcessReport {
  readonly outcomes: Readonly<Partial<Record<NotificationOutcome, number>>>;
  /** Notifications left for the next pass, each with the reason: a missing key or an error. Without their content. */
  readonly left: readonly { readonly number: number; readonly problem: string }[];
}

/** Numbers read at a time. */
const BATCH_MAX = 100;

/**
 * One pass over everything that is not settled yet, in order of arrival. Several processes may do so at once, and each may
 * be killed at any moment: a notification and what it changes are one commit. Throws when the database is lost.
 */
export async function processNotifications(deps: ProcessDeps): Promise<ProcessReport> {
  const { db, now, signal } = deps;
  const outcomes: Partial<Record<NotificationOutcome, number>> = {};
  const left: { number: number; problem: string }[] = [];
  // A submission whose process died never stores its reply. Its result must not wait for that.
  await markBrokenOff(db, now());
  for (let after = 0; !signal.aborted;) {
    const open = db.selectFrom('notification').select('number').where(IS_OPEN).where('number', '>', after);
    const batch = await open.orderBy('number').limit(BATCH_MAX).execute();
    if (batch.length === 0) break;
    for (const { number } of batch) {
      if (signal.aborted as boolean) break;
      after = number;
      const { outcome, problem } = await processOne(number, deps);
      if (problem !== null) left.push({ number, problem });
      if (outcome !== null) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    }
  }
  return { outcomes, left };
}

/** Both are null if another process has the notification. */
interface Processed {
  readonly outcome: NotificationOutcome | null;
  readonly problem: string | null;
}

/** PostgreSQL's class of errors about values. */
const DATA_EXCEPTION = '22';
const UNSTORABLE = changesNothing('malformed', 'it holds a value that cannot be stored');

async function processOne(number: number, { db, secretKeys, now }: ProcessDeps): Promise<Processed> {
  const settle = (judge: (trx: Trx, post: Notification) => Promise<Settlement>) =>
    db.transaction().execute(async (trx): Promise<Processed> => {
      const post = await notifications(trx)
        .where('number', '=', number)
        .where(IS_OPEN)
        .forUpdate()
        .skipLocked()
        .executeTakeFirst();
      if (post === undefined) return { outcome: null, problem: null };
      const settlement = await judge(trx, post);
      const { outcome } = settlement;
      if (outcome !== post.outcome)
        await store(trx, post.id, settlement, outcome === 'waiting' ? null : now());
      return { outcome, problem: null };
    });
  try {
    // Before the transaction: the embedded database has no second connection.
    const digestKey = await fingerprintKey(db, 'result', secretKeys);
    return await settle((trx, post) => {
      const context = { secretKeys, digestKey, now: now(), byPerson: false };
      return SETTLE[post.kind](trx, post, bodyOf(secretKeys, post, post.bodyCiphertext!), context);
    });
  } catch (error) {
    if (isConnectionError(error)) throw error;
    // A value that no column can hold would fail at every pass.
    if (codeOf(error).startsWith(DATA_EXCEPTION))
      return await settle(() => Promise.resolve({ ...UNSTORABLE, merOrderNo: null }));
    return { outcome: null, problem: problemOf(error) };
  }
}

/** Our own errors never quote a value. Any other error might, so only its name is shown. */
function problemOf(error: unknown): string {
  if (error instanceof UnknownSecretKey || error instanceof SecretUnreadable) return error.message;
  return error instanceof Error ? `internal error (${error.name})` : 'internal error';
}

const store = (trx: Trx, id: string, settlement: Settlement, at: Date | null, note?: string) =>
  trx
    .updateTable('notification')
    .set({
      outcome: settlement.outcome,
      reason: note === undefined ? settlement.reason : APPLIED_BY_PERSON,
      mer_order_no: settlement.merOrderNo,
      result_digest: settlement.resultDigest ?? null,
      processed_at: at,
      ...(note !== undefined && { resolved_at: at, note }),
    })
    .where('id', '=', id)
    .execute();

const APPLIED_BY_PERSON = 'applied by a person';

/** The notification cannot be applied. The message says why. Nothing was changed. */
class NotApplicable extends ExpectedError {
  override readonly name = 'NotApplicable';
  readonly exitCode = EXIT.usage;
}

export interface AppliedNotification {
  readonly number: number;
  readonly kind: NotificationKind;
  readonly merOrderNo: string;
  readonly standing: string;
  /** Of an approved application, else null. */
  readonly merchantNo: string | null;
  /** What was read, if it was not written as the document has it; else null. */
  readonly readAs: ReadAs | null;
}

export interface ReadAs {
  readonly written: string;
  /** Neither the token nor what may be personal, unless it is to be revealed. */
  readonly fields: Readonly<Record<string, string>>;
}

const REVEALED = ['token', 'message', 'merNameEn'];

/** What a body was read as, if it was not written as the document has it; else null, as it shows by itself what it says. */
export function readAsOf(kind: NotificationKind, body: string, { reveal = false } = {}): ReadAs | null {
  const { written, result } =
    kind === 'onboarding' ? readApplicationResult(body) : readRegistrationResult(body);
  if (result === null || written === AS_DOCUMENTED) return null;
  const fields = Object.entries<string | null>(result).filter(
    (field): field is [string, string] => field[1] !== null && (reveal || !REVEALED.includes(field[0])),
  );
  return { written, fields: Object.fromEntries(fields) };
}

/** Why a person cannot apply a notification with this outcome. */
const NOT_FOR_A_PERSON: Readonly<Partial<Record<NotificationOutcome, string>>> = {
  applied: 'was applied before',
  duplicate: 'repeats an applied one',
  unknown: 'belongs to nothing any more',
  waiting: 'waits for the reply to our own request, and is applied by itself then',
};

/**
 * Applies notification `number`, whatever kept it from being applied before. The token of an approval replaces an earlier
 * one. Throws `NotApplicable`, `UnknownSecretKey` or `SecretUnreadable`.
 */
export async function applyNotification(
  trx: Trx,
  { number, note }: { readonly number: number; readonly note: string | null },
  { secretKeys, digestKey, now }: Omit<SettleContext, 'byPerson'>,
): Promise<AppliedNotification> {
  const post = await notifications(trx).where('number', '=', number).forUpdate().executeTakeFirst();
  const refuse = (why: string) => new NotApplicable(`notification ${number} ${why}; nothing was changed.`);
  if (post === undefined)
    throw new NotApplicable(
      `there is no notification ${number}; \`daybook notifications --all\` lists those there are.`,
    );
  const { id, kind, outcome, bodyCiphertext } = post;
  if (outcome === null) throw refuse('was not processed yet; `daybook notifications process` does so');
  if (NOT_FOR_A_PERSON[outcome] !== undefined) throw refuse(NOT_FOR_A_PERSON[outcome]);
  if (bodyCiphertext === null) throw refuse('was forgotten with its application');
  const body = bodyOf(secretKeys, post, bodyCiphertext);
  const settlement = await SETTLE[kind](trx, post, body, { secretKeys, digestKey, now, byPerson: true });
  const { reason, merOrderNo, standing, merchantNo = null } = settlement;
  if (settlement.outcome === 'malformed')
    throw refuse(
      `cannot be read as a result (${reason!}); \`daybook notifications show ${number} --reveal\` prints it`,
    );
  if (merOrderNo === null || standing === undefined) throw refuse(reason!);
  await store(trx, id, settlement, now, note ?? APPLIED_BY_PERSON);
  return { number, kind, merOrderNo, standing, merchantNo, readAs: readAsOf(kind, body) };
}

export interface NotificationRow {
  readonly number: number;
  readonly kind: NotificationKind;
  /** Null as long as it is not processed. */
  readonly outcome: NotificationOutcome | null;
  readonly reason: string | null;
  readonly merOrderNo: string | null;
  readonly receivedAt: Date;
  /** The address that it was posted from; null if that cannot be known. */
  readonly source: string | null;
  readonly processedAt: Date | null;
  readonly resolvedAt: Date | null;
  readonly note: string | null;
}

const listed = (db: Db) =>
  db
    .selectFrom('notification')
    .select([
      'number',
      'kind',
      'outcome',
      'reason',
      'mer_order_no as merOrderNo',
      'received_at as receivedAt',
    ])
    .select(['source', 'processed_at as processedAt', 'resolved_at as resolvedAt', 'note'])
    .orderBy('number', 'desc')
    .$castTo<NotificationRow>();

/** Newest first. Without `all`: those that are waiting, and those that a person still has to check. */
export const listNotifications = (
  db: Db,
  { all, limit }: { readonly all: boolean; readonly limit: number },
): Promise<NotificationRow[]> =>
  listed(db)
    .$if(!all, (query) => query.where((eb) => eb.or([IS_OPEN, AWAITS_PERSON])))
    .limit(limit)
    .execute();

/** What a person reads of a result that was not applied, next to the application or registration that it was pushed for. */
export const notAppliedText = ({ number, outcome, reason }: NotificationRow): string =>
  `a result was pushed and not applied (notification ${number}, ${outcome!}: ${reason ?? ''}): ` +
  `\`daybook notifications show ${number} --reveal\` prints it, \`daybook notifications apply ${number}\` applies it, ` +
  `\`daybook notifications resolve ${number} --note TEXT\` closes it`;

/** Results that were pushed for submissions of a kind, changed nothing, and wait for a person, newest first. */
export const notAppliedOf = (db: Db, kind: NotificationKind): Promise<NotificationRow[]> =>
  listed(db).where('kind', '=', kind).where(AWAITS_PERSON).execute();

/**
 * A notification's kind, and its body as it was posted: null where that was deleted. Undefined where there is no
 * notification of that number. Throws `UnknownSecretKey` or `SecretUnreadable`.
 */
export async function notificationBody(
  db: Db,
  secretKeys: readonly SecretKey[],
  number: number,
): Promise<{ readonly kind: NotificationKind; readonly body: string | null } | undefined> {
  const post = await notifications(db).where('number', '=', number).executeTakeFirst();
  if (post === undefined) return undefined;
  const { kind, bodyCiphertext } = post;
  return { kind, body: bodyCiphertext === null ? null : bodyOf(secretKeys, post, bodyCiphertext) };
}

/** Number of notifications by outcome; `open` counts those not processed yet. */
export async function countNotifications(db: Db): Promise<Record<string, number>> {
  const rows = await db
    .selectFrom('notification')
    .select((select) => [
      select.fn.coalesce('outcome', sql.lit('open')).as('outcome'),
      select.fn.countAll<number>().as('count'),
    ])
    .groupBy('outcome')
    .orderBy('outcome')
    .execute();
  return Object.fromEntries(rows.map(({ outcome, count }) => [outcome, count]));
}

/** Records that a person has dealt with a notification. False if none such needs a person. */
export async function resolveNotification(
  db: Db,
  { number, note, now }: { readonly number: number; readonly note: string; readonly now: Date },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('notification')
    .set({ resolved_at: now, note })
    .where('number', '=', number)
    .where(AWAITS_PERSON)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}
