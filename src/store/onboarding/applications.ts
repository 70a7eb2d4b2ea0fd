/**
 * Applications for merchants (sp1101): recorded before they are sent, moved on by the platform's receipt
 * (docs/platform.md 4.3).
 */
import { sql, type Kysely, type Selectable, type Transaction } from 'kysely';
import { isGone, type Holder } from '../../host/process-identity.ts';
import type { Application, DB } from '../engine/schema.ts';
import { decryptSecret, encryptSecret, type SecretKey, type SecretPlace } from '../secrets/secrets.ts';

/** Longer than any call with its retries may take: after that a submission on another machine counts as broken off. */
export const SUBMITTING_MS_MAX = 3_600_000;

/**
 * `submitting` until its call ended; `accepted`: received, awaiting review (not an approval); `refused`: the platform
 * does not have it; `unknown`: nobody can tell, and it is never sent again by itself. The others came as a result.
 */
export type ApplicationState =
  'submitting' | 'accepted' | 'refused' | 'unknown' | 'approved' | 'supplement' | 'rejected';

/** States in which the platform has the application, or may have it, and has not decided. */
const OPEN_STATES = ['submitting', 'accepted', 'unknown'] as const satisfies ApplicationState[];

export interface ApplicationRow {
  readonly id: number;
  readonly merOrderNo: string;
  readonly bizFlow: string | null;
  readonly state: ApplicationState;
  readonly merchantNo: string | null;
  readonly processVersion: string | null;
  readonly problem: string | null;
  /** The platform said that it has it; with `unknown`, without naming its bizFlow. */
  readonly isReceived: boolean;
  readonly replaces: number | null;
  /** Whether its result comes to us: false where the file gave a callbackUrl of its own. */
  readonly isNotified: boolean;
  readonly submittedAt: Date;
  readonly changedAt: Date;
  /** When its personal data was taken out; null while it is kept. */
  readonly forgottenAt: Date | null;
}

const payloadPlace = (merOrderNo: string): SecretPlace => ({
  table: 'application',
  row: merOrderNo,
  column: 'payload_ciphertext',
});
export const recordedNamePlace = (merOrderNo: string): SecretPlace => ({
  table: 'application',
  row: merOrderNo,
  column: 'recorded_name_ciphertext',
});
export const detailPlace = (merOrderNo: string): SecretPlace => ({
  table: 'application',
  row: merOrderNo,
  column: 'detail_ciphertext',
});

const rowOf = (row: Selectable<Application>): ApplicationRow => ({
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
export async function listApplications(db: Kysely<DB>, limit: number): Promise<ApplicationRow[]> {
  const rows = await db.selectFrom('application').selectAll().orderBy('id', 'desc').limit(limit).execute();
  return rows.map(rowOf);
}

export async function applicationById(db: Kysely<DB>, id: number): Promise<ApplicationRow | null> {
  return found(await db.selectFrom('application').selectAll().where('id', '=', id).executeTakeFirst());
}

export async function applicationByMerOrderNo(
  db: Kysely<DB>,
  merOrderNo: string,
): Promise<ApplicationRow | null> {
  return found(
    await db.selectFrom('application').selectAll().where('mer_order_no', '=', merOrderNo).executeTakeFirst(),
  );
}

export async function applicationByBizFlow(db: Kysely<DB>, bizFlow: string): Promise<ApplicationRow | null> {
  return found(
    await db.selectFrom('application').selectAll().where('biz_flow', '=', bizFlow).executeTakeFirst(),
  );
}

/** The one that replaces it, if any. */
export async function replacementOf(db: Kysely<DB>, id: number): Promise<ApplicationRow | null> {
  return found(await db.selectFrom('application').selectAll().where('replaces', '=', id).executeTakeFirst());
}

type SecretColumn = 'payload_ciphertext' | 'detail_ciphertext' | 'recorded_name_ciphertext';

/** One encrypted column of an application, decrypted; null where it holds nothing, or there is no such application. */
async function decrypted(
  db: Kysely<DB>,
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
  return decryptSecret(secretKeys, { table: 'application', row: row.merOrderNo, column }, row.ciphertext);
}

/** What the platform said of it, or null. Throws `UnknownSecretKey` or `SecretUnreadable`. */
export const applicationDetail = (
  db: Kysely<DB>,
  secretKeys: readonly SecretKey[],
  id: number,
): Promise<string | null> => decrypted(db, secretKeys, id, 'detail_ciphertext');

/** The merchant's English name as the last result told it, or null. Throws `UnknownSecretKey` or `SecretUnreadable`. */
export const recordedName = (
  db: Kysely<DB>,
  secretKeys: readonly SecretKey[],
  id: number,
): Promise<string | null> => decrypted(db, secretKeys, id, 'recorded_name_ciphertext');

/** What was sent, decrypted; null where there is no such application or it was forgotten. Throws `UnknownSecretKey` or `SecretUnreadable`. */
export async function applicationPayload(
  db: Kysely<DB>,
  secretKeys: readonly SecretKey[],
  id: number,
): Promise<unknown> {
  const payload = await decrypted(db, secretKeys, id, 'payload_ciphertext');
  return payload === null ? null : JSON.parse(payload);
}

const readPayload = (secretKeys: readonly SecretKey[], merOrderNo: string, ciphertext: string): unknown =>
  JSON.parse(decryptSecret(secretKeys, payloadPlace(merOrderNo), ciphertext));

/** Payloads of applications the platform has or may have, undecided and not replaced, oldest first. */
export async function openPayloads(
  trx: Kysely<DB>,
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
    // Only what is closed is ever forgotten.
    payload: readPayload(secretKeys, row.mer_order_no, row.payload_ciphertext!),
  }));
}

/** Keeps everyone else from recording an application until the transaction ends: two processes see each other's. */
export async function lockApplications(trx: Transaction<DB>): Promise<void> {
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
export async function recordApplication(
  trx: Kysely<DB>,
  application: NewApplication,
): Promise<ApplicationRow> {
  const { merOrderNo, payload, notifyHash, processVersion, replaces, holder, secretKeys, now } = application;
  const row = await trx
    .insertInto('application')
    .values({
      mer_order_no: merOrderNo,
      payload_ciphertext: encryptSecret(secretKeys, payloadPlace(merOrderNo), JSON.stringify(payload)),
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
 * The platform's receipt came. A result may have overtaken it, or a person may have settled it meanwhile: what stands
 * then stays. Doing it again changes nothing.
 */
export async function markAccepted(
  db: Kysely<DB>,
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
  return found(moved) ?? (await applicationById(db, id))!;
}

/**
 * Whether the platform has it, or by which bizFlow, cannot be told. Moves only what is still on its way. `isReceived`
 * where the platform did say that it has it.
 */
export async function markUnknown(
  db: Kysely<DB>,
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

/** The platform does not have it: it said no, or nothing ever reached it. `detail` is what it said, in full. */
export async function markRefused(
  db: Kysely<DB>,
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
      detail_ciphertext: detail === null ? null : encryptSecret(secretKeys, detailPlace(merOrderNo), detail),
      changed_at: now,
    })
    .where('id', '=', id)
    .where('state', 'in', ['submitting', 'unknown'])
    .execute();
}

/**
 * Submissions whose process died before the reply was stored become `unknown`: the platform may have them. One of
 * another machine is given `SUBMITTING_MS_MAX`. Returns how many.
 */
export async function markBrokenOff(db: Kysely<DB>, now: Date): Promise<number> {
  const rows = await db
    .selectFrom('application')
    .select(['id', 'holder', 'submitted_at'])
    .where('state', '=', 'submitting')
    .execute();
  const broken = rows.filter(
    ({ holder, submitted_at }) =>
      isGone(holder) || now.getTime() - submitted_at.getTime() > SUBMITTING_MS_MAX,
  );
  for (const { id } of broken) {
    await markUnknown(db, id, { problem: 'the submitting process ended before the reply was stored', now });
  }
  return broken.length;
}
