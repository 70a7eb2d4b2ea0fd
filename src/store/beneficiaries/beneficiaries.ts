/**
 * Registrations of beneficiaries (sp1401) as they stand, and how a result ends the review of one (docs/platform.md 3.1,
 * 6.2).
 */
import { sql, type Selectable } from 'kysely';
import type { Db, Trx } from '../engine/database.ts';
import type { Beneficiary } from '../engine/schema.ts';

/**
 * `sending` until a reply is stored, or `refused`. The others are the platform's: `01` under review, `03` rejected,
 * `04` approved.
 */
export type BeneficiaryState = 'sending' | 'refused' | '01' | '03' | '04';

export interface BeneficiaryRow {
  readonly id: number;
  readonly merOrderNo: string;
  readonly merchantNo: string;
  readonly bizMode: 'B' | 'C';
  readonly status: BeneficiaryState;
  readonly bizFlowNo: string | null;
  readonly payeeId: string | null;
  readonly respCode: string | null;
  /** Whether its result comes to us. False if the file had a callbackUrl of its own. */
  readonly isNotified: boolean;
  readonly mayHaveArrived: boolean;
  readonly problem: string | null;
  /** The note of the person who settled it. */
  readonly note: string | null;
  readonly sends: number;
  readonly recordedAt: Date;
  readonly repliedAt: Date | null;
  readonly decidedAt: Date | null;
}

/** A payee of a merchant, known by the fingerprint of its account. */
export interface Payee {
  readonly merchantNo: string;
  readonly payeeKey: string;
}

/** The payee is under review, or may be. The index `beneficiary_in_review` allows one such registration a payee. */
const IN_REVIEW: readonly BeneficiaryState[] = ['sending', '01'];

const ofPayee = (db: Db, { merchantNo, payeeKey }: Payee) =>
  db
    .selectFrom('beneficiary')
    .selectAll()
    .where('merchant_no', '=', merchantNo)
    .where('payee_key', '=', payeeKey);

const found = (row: Selectable<Beneficiary> | undefined): BeneficiaryRow | null =>
  row === undefined ? null : rowOf(row);

/** The registration of this payee that is under review or may be; null if there is none. */
export async function beneficiaryInReview(db: Db, payee: Payee): Promise<BeneficiaryRow | null> {
  return found(await ofPayee(db, payee).where('status', 'in', IN_REVIEW).executeTakeFirst());
}

/** Approved registrations of the same payee, oldest first. */
export async function beneficiariesApproved(db: Db, payee: Payee): Promise<BeneficiaryRow[]> {
  const rows = await ofPayee(db, payee).where('status', '=', '04').orderBy('id').execute();
  return rows.map(rowOf);
}

export async function beneficiaryByMerOrderNo(db: Db, merOrderNo: string): Promise<BeneficiaryRow | null> {
  return found(
    await db.selectFrom('beneficiary').selectAll().where('mer_order_no', '=', merOrderNo).executeTakeFirst(),
  );
}

/** All registrations, oldest first. With `id`, that one only. */
export async function listBeneficiaries(db: Db, id?: number): Promise<BeneficiaryRow[]> {
  const rows = await db
    .selectFrom('beneficiary')
    .selectAll()
    .$if(id !== undefined, (query) => query.where('id', '=', id!))
    .orderBy('id')
    .execute();
  return rows.map(rowOf);
}

/** A registration, locked until the transaction ends; null if there is none of that number. */
export async function lockBeneficiary(trx: Trx, id: number): Promise<BeneficiaryRow | null> {
  return found(
    await trx.selectFrom('beneficiary').selectAll().where('id', '=', id).forUpdate().executeTakeFirst(),
  );
}

/** The registration a result's path belongs to, locked until the transaction ends. */
export async function beneficiaryByNotifyHash(trx: Trx, notifyHash: string): Promise<BeneficiaryRow | null> {
  return found(
    await trx
      .selectFrom('beneficiary')
      .selectAll()
      .where('notify_hash', '=', notifyHash)
      .forUpdate()
      .executeTakeFirst(),
  );
}

/**
 * Applies a result (sp3401): it ends the review, or adds a payeeId that the reply did not have. A payeeId never
 * changes. Returns false, with nothing changed, if the registration is in another state.
 */
export async function applyBeneficiaryResult(
  trx: Trx,
  result: {
    readonly notifyHash: string;
    readonly status: '03' | '04';
    readonly payeeId: string | null;
    readonly now: Date;
  },
): Promise<boolean> {
  const { notifyHash, status, payeeId, now } = result;
  const { numUpdatedRows } = await trx
    .updateTable('beneficiary')
    .set({ status, payee_id: sql`coalesce(payee_id, ${payeeId})`, decided_at: now })
    .where('notify_hash', '=', notifyHash)
    .where(
      sql<boolean>`(status = '01' OR status = ${status} AND payee_id IS NULL AND ${payeeId}::text IS NOT NULL)`,
    )
    .where(sql<boolean>`coalesce(payee_id = ${payeeId}, true)`)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** The columns of a registration that no process is sending. */
export const NO_CLAIM = { claim: null, claimed_by: null, claimed_until: null };

/**
 * Stores what a person knows about a registration, in whatever state it is. Without a payeeId the stored one stays. The
 * reply to a call on its way changes nothing any more. Null if there is no registration of that number.
 */
export async function decideBeneficiary(
  db: Db,
  id: number,
  known: {
    readonly status: '03' | '04';
    readonly payeeId: string | null;
    readonly note: string | null;
    readonly now: Date;
  },
): Promise<BeneficiaryRow | null> {
  const row = await db
    .updateTable('beneficiary')
    .set({
      status: known.status,
      payee_id: sql`coalesce(${known.payeeId}, payee_id)`,
      note: sql`coalesce(${known.note}, note)`,
      decided_at: known.now,
      may_have_arrived: false,
      problem: null,
      ...NO_CLAIM,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst();
  return found(row);
}

export const rowOf = (row: Selectable<Beneficiary>): BeneficiaryRow => ({
  id: row.id,
  merOrderNo: row.mer_order_no,
  merchantNo: row.merchant_no,
  bizMode: row.biz_mode as BeneficiaryRow['bizMode'],
  status: row.status as BeneficiaryState,
  bizFlowNo: row.biz_flow_no,
  payeeId: row.payee_id,
  respCode: row.resp_code,
  isNotified: row.notify_hash !== null,
  mayHaveArrived: row.may_have_arrived,
  problem: row.problem,
  note: row.note,
  sends: row.sends,
  recordedAt: row.recorded_at,
  repliedAt: row.replied_at,
  decidedAt: row.decided_at,
});
