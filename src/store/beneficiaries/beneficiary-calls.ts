/**
 * How a registration's state changes until the platform has answered (sp1401; docs/platform.md 2.6, 3.1): it is
 * recorded and claimed before a call, and answered or refused after it. Only one process at a time makes a call.
 */
import { sql } from 'kysely';
import { beneficiaryByMerOrderNo, NO_CLAIM, rowOf, type BeneficiaryRow } from './beneficiaries.ts';
import { hasExited, type Holder } from '../../host/process-identity.ts';
import type { Db } from '../engine/database.ts';
import { isUniqueViolation } from '../engine/unique-violation.ts';
import { decryptSecret, encryptSecret, type SecretKey, type SecretPlace } from '../secrets/secrets.ts';

/** What is recorded of a registration before it is sent. */
export interface BeneficiaryDraft {
  readonly merOrderNo: string;
  readonly merchantNo: string;
  readonly bizMode: 'B' | 'C';
  readonly payeeKey: string;
  readonly payload: object;
  readonly notifyHash: string | null;
}

/** One call about to be made. */
export interface Claim {
  /** A UUID of this call. */
  readonly id: string;
  readonly holder: Holder;
  /** After this time the call has certainly ended, whatever became of the process. */
  readonly holdsMs: number;
}

const payloadPlace = (merOrderNo: string): SecretPlace => ({
  table: 'beneficiary',
  row: merOrderNo,
  column: 'payload_ciphertext',
});

const sealed = (keys: readonly SecretKey[], { merOrderNo, payload }: BeneficiaryDraft): string =>
  encryptSecret(keys, payloadPlace(merOrderNo), JSON.stringify(payload));

/** The request as it was recorded. Throws `UnknownSecretKey` or `SecretUnreadable`. */
export async function beneficiaryPayload(
  db: Db,
  merOrderNo: string,
  keys: readonly SecretKey[],
): Promise<Readonly<Record<string, unknown>>> {
  const { payload_ciphertext } = await db
    .selectFrom('beneficiary')
    .select('payload_ciphertext')
    .where('mer_order_no', '=', merOrderNo)
    .executeTakeFirstOrThrow();
  const payload = decryptSecret(keys, payloadPlace(merOrderNo), payload_ciphertext);
  return JSON.parse(payload) as Record<string, unknown>;
}

/**
 * Records a registration and claims its first call. Null, with nothing changed, if its number is known or its payee is
 * under review.
 */
export async function recordBeneficiary(
  db: Db,
  draft: BeneficiaryDraft,
  claim: Claim,
  { secretKeys, now }: { readonly secretKeys: readonly SecretKey[]; readonly now: Date },
): Promise<BeneficiaryRow | null> {
  const row = await db
    .insertInto('beneficiary')
    .values({
      mer_order_no: draft.merOrderNo,
      merchant_no: draft.merchantNo,
      biz_mode: draft.bizMode,
      payee_key: draft.payeeKey,
      payload_ciphertext: sealed(secretKeys, draft),
      notify_hash: draft.notifyHash,
      recorded_at: now,
      sends: 1,
      may_have_arrived: true,
      ...claimColumns(claim),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
  return row === undefined ? null : rowOf(row);
}

/**
 * Claims another call for a registration without a stored reply, unless another process is making one. `before` is the
 * row as it was: its `mayHaveArrived` says whether an earlier call may have arrived.
 */
export async function claimBeneficiary(
  db: Db,
  merOrderNo: string,
  claim: Claim,
): Promise<{ readonly claimed: boolean; readonly before: BeneficiaryRow }> {
  return db.transaction().execute(async (trx) => {
    const held = await trx
      .selectFrom('beneficiary')
      .selectAll()
      .select(sql<boolean>`coalesce(claimed_until <= clock_timestamp(), true)`.as('is_over'))
      .where('mer_order_no', '=', merOrderNo)
      .forUpdate()
      .executeTakeFirstOrThrow();
    const isFree = held.is_over || held.claim === claim.id || hasExited(held.claimed_by!);
    const claimed = held.status === 'sending' && isFree;
    if (claimed) {
      await trx
        .updateTable('beneficiary')
        .set({ ...claimColumns(claim), may_have_arrived: true, sends: sql`sends + 1` })
        .where('id', '=', held.id)
        .execute();
    }
    return { claimed, before: rowOf(held) };
  });
}

/**
 * Opens a refused registration again, with what the file says now, and claims its call. Null if it is not refused any
 * more, or if its payee is under review by another number.
 */
export async function reopenBeneficiary(
  db: Db,
  draft: BeneficiaryDraft,
  claim: Claim,
  secretKeys: readonly SecretKey[],
): Promise<BeneficiaryRow | null> {
  try {
    const row = await db
      .updateTable('beneficiary')
      .set({
        merchant_no: draft.merchantNo,
        biz_mode: draft.bizMode,
        payee_key: draft.payeeKey,
        payload_ciphertext: sealed(secretKeys, draft),
        notify_hash: draft.notifyHash,
        status: 'sending',
        problem: null,
        may_have_arrived: true,
        sends: sql`sends + 1`,
        ...claimColumns(claim),
      })
      .where('mer_order_no', '=', draft.merOrderNo)
      .where('status', '=', 'refused')
      .returningAll()
      .executeTakeFirst();
    return row === undefined ? null : rowOf(row);
  } catch (error) {
    if (isUniqueViolation(error)) return null;
    throw error;
  }
}

const claimColumns = ({ id, holder, holdsMs }: Claim) => ({
  claim: id,
  claimed_by: holder,
  claimed_until: sql<Date>`clock_timestamp() + ${`${holdsMs} milliseconds`}::interval`,
});

/**
 * Stores the platform's reply (docs/platform.md 2.6). Only the first reply to a number changes the row, whichever call
 * it answers. Returns the row as it is then.
 */
export async function storeBeneficiaryReply(
  db: Db,
  reply: {
    readonly merOrderNo: string;
    readonly status: '01' | '03' | '04';
    readonly bizFlowNo: string | null;
    readonly payeeId: string | null;
    readonly respCode: string | null;
  },
  now: Date,
): Promise<BeneficiaryRow> {
  await db
    .updateTable('beneficiary')
    .set({
      status: reply.status,
      biz_flow_no: reply.bizFlowNo,
      payee_id: reply.payeeId,
      resp_code: reply.respCode,
      replied_at: now,
      may_have_arrived: false,
      problem: null,
      ...NO_CLAIM,
    })
    .where('mer_order_no', '=', reply.merOrderNo)
    .where('status', '=', 'sending')
    .execute();
  return (await beneficiaryByMerOrderNo(db, reply.merOrderNo))!;
}

/**
 * Ends a call that brought no reply. The registration stays `sending` and can be sent again, or is `refused` if the
 * platform certainly did not take it. Does nothing if another call has taken over.
 */
export async function endBeneficiaryCall(
  db: Db,
  claimId: string,
  end: {
    readonly status: 'sending' | 'refused';
    readonly mayHaveArrived: boolean;
    readonly problem: string | null;
  },
): Promise<void> {
  await db
    .updateTable('beneficiary')
    .set({ status: end.status, may_have_arrived: end.mayHaveArrived, problem: end.problem, ...NO_CLAIM })
    .where('claim', '=', claimId)
    .where('status', '=', 'sending')
    .execute();
}

/**
 * Marks a registration as refused, as a person knows that the platform never took it. False if it is not `sending`, or
 * if a call for it is on its way.
 */
export async function releaseBeneficiary(db: Db, id: number, problem: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('beneficiary')
    .set({ status: 'refused', may_have_arrived: false, problem })
    .where('id', '=', id)
    .where('status', '=', 'sending')
    .where('claim', 'is', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}
