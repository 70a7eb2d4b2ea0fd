/**
 * Registrations of beneficiaries (sp1401; docs/platform.md 2.6, 3.1, 6.2): recorded and claimed before a call, answered or
 * refused after it, and ended by a result. Only one process at a time makes a call.
 */
import { sql } from 'kysely';
import { hasExited, type Holder } from '../../host/process-identity.ts';
import { type Db, rowOf, type Trx } from '../../store/engine/database.ts';
import { isUniqueViolation } from '../../store/engine/errors.ts';
import {
  decryptSecret,
  encryptSecret,
  type SecretKey,
  type SecretPlace,
} from '../../store/secrets/secrets.ts';

export interface BeneficiaryRow {
  readonly id: number;
  readonly merOrderNo: string;
  readonly merchantNo: string;
  readonly bizMode: 'B' | 'C';
  /**
   * `sending` until a reply is stored, or `refused`. The others are the platform's: `01` under review, `03` rejected,
   * `04` approved.
   */
  readonly status: 'sending' | 'refused' | '01' | '03' | '04';
  readonly bizFlowNo: string | null;
  readonly payeeId: string | null;
  readonly respCode: string | null;
  /** Whether its result comes to us. False if the file had a callbackUrl of its own. */
  readonly isNotified: boolean;
  readonly mayHaveArrived: boolean;
  /** The answers contradict each other, or leave open whether the platform has it. `problem` says how. */
  readonly needsPerson: boolean;
  readonly problem: string | null;
  /** The note of the person who settled it. */
  readonly note: string | null;
  readonly sends: number;
  readonly recordedAt: Date;
  readonly repliedAt: Date | null;
  readonly decidedAt: Date | null;
}

const COLUMNS = [
  'id',
  'mer_order_no as merOrderNo',
  'merchant_no as merchantNo',
  'biz_mode as bizMode',
  'status',
  'biz_flow_no as bizFlowNo',
  'payee_id as payeeId',
  'resp_code as respCode',
  sql<boolean>`notify_hash IS NOT NULL`.as('isNotified'),
  'may_have_arrived as mayHaveArrived',
  'needs_person as needsPerson',
  'problem',
  'note',
  'sends',
  'recorded_at as recordedAt',
  'replied_at as repliedAt',
  'decided_at as decidedAt',
] as const;

const registrations = (db: Db) => db.selectFrom('beneficiary').select(COLUMNS).$castTo<BeneficiaryRow>();

/** A payee of a merchant, known by the fingerprint of its account. */
interface Payee {
  readonly merchantNo: string;
  readonly payeeKey: string;
}

const ofPayee = (db: Db, { merchantNo, payeeKey }: Payee) =>
  registrations(db).where('merchant_no', '=', merchantNo).where('payee_key', '=', payeeKey);

/**
 * The registration of this payee that is under review or may be; null if there is none. The index
 * `beneficiary_in_review` allows one such registration a payee.
 */
export const beneficiaryInReview = async (db: Db, payee: Payee): Promise<BeneficiaryRow | null> =>
  (await ofPayee(db, payee)
    .where(sql<boolean>`status IN ('sending', '01')`)
    .executeTakeFirst()) ?? null;

/** Approved registrations of the same payee, oldest first. */
export const beneficiariesApproved = (db: Db, payee: Payee): Promise<BeneficiaryRow[]> =>
  ofPayee(db, payee).where('status', '=', sql.lit('04')).orderBy('id').execute();

export const beneficiaryByMerOrderNo = async (db: Db, merOrderNo: string): Promise<BeneficiaryRow | null> =>
  (await registrations(db).where('mer_order_no', '=', merOrderNo).executeTakeFirst()) ?? null;

/** All registrations, oldest first. With `id`, that one only. */
export const listBeneficiaries = (db: Db, id?: number): Promise<BeneficiaryRow[]> =>
  registrations(db)
    .$if(id !== undefined, (query) => query.where('id', '=', id!))
    .orderBy('id')
    .execute();

/** A registration, locked until the transaction ends; null if there is none of that number. */
export const lockBeneficiary = async (trx: Trx, id: number): Promise<BeneficiaryRow | null> =>
  (await registrations(trx).where('id', '=', id).forUpdate().executeTakeFirst()) ?? null;

/** The registration a result's path belongs to, locked until the transaction ends. */
export const beneficiaryByNotifyHash = async (trx: Trx, notifyHash: string): Promise<BeneficiaryRow | null> =>
  (await registrations(trx).where('notify_hash', '=', notifyHash).forUpdate().executeTakeFirst()) ?? null;

/** The columns of a registration that no process is sending. */
const NO_CLAIM = { claim: null, claimed_by: null, claimed_until: null };
/** The columns of one whose state is known for certain. */
const NO_DOUBT = { needs_person: false, may_have_arrived: false, problem: null };

/** What a result or a person says of a registration. */
export interface KnownState extends Pick<BeneficiaryRow, 'payeeId' | 'note'> {
  readonly status: '01' | '03' | '04';
  readonly bizFlowNo?: string | null;
}

/**
 * Stores what a result or a person says of a registration, in whatever state it is. Numbers that are null leave the stored ones.
 * The reply to a call on its way changes nothing any more. Null if there is no registration of that number.
 */
export async function decideBeneficiary(
  db: Db,
  id: number,
  { status, payeeId, bizFlowNo = null, note, now }: KnownState & { readonly now: Date },
): Promise<BeneficiaryRow | null> {
  const row = await db
    .updateTable('beneficiary')
    .set({
      status,
      payee_id: sql`coalesce(${payeeId}, payee_id)`,
      biz_flow_no: sql`coalesce(${bizFlowNo}, biz_flow_no)`,
      note: sql`coalesce(${note}, note)`,
      decided_at: status === '01' ? null : now,
      ...NO_DOUBT,
      ...NO_CLAIM,
    })
    .where('id', '=', id)
    .returning(COLUMNS)
    .$castTo<BeneficiaryRow>()
    .executeTakeFirst();
  return row ?? null;
}

/** What is recorded of a registration before it is sent. */
export interface BeneficiaryDraft extends Payee, Pick<BeneficiaryRow, 'merOrderNo' | 'bizMode'> {
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

/** The request as it was recorded. Throws `UnknownSecretKey` or `SecretUnreadable`. */
export async function beneficiaryPayload(
  db: Db,
  merOrderNo: string,
  keys: readonly SecretKey[],
): Promise<Readonly<Record<string, unknown>>> {
  const { ciphertext } = await rowOf(db)<{ ciphertext: string }>`
    SELECT payload_ciphertext AS ciphertext FROM beneficiary WHERE mer_order_no = ${merOrderNo}`;
  const payload = decryptSecret(keys, payloadPlace(merOrderNo), ciphertext);
  return JSON.parse(payload) as Record<string, unknown>;
}

/**
 * Records a registration and claims its call. One of the same number that was refused is opened again, with what the file
 * says now. Null, with nothing changed, if its number is known otherwise, or its payee is under review.
 */
export async function recordBeneficiary(
  db: Db,
  draft: BeneficiaryDraft,
  claim: Claim,
  { secretKeys, now }: { readonly secretKeys: readonly SecretKey[]; readonly now: Date },
): Promise<BeneficiaryRow | null> {
  const recorded = {
    merchant_no: draft.merchantNo,
    biz_mode: draft.bizMode,
    payee_key: draft.payeeKey,
    payload_ciphertext: encryptSecret(
      secretKeys,
      payloadPlace(draft.merOrderNo),
      JSON.stringify(draft.payload),
    ),
    notify_hash: draft.notifyHash,
    ...claimColumns(claim),
  };
  const again = {
    status: 'sending' as const,
    biz_flow_no: null,
    payee_id: null,
    resp_code: null,
    problem: null,
  };
  try {
    const row = await db
      .insertInto('beneficiary')
      .values({ mer_order_no: draft.merOrderNo, recorded_at: now, sends: 1, ...recorded })
      .onConflict((conflict) =>
        conflict
          .column('mer_order_no')
          .doUpdateSet({ ...recorded, ...again, sends: sql`beneficiary.sends + 1` })
          .where('beneficiary.status', '=', 'refused')
          .where('beneficiary.merchant_no', '=', draft.merchantNo),
      )
      .returning(COLUMNS)
      .$castTo<BeneficiaryRow>()
      .executeTakeFirst();
    return row ?? null;
  } catch (error) {
    if (isUniqueViolation(error)) return null;
    throw error;
  }
}

/**
 * Claims another call for a registration without a stored reply, unless another process is making one. `before` is the
 * row as it was: its `mayHaveArrived` says whether an earlier call may have arrived.
 */
export function claimBeneficiary(
  db: Db,
  merOrderNo: string,
  claim: Claim,
): Promise<{ readonly claimed: boolean; readonly before: BeneficiaryRow }> {
  return db.transaction().execute(async (trx) => {
    const { isFree, claimedBy, ...before } = await registrations(trx)
      .select([
        sql<boolean>`coalesce(claimed_until <= clock_timestamp(), true) OR claim = ${claim.id}`.as('isFree'),
        'claimed_by as claimedBy',
      ])
      .where('mer_order_no', '=', merOrderNo)
      .forUpdate()
      .executeTakeFirstOrThrow();
    const claimed = before.status === 'sending' && (isFree || hasExited(claimedBy!));
    if (claimed) {
      await trx
        .updateTable('beneficiary')
        .set({ ...claimColumns(claim), sends: sql`sends + 1` })
        .where('id', '=', before.id)
        .execute();
    }
    return { claimed, before };
  });
}

/** From the claim on, a call may arrive. */
const claimColumns = ({ id, holder, holdsMs }: Claim) => ({
  claim: id,
  claimed_by: holder,
  claimed_until: sql<Date>`clock_timestamp() + ${`${holdsMs} milliseconds`}::interval`,
  may_have_arrived: true,
});

/**
 * Stores the platform's reply (docs/platform.md 2.6). Only the first reply to a number changes the row, whichever call
 * it answers. Returns the row as it is then.
 */
export async function storeBeneficiaryReply(
  db: Db,
  reply: Pick<BeneficiaryRow, 'merOrderNo' | 'bizFlowNo' | 'payeeId' | 'respCode'> & {
    readonly status: '01' | '03' | '04';
    readonly contradiction?: string | null;
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
      ...NO_DOUBT,
      problem: reply.contradiction ?? null,
      needs_person: (reply.contradiction ?? null) !== null,
      ...NO_CLAIM,
    })
    .where('mer_order_no', '=', reply.merOrderNo)
    .where('status', '=', 'sending')
    .execute();
  return (await beneficiaryByMerOrderNo(db, reply.merOrderNo))!;
}

/**
 * Ends a call that brought no reply. The registration stays `sending` and can be sent again, or is `refused` if the
 * platform certainly did not take it. One that needs a person goes on to. Does nothing if another call has taken over.
 */
export async function endBeneficiaryCall(
  db: Db,
  claimId: string,
  end: Pick<BeneficiaryRow, 'mayHaveArrived' | 'needsPerson' | 'problem'> & {
    readonly status: 'sending' | 'refused';
  },
): Promise<void> {
  await db
    .updateTable('beneficiary')
    .set({
      status: end.status,
      may_have_arrived: end.mayHaveArrived,
      needs_person: sql`needs_person OR ${end.needsPerson}`,
      problem: sql`CASE WHEN needs_person AND NOT ${end.needsPerson} THEN problem ELSE ${end.problem} END`,
      ...NO_CLAIM,
    })
    .where('claim', '=', claimId)
    .where('status', '=', 'sending')
    .execute();
}

/**
 * Marks a registration as refused, as a person knows that the platform never took it. False if it has a clear answer,
 * or if a call for it is on its way.
 */
export async function releaseBeneficiary(db: Db, id: number, problem: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('beneficiary')
    .set({ ...NO_DOUBT, status: 'refused', problem })
    .where('id', '=', id)
    .where(sql<boolean>`(status = 'sending' OR needs_person)`)
    .where('claim', 'is', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}
