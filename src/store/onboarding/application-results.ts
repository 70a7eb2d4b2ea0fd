/**
 * What a pushed result (sp3101) does to the application it belongs to, and the merchant an approval brings
 * (docs/platform.md 3.2, 5).
 */
import { applicationPlace, type ApplicationRow, type ApplicationState } from './applications.ts';
import { keepDeliveredToken, replaceToken } from '../merchants.ts';
import type { Db } from '../engine/database.ts';
import { encryptSecret, type SecretKey } from '../secrets/secrets.ts';

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
