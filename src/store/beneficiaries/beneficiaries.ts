/**
 * Registrations of beneficiaries as they stand (sp1401), and how a result moves one out of review
 * (docs/platform.md 3.1, 6.2).
 */
import { sql, type Kysely, type Selectable, type Transaction } from 'kysely';
import type { Beneficiary, DB } from '../engine/schema.ts';

/** The platform's `01` under review, `03` rejected, `04` approved; before its reply is stored `sending`, or `refused`. */
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
  /** Results come to daybook's own callbackUrl. */
  readonly isNotified: boolean;
  readonly mayHaveArrived: boolean;
  readonly problem: string | null;
  /** What the person said who settled it. */
  readonly note: string | null;
  readonly sends: number;
  readonly recordedAt: Date;
  readonly repliedAt: Date | null;
  readonly decidedAt: Date | null;
}

/** One merchant's payee, by the fingerprint of its account. */
export interface Payee {
  readonly merchantNo: string;
  readonly payeeKey: string;
}

/** Another registration of the same payee is under review, or may be: the index `beneficiary_in_review` says so. */
const IN_REVIEW: readonly BeneficiaryState[] = ['sending', '01'];

/** The registration that keeps a payee in review; undefined where there is none. */
export async function beneficiaryInReview(
  db: Kysely<DB>,
  { merchantNo, payeeKey }: Payee,
): Promise<BeneficiaryRow | undefined> {
  const row = await db
    .selectFrom('beneficiary')
    .selectAll()
    .where('merchant_no', '=', merchantNo)
    .where('payee_key', '=', payeeKey)
    .where('status', 'in', IN_REVIEW)
    .executeTakeFirst();
  return row && rowOf(row);
}

/** Approved registrations of the same payee, oldest first. */
export async function beneficiariesApproved(
  db: Kysely<DB>,
  { merchantNo, payeeKey }: Payee,
): Promise<BeneficiaryRow[]> {
  const rows = await db
    .selectFrom('beneficiary')
    .selectAll()
    .where('merchant_no', '=', merchantNo)
    .where('payee_key', '=', payeeKey)
    .where('status', '=', '04')
    .orderBy('id')
    .execute();
  return rows.map(rowOf);
}

export async function beneficiaryByOrderNo(
  db: Kysely<DB>,
  merOrderNo: string,
): Promise<BeneficiaryRow | undefined> {
  const row = await db
    .selectFrom('beneficiary')
    .selectAll()
    .where('mer_order_no', '=', merOrderNo)
    .executeTakeFirst();
  return row && rowOf(row);
}

/** Every registration, oldest first; `id` for one alone. */
export async function listBeneficiaries(db: Kysely<DB>, id?: number): Promise<BeneficiaryRow[]> {
  const rows = await db
    .selectFrom('beneficiary')
    .selectAll()
    .$if(id !== undefined, (query) => query.where('id', '=', id!))
    .orderBy('id')
    .execute();
  return rows.map(rowOf);
}

/** The registration a result's path belongs to, locked until the transaction ends. */
export async function beneficiaryByNotifyHash(
  trx: Transaction<DB>,
  notifyHash: string,
): Promise<BeneficiaryRow | undefined> {
  const row = await trx
    .selectFrom('beneficiary')
    .selectAll()
    .where('notify_hash', '=', notifyHash)
    .forUpdate()
    .executeTakeFirst();
  return row && rowOf(row);
}

/**
 * Applies a result (sp3401): out of review, or a payeeId that the reply with the same status had left open. A payeeId
 * once known stays. False, and nothing changed, where the registration stands otherwise.
 */
export async function applyBeneficiaryResult(
  trx: Transaction<DB>,
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

/**
 * Sets what a person knows of a registration, whatever stood. A payeeId left out keeps the one there is; a call for it in
 * the air comes too late to change it. Null where there is none of that number.
 */
export async function settleBeneficiary(
  db: Kysely<DB>,
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
      claim: null,
      claimed_by: null,
      claimed_until: null,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst();
  return row === undefined ? null : rowOf(row);
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
