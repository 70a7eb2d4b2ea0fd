/**
 * Applications for merchants (sp1101) as they stand, and what was sent and said of them (docs/platform.md 3.2, 4.3).
 */
import { sql, type Selectable } from 'kysely';
import type { Db, Trx } from '../engine/database.ts';
import type { Application } from '../engine/schema.ts';
import { decryptSecret, type SecretKey, type SecretPlace, encryptSecret } from '../secrets/secrets.ts';
import { hasExited, type Holder } from '../../host/process-identity.ts';
import { keepDeliveredToken, replaceToken } from '../merchants.ts';

/**
 * `submitting` until its call ended; `accepted`: received, awaiting review (not an approval); `refused`: the platform
 * does not have it; `unknown`: unclear, and it is never sent again by itself. The others are results.
 */
export type ApplicationState =
  'submitting' | 'accepted' | 'refused' | 'unknown' | 'approved' | 'supplement' | 'rejected';

/** States in which the platform has the application, or may have it, and has not decided yet. */
const OPEN_STATES = ['submitting', 'accepted', 'unknown'] as const satisfies ApplicationState[];

export interface ApplicationRow {
  readonly id: number;
  readonly merOrderNo: string;
  readonly bizFlow: string | null;
  readonly state: ApplicationState;
  readonly merchantNo: string | null;
  readonly processVersion: string | null;
  readonly problem: string | null;
  /** The platform said that it has it. If the state is `unknown`, it did not name the bizFlow. */
  readonly isReceived: boolean;
  readonly replaces: number | null;
  /** Whether its result comes to us. False if the file had a callbackUrl of its own. */
  readonly isNotified: boolean;
  readonly submittedAt: Date;
  readonly changedAt: Date;
  /** When its personal data was taken out; null while it is kept. */
  readonly forgottenAt: Date | null;
}

type SecretColumn = 'payload_ciphertext' | 'detail_ciphertext' | 'recorded_name_ciphertext';

/** The place of an encrypted column. A ciphertext can be decrypted for its own place only. */
export const applicationPlace = (merOrderNo: string, column: SecretColumn): SecretPlace => ({
  table: 'application',
  row: merOrderNo,
  column,
});

export const rowOf = (row: Selectable<Application>): ApplicationRow => ({
  id: row.id,
  merOrderNo: row.mer_order_no,
  bizFlow: row.biz_flow,
  state: row.state as ApplicationState,
  merchantNo: row.merchant_no,
  processVersion: row.process_version,
  problem: row.problem,
  isReceived: row.is_received,
  replaces: row.replaces,
  isNotified: row.notify_hash !== null,
  submittedAt: row.submitted_at,
  changedAt: row.changed_at,
  forgottenAt: row.forgotten_at,
});

const found = (row: Selectable<Application> | undefined): ApplicationRow | null =>
  row === undefined ? null : rowOf(row);

/** Newest first. */
export async function listApplications(db: Db, limit: number): Promise<ApplicationRow[]> {
  const rows = await db.selectFrom('application').selectAll().orderBy('id', 'desc').limit(limit).execute();
  return rows.map(rowOf);
}

export async function applicationById(db: Db, id: number): Promise<ApplicationRow | null> {
  return found(await db.selectFrom('application').selectAll().where('id', '=', id).executeTakeFirst());
}

export async function applicationByMerOrderNo(db: Db, merOrderNo: string): Promise<ApplicationRow | null> {
  return found(
    await db.selectFrom('application').selectAll().where('mer_order_no', '=', merOrderNo).executeTakeFirst(),
  );
}

export async function applicationByBizFlow(db: Db, bizFlow: string): Promise<ApplicationRow | null> {
  return found(
    await db.selectFrom('application').selectAll().where('biz_flow', '=', bizFlow).executeTakeFirst(),
  );
}

/** The application that replaces it; null if there is none. */
export async function replacementOf(db: Db, id: number): Promise<ApplicationRow | null> {
  return found(await db.selectFrom('application').selectAll().where('replaces', '=', id).executeTakeFirst());
}

/** Decrypts a column of an application; null if it is empty or there is no such application. */
async function decrypted(
  db: Db,
  secretKeys: readonly SecretKey[],
  id: number,
  column: SecretColumn,
): Promise<string | null> {
  const row = await db
    .selectFrom('application')
    .select(['mer_order_no as merOrderNo', `${column} as ciphertext`])
    .where('id', '=', id)
    .executeTakeFirst();
  if (row?.ciphertext == null) return null;
  return decryptSecret(secretKeys, applicationPlace(row.merOrderNo, column), row.ciphertext);
}

/** What the platform said about it, or null. Throws `UnknownSecretKey` or `SecretUnreadable`. */
export const applicationDetail = (
  db: Db,
  secretKeys: readonly SecretKey[],
  id: number,
): Promise<string | null> => decrypted(db, secretKeys, id, 'detail_ciphertext');

/** The merchant's English name by the last result, or null. Throws `UnknownSecretKey` or `SecretUnreadable`. */
export const recordedName = (db: Db, secretKeys: readonly SecretKey[], id: number): Promise<string | null> =>
  decrypted(db, secretKeys, id, 'recorded_name_ciphertext');

/**
 * What was sent, decrypted; null if there is no such application or it was forgotten. Throws `UnknownSecretKey` or
 * `SecretUnreadable`.
 */
export async function applicationPayload(
  db: Db,
  secretKeys: readonly SecretKey[],
  id: number,
): Promise<unknown> {
  const payload = await decrypted(db, secretKeys, id, 'payload_ciphertext');
  return payload === null ? null : JSON.parse(payload);
}

const readPayload = (secretKeys: readonly SecretKey[], merOrderNo: string, ciphertext: string): unknown =>
  JSON.parse(decryptSecret(secretKeys, applicationPlace(merOrderNo, 'payload_ciphertext'), ciphertext));

/**
 * Payloads of applications that are undecided and not replaced, and that the platform has or may have. Oldest first.
 */
export async function openPayloads(
  trx: Db,
  secretKeys: readonly SecretKey[],
): Promise<{ application: ApplicationRow; payload: unknown }[]> {
  const rows = await trx
    .selectFrom('application')
    .selectAll()
    .where('state', 'in', OPEN_STATES)
    .where(sql<boolean>`NOT EXISTS (SELECT FROM application AS later WHERE later.replaces = application.id)`)
    .orderBy('id')
    .execute();
  return rows.map((row) => ({
    application: rowOf(row),
    // It is there, as only closed applications are forgotten.
    payload: readPayload(secretKeys, row.mer_order_no, row.payload_ciphertext!),
  }));
}

/** Longer than any call with its retries takes. After that a submission on another machine counts as broken off. */
export const SUBMITTING_MS_MAX = 3_600_000;

/** Keeps other processes from recording an application until the transaction ends. */
export async function lockApplications(trx: Trx): Promise<void> {
  await sql`LOCK TABLE application IN SHARE ROW EXCLUSIVE MODE`.execute(trx);
}

export interface NewApplication {
  readonly merOrderNo: string;
  readonly payload: object;
  readonly notifyHash: string | null;
  readonly processVersion: string | null;
  readonly replaces: number | null;
  readonly holder: Holder;
  readonly secretKeys: readonly SecretKey[];
  readonly now: Date;
}

/** Records an application that is about to be sent; its payload is encrypted. Throws `UnknownSecretKey`. */
export async function recordApplication(trx: Db, application: NewApplication): Promise<ApplicationRow> {
  const { merOrderNo, payload, notifyHash, processVersion, replaces, holder, secretKeys, now } = application;
  const row = await trx
    .insertInto('application')
    .values({
      mer_order_no: merOrderNo,
      payload_ciphertext: encryptSecret(
        secretKeys,
        applicationPlace(merOrderNo, 'payload_ciphertext'),
        JSON.stringify(payload),
      ),
      notify_hash: notifyHash,
      process_version: processVersion,
      replaces,
      holder,
      submitted_at: now,
      changed_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return rowOf(row);
}

/**
 * The platform's receipt arrived. If a result or a person has changed the application meanwhile, that stays. A second call
 * changes nothing.
 */
export async function markAccepted(
  db: Db,
  id: number,
  { bizFlow, now }: { readonly bizFlow: string; readonly now: Date },
): Promise<ApplicationRow> {
  const moved = await db
    .updateTable('application')
    .set({ state: 'accepted', biz_flow: bizFlow, is_received: true, problem: null, changed_at: now })
    .where('id', '=', id)
    .where('state', 'in', ['submitting', 'unknown'])
    .where((eb) => eb.or([eb('biz_flow', 'is', null), eb('biz_flow', '=', bizFlow)]))
    .returningAll()
    .executeTakeFirst();
  return moved === undefined ? (await applicationById(db, id))! : rowOf(moved);
}

/**
 * It is unknown whether the platform has it, or by which bizFlow. Changes it only while it is `submitting`.
 * `isReceived`: the platform did say that it has it.
 */
export async function markUnknown(
  db: Db,
  id: number,
  {
    problem,
    isReceived = false,
    now,
  }: { readonly problem: string; readonly isReceived?: boolean; readonly now: Date },
): Promise<void> {
  await db
    .updateTable('application')
    .set({ state: 'unknown', problem, is_received: isReceived, changed_at: now })
    .where('id', '=', id)
    .where('state', '=', 'submitting')
    .execute();
}

/** The platform does not have it: it refused, or nothing reached it. `detail` is its complete answer. */
export async function markRefused(
  db: Db,
  { id, merOrderNo }: ApplicationRow,
  refusal: {
    readonly problem: string;
    readonly detail: string | null;
    readonly secretKeys: readonly SecretKey[];
    readonly now: Date;
  },
): Promise<void> {
  const { problem, detail, secretKeys, now } = refusal;
  await db
    .updateTable('application')
    .set({
      state: 'refused',
      problem,
      detail_ciphertext:
        detail === null
          ? null
          : encryptSecret(secretKeys, applicationPlace(merOrderNo, 'detail_ciphertext'), detail),
      changed_at: now,
    })
    .where('id', '=', id)
    .where('state', 'in', ['submitting', 'unknown'])
    .execute();
}

/**
 * Submissions whose process died before the reply was stored become `unknown`, as the platform may have them. On
 * another machine a process counts as dead after `SUBMITTING_MS_MAX`. Returns how many there were.
 */
export async function markBrokenOff(db: Db, now: Date): Promise<number> {
  const rows = await db
    .selectFrom('application')
    .select(['id', 'holder', 'submitted_at'])
    .where('state', '=', 'submitting')
    .execute();
  const broken = rows.filter(
    ({ holder, submitted_at }) =>
      hasExited(holder) || now.getTime() - submitted_at.getTime() > SUBMITTING_MS_MAX,
  );
  for (const { id } of broken) {
    await markUnknown(db, id, { problem: 'the submitting process ended before the reply was stored', now });
  }
  return broken.length;
}

/** What a result is compared with. */
export type JudgedApplication = Pick<ApplicationRow, 'id' | 'merOrderNo' | 'bizFlow' | 'state'>;

/** The application a path belongs to, locked until the transaction ends; null where that path was never issued. */
export async function applicationByNotifyHash(
  trx: Db,
  notifyHash: string,
): Promise<JudgedApplication | null> {
  const row = await trx
    .selectFrom('application')
    .select(['id', 'mer_order_no as merOrderNo', 'biz_flow as bizFlow', 'state'])
    .where('notify_hash', '=', notifyHash)
    .forUpdate()
    .executeTakeFirst();
  return row === undefined ? null : { ...row, state: row.state as ApplicationState };
}

export type ApplicationDecision =
  | { readonly to: 'approved'; readonly merchantNo: string; readonly token: string }
  | { readonly to: 'supplement' | 'rejected'; readonly message: string };

/**
 * States a result can move: a rejection may have been an error in processing, which the result follows
 * (docs/platform.md 6.1).
 */
const UNDECIDED = [
  'submitting',
  'accepted',
  'unknown',
  'supplement',
  'rejected',
] as const satisfies ApplicationState[];

/**
 * Moves an application the way its result says; an approval's merchant becomes known, its token encrypted. `conflict`
 * changes nothing: the application was decided before, or has another bizFlow. `second-token` changes nothing either:
 * the merchant has another token. `byPerson`: someone says that it is the result whatever stands, so it is neither.
 * Throws `UnknownSecretKey`.
 */
export async function applyApplicationResult(
  trx: Db,
  { id, merOrderNo }: Pick<JudgedApplication, 'id' | 'merOrderNo'>,
  result: {
    readonly decision: ApplicationDecision;
    readonly bizFlow: string;
    readonly processVersion: string | null;
    /** '' where the result has none. */
    readonly merNameEn?: string;
    readonly byPerson?: boolean;
    readonly secretKeys: readonly SecretKey[];
    readonly now: Date;
  },
): Promise<'applied' | 'conflict' | 'second-token'> {
  const { decision, bizFlow, processVersion, merNameEn = '', byPerson = false, secretKeys, now } = result;
  const current = await trx
    .selectFrom('application')
    .select(['state', 'biz_flow'])
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirstOrThrow();
  const movable: readonly string[] = UNDECIDED;
  const isOpen = movable.includes(current.state) && (current.biz_flow ?? bizFlow) === bizFlow;
  if (!isOpen && !byPerson) return 'conflict';
  if (decision.to === 'approved') {
    const delivered = { ...decision, secretKeys, now };
    if (!(await keepDeliveredToken(trx, delivered))) {
      if (!byPerson) return 'second-token';
      await replaceToken(trx, delivered);
    }
  }
  const detail =
    decision.to === 'approved' || decision.message === ''
      ? null
      : encryptSecret(secretKeys, applicationPlace(merOrderNo, 'detail_ciphertext'), decision.message);
  await trx
    .updateTable('application')
    .set({
      state: decision.to,
      biz_flow: bizFlow,
      merchant_no: decision.to === 'approved' ? decision.merchantNo : null,
      detail_ciphertext: detail,
      is_received: true,
      problem: null,
      changed_at: now,
      ...(processVersion === null ? {} : { process_version: processVersion }),
      ...(merNameEn === ''
        ? {}
        : {
            recorded_name_ciphertext: encryptSecret(
              secretKeys,
              applicationPlace(merOrderNo, 'recorded_name_ciphertext'),
              merNameEn,
            ),
          }),
    })
    .where('id', '=', id)
    .execute();
  return 'applied';
}

/**
 * Removes the payload, what the platform said about it, and all posts to its path. From then on the path is unknown.
 * The merchant's token is removed only if its ledger is no longer read.
 */
export async function forgetApplication(trx: Trx, id: number, now: Date): Promise<void> {
  await sql`
    UPDATE notification AS n
    SET body_ciphertext = NULL, forgotten_at = ${now}, processed_at = coalesce(n.processed_at, ${now}),
      outcome = CASE WHEN n.outcome IS NULL OR n.outcome = 'waiting' THEN 'unknown' ELSE n.outcome END
    FROM application a
    WHERE a.id = ${id} AND n.kind = 'onboarding' AND n.notify_hash = a.notify_hash AND n.forgotten_at IS NULL
  `.execute(trx);
  await sql`
    UPDATE merchant AS m SET token_ciphertext = NULL
    FROM application a
    WHERE a.id = ${id} AND m.merchant_no = a.merchant_no AND m.status = 'disabled'`.execute(trx);
  await trx
    .updateTable('application')
    .set({
      payload_ciphertext: null,
      detail_ciphertext: null,
      recorded_name_ciphertext: null,
      notify_hash: null,
      forgotten_at: now,
    })
    .where('id', '=', id)
    .execute();
}
