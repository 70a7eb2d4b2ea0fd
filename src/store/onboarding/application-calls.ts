/**
 * How an application's state changes until the platform has answered (sp1101; docs/platform.md 4.3): it is recorded
 * before it is sent, and then accepted, refused or unknown.
 */
import { sql } from 'kysely';
import { applicationById, applicationPlace, rowOf, type ApplicationRow } from './applications.ts';
import { hasExited, type Holder } from '../../host/process-identity.ts';
import type { Db, Trx } from '../engine/database.ts';
import { encryptSecret, type SecretKey } from '../secrets/secrets.ts';

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
