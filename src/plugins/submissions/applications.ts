/**
 * Applications for merchants (sp1101; docs/platform.md 3.2, 4.3, 5): recorded before they are sent, then accepted, refused
 * or unknown, and moved by the results that the platform pushes (sp3101).
 */
import { sql } from 'kysely';
import { cutText, showableText } from '../../ledger/text.ts';
import { hasExited, type Holder } from '../../host/process-identity.ts';
import type { Db, Trx } from '../../store/engine/database.ts';
import { keepDeliveredToken, replaceToken } from '../../store/merchants.ts';
import {
  decryptSecret,
  encryptSecret,
  type SecretKey,
  type SecretPlace,
} from '../../store/secrets/secrets.ts';

/**
 * `submitting` until its call ended; `accepted`: received, awaiting review (not an approval); `refused`: the platform
 * does not have it; `unknown`: unclear, and it is never sent again by itself. The others are results.
 */
export type ApplicationState =
  'submitting' | 'accepted' | 'refused' | 'unknown' | 'approved' | 'supplement' | 'rejected';

/** States in which the platform has the application, or may have it, and has not decided yet. */
const OPEN_STATES: readonly ApplicationState[] = ['submitting', 'accepted', 'unknown'];

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

const COLUMNS = [
  'id',
  'mer_order_no as merOrderNo',
  'biz_flow as bizFlow',
  'state',
  'merchant_no as merchantNo',
  'process_version as processVersion',
  'problem',
  'is_received as isReceived',
  'replaces',
  sql<boolean>`notify_hash IS NOT NULL`.as('isNotified'),
  'submitted_at as submittedAt',
  'changed_at as changedAt',
  'forgotten_at as forgottenAt',
] as const;

const applications = (db: Db) => db.selectFrom('application').select(COLUMNS).$castTo<ApplicationRow>();

type SecretColumn = 'payload_ciphertext' | 'detail_ciphertext' | 'recorded_name_ciphertext';

/** The place of an encrypted column. A ciphertext can be decrypted for its own place only. */
const placeOf = (merOrderNo: string, column: SecretColumn): SecretPlace => ({
  table: 'application',
  row: merOrderNo,
  column,
});

/** Newest first. */
export const listApplications = (db: Db, limit: number): Promise<ApplicationRow[]> =>
  applications(db).orderBy('id', 'desc').limit(limit).execute();

type FindBy<Value> = (db: Db, value: Value) => Promise<ApplicationRow | null>;

const applicationWhere =
  (column: 'id' | 'mer_order_no' | 'biz_flow' | 'replaces'): FindBy<string | number> =>
  async (db, value) =>
    (await applications(db)
      .where(sql<boolean>`${sql.ref(column)} = ${value}`)
      .executeTakeFirst()) ?? null;

export const applicationById: FindBy<number> = applicationWhere('id');
export const applicationByMerOrderNo: FindBy<string> = applicationWhere('mer_order_no');
export const applicationByBizFlow: FindBy<string> = applicationWhere('biz_flow');
/** The application that replaces it; null if there is none. */
export const replacementOf: FindBy<number> = applicationWhere('replaces');

/** Decrypts a column of an application; null if it is empty or there is no such application. */
const decrypted =
  (column: SecretColumn) =>
  async (db: Db, secretKeys: readonly SecretKey[], id: number): Promise<string | null> => {
    const row = await db
      .selectFrom('application')
      .select(['mer_order_no as merOrderNo', `${column} as ciphertext`])
      .where('id', '=', id)
      .executeTakeFirst();
    if (row?.ciphertext == null) return null;
    return decryptSecret(secretKeys, placeOf(row.merOrderNo, column), row.ciphertext);
  };

/** What the platform said about it, or null. Throws `UnknownSecretKey` or `SecretUnreadable`. */
export const applicationDetail = decrypted('detail_ciphertext');

/** The merchant's English name by the last result, or null. Throws `UnknownSecretKey` or `SecretUnreadable`. */
export const recordedName = decrypted('recorded_name_ciphertext');

/**
 * What was sent, decrypted; null if there is no such application or it was forgotten. Throws `UnknownSecretKey` or
 * `SecretUnreadable`.
 */
export async function applicationPayload(
  db: Db,
  secretKeys: readonly SecretKey[],
  id: number,
): Promise<unknown> {
  const payload = await decrypted('payload_ciphertext')(db, secretKeys, id);
  return payload === null ? null : JSON.parse(payload);
}

/**
 * Payloads of applications that are undecided and not replaced, and that the platform has or may have, those that wait for
 * documents among them. Oldest first.
 */
export async function openPayloads(
  trx: Db,
  secretKeys: readonly SecretKey[],
): Promise<{ application: ApplicationRow; payload: unknown }[]> {
  const rows = await applications(trx)
    .select('payload_ciphertext as ciphertext')
    .where('state', 'in', [...OPEN_STATES, 'supplement'])
    .where(sql<boolean>`NOT EXISTS (SELECT FROM application AS later WHERE later.replaces = application.id)`)
    .orderBy('id')
    .execute();
  return rows.map(({ ciphertext, ...application }) => {
    const place = placeOf(application.merOrderNo, 'payload_ciphertext');
    // It is there, as only closed applications are forgotten.
    return { application, payload: JSON.parse(decryptSecret(secretKeys, place, ciphertext!)) as unknown };
  });
}

/** Longer than any call with its retries takes. After that a submission on another machine counts as broken off. */
export const SUBMITTING_MS_MAX = 3_600_000;

/** Keeps other processes from recording an application until the transaction ends. */
export async function lockApplications(trx: Trx): Promise<void> {
  await sql`LOCK TABLE application IN SHARE ROW EXCLUSIVE MODE`.execute(trx);
}

export interface NewApplication extends Pick<ApplicationRow, 'merOrderNo' | 'processVersion' | 'replaces'> {
  readonly payload: object;
  readonly notifyHash: string | null;
  readonly holder: Holder;
  readonly secretKeys: readonly SecretKey[];
  readonly now: Date;
}

/**
 * Records an application that is about to be sent; its payload is encrypted. One of the same number that the platform
 * refused is opened again, with what the file says now. Throws `UnknownSecretKey`.
 */
export function recordApplication(trx: Db, application: NewApplication): Promise<ApplicationRow> {
  const { merOrderNo, payload, notifyHash, processVersion, replaces, holder, secretKeys, now } = application;
  const place = placeOf(merOrderNo, 'payload_ciphertext');
  const recorded = {
    payload_ciphertext: encryptSecret(secretKeys, place, JSON.stringify(payload)),
    notify_hash: notifyHash,
    process_version: processVersion,
    replaces,
    holder,
    submitted_at: now,
    changed_at: now,
  };
  const again = { state: 'submitting' as const, problem: null, detail_ciphertext: null, forgotten_at: null };
  return trx
    .insertInto('application')
    .values({ mer_order_no: merOrderNo, ...recorded })
    .onConflict((conflict) =>
      conflict
        .column('mer_order_no')
        .doUpdateSet({ ...recorded, ...again })
        .where('application.state', '=', 'refused'),
    )
    .returning(COLUMNS)
    .$castTo<ApplicationRow>()
    .executeTakeFirstOrThrow();
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
    .returning(COLUMNS)
    .$castTo<ApplicationRow>()
    .executeTakeFirst();
  return moved ?? (await applicationById(db, id))!;
}

/** Why an application was not accepted. `detail` is the platform's complete answer, which is stored encrypted. */
interface NotAccepted {
  readonly problem: string;
  readonly detail: string | null;
  readonly secretKeys: readonly SecretKey[];
  readonly now: Date;
}
type Submitted = Pick<ApplicationRow, 'id' | 'merOrderNo'>;

async function endCall(
  db: Db,
  { id, merOrderNo }: Submitted,
  from: readonly ApplicationState[],
  end: { readonly state: 'unknown' | 'refused'; readonly is_received?: boolean },
  { problem, detail, secretKeys, now }: NotAccepted,
): Promise<void> {
  const detail_ciphertext =
    detail === null ? null : encryptSecret(secretKeys, placeOf(merOrderNo, 'detail_ciphertext'), detail);
  await db
    .updateTable('application')
    .set({ ...end, problem, detail_ciphertext, changed_at: now })
    .where('id', '=', id)
    .where('state', 'in', from)
    .execute();
}

/**
 * It is unknown whether the platform has it, or by which bizFlow. Changes it only while it is `submitting`.
 * `isReceived`: the platform did say that it has it.
 */
export const markUnknown = (
  db: Db,
  application: Submitted,
  { isReceived = false, ...unknown }: NotAccepted & { readonly isReceived?: boolean },
): Promise<void> =>
  endCall(db, application, ['submitting'], { state: 'unknown', is_received: isReceived }, unknown);

/** The platform does not have it: it refused, or nothing reached it. */
export const markRefused = (db: Db, application: Submitted, refusal: NotAccepted): Promise<void> =>
  endCall(db, application, ['submitting', 'unknown'], { state: 'refused' }, refusal);

/**
 * Submissions whose process died before the reply was stored become `unknown`, as the platform may have them. On
 * another machine a process counts as dead after `SUBMITTING_MS_MAX`. Returns how many there were.
 */
export async function markBrokenOff(db: Db, now: Date): Promise<number> {
  const rows = await db
    .selectFrom('application')
    .select(['id', 'mer_order_no as merOrderNo', 'holder', 'submitted_at'])
    .where('state', '=', 'submitting')
    .execute();
  const broken = rows.filter(
    ({ holder, submitted_at }) =>
      hasExited(holder) || now.getTime() - submitted_at.getTime() > SUBMITTING_MS_MAX,
  );
  const problem = 'the submitting process ended before the reply was stored';
  for (const one of broken) await markUnknown(db, one, { problem, detail: null, secretKeys: [], now });
  return broken.length;
}

/** What a result is compared with. */
export type JudgedApplication = Pick<ApplicationRow, 'id' | 'merOrderNo' | 'bizFlow' | 'state'>;

/** The application a path belongs to, locked until the transaction ends; null where that path was never issued. */
export const applicationByNotifyHash = async (
  trx: Db,
  notifyHash: string,
): Promise<JudgedApplication | null> =>
  (await applications(trx).where('notify_hash', '=', notifyHash).forUpdate().executeTakeFirst()) ?? null;

export type ApplicationDecision =
  | { readonly to: 'approved'; readonly merchantNo: string; readonly token: string }
  | { readonly to: 'supplement'; readonly message: string }
  | { readonly to: 'rejected'; readonly message: string; readonly code: string }
  /** No more than a receipt, of an application of which none was known. */
  | { readonly to: 'accepted' };

const CODE_SHOWN_MAX = 64;

/** Why an application is rejected, for a person: the platform's code, as the message need not name it. */
const problemOf = (decision: ApplicationDecision): string | null =>
  decision.to === 'rejected'
    ? `the platform’s result has the code ${cutText(showableText(decision.code), CODE_SHOWN_MAX)}`
    : null;

/**
 * Moves an application, locked by the caller, the way its result says; an approval's merchant becomes known, its token
 * encrypted. False, with nothing changed, if the merchant has another token; `byPerson` replaces it. Throws
 * `UnknownSecretKey`.
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
): Promise<boolean> {
  const { decision, bizFlow, processVersion, merNameEn = '', byPerson = false, secretKeys, now } = result;
  if (decision.to === 'approved') {
    const delivered = { ...decision, secretKeys, now };
    if (!(await keepDeliveredToken(trx, delivered))) {
      if (!byPerson) return false;
      await replaceToken(trx, delivered);
    }
  }
  const sealed = (column: SecretColumn, text: string): string | null =>
    text === '' ? null : encryptSecret(secretKeys, placeOf(merOrderNo, column), text);
  const name = sealed('recorded_name_ciphertext', merNameEn);
  await trx
    .updateTable('application')
    .set({
      state: decision.to,
      biz_flow: bizFlow,
      merchant_no: decision.to === 'approved' ? decision.merchantNo : null,
      detail_ciphertext: 'message' in decision ? sealed('detail_ciphertext', decision.message) : null,
      is_received: true,
      problem: problemOf(decision),
      changed_at: now,
      ...(processVersion !== null && { process_version: processVersion }),
      ...(name !== null && { recorded_name_ciphertext: name }),
    })
    .where('id', '=', id)
    .execute();
  return true;
}

/**
 * Removes personal data of a closed application: the payload, what the platform said about it, and all posts to its path.
 * Its row stays. From then on the path is unknown. The merchant's token is removed only if its ledger is no longer read.
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
