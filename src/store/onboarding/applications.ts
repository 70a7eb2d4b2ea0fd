/**
 * Applications for merchants (sp1101) as they stand, and what was sent and said of them (docs/platform.md 3.2, 4.3).
 */
import { sql, type Selectable } from 'kysely';
import type { Db } from '../engine/database.ts';
import type { Application } from '../engine/schema.ts';
import { decryptSecret, type SecretKey, type SecretPlace } from '../secrets/secrets.ts';

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
