/**
 * Registers a beneficiary (sp1401; docs/platform.md 2.5, 2.6, 3.1, 4.4). It is recorded before it is sent, and sent
 * again under the same number until a reply is stored. It is never sent while the same payee is under review.
 */
import { randomUUID, createHmac } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Kysely, Transaction } from 'kysely';
import type { Holder } from '../../host/process-identity.ts';
import { EXIT, ExpectedError } from '../../ledger/ending.ts';
import type { BeneficiaryClient, RegistrationReply } from './registration-client.ts';
import { isPlatformError, PlatformRejected } from '../../platform/errors.ts';
import type { MerchantAccess } from '../../platform/ledger-reader.ts';
import {
  beneficiariesApproved,
  beneficiaryByMerOrderNo,
  beneficiaryInReview,
  type BeneficiaryRow,
  decideBeneficiary,
  lockBeneficiary,
  beneficiaryPayload,
  claimBeneficiary,
  endBeneficiaryCall,
  recordBeneficiary,
  storeBeneficiaryReply,
  type BeneficiaryDraft,
  type Claim,
  type KnownState,
} from './registrations.ts';
import { isUniqueViolation } from '../../store/engine/errors.ts';
import { recordAuditEvent, type AuditEvent } from '../../store/audit.ts';
import type { Db } from '../../store/engine/database.ts';
import { retry } from '../../store/engine/retry.ts';
import type { DB } from '../../store/engine/schema.ts';
import { callbackUrlOf, newNotifySecret, notifyHashOf } from '../../store/notify-path.ts';
import { fingerprintKey } from '../../store/secrets/key-check.ts';
import type { SecretKey } from '../../store/secrets/secrets.ts';
import type { Registration } from './registration-check.ts';

/** Why a registration was not sent, has no reply or was not changed. `name` says which; no message repeats personal data. */
class NotRegistered extends ExpectedError {
  readonly exitCode: ExpectedError['exitCode'];

  constructor(name: string, exitCode: ExpectedError['exitCode'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = name;
    this.exitCode = exitCode;
  }
}

const named = ({ id, merOrderNo }: BeneficiaryRow): string => `registration ${id} (merOrderNo ${merOrderNo})`;

/** The order number was used for another registration. The platform would take this one for the same. */
const orderNoTaken = ({ id, merOrderNo, merchantNo }: BeneficiaryRow, asked: string): NotRegistered =>
  new NotRegistered(
    'OrderNoTaken',
    EXIT.usage,
    `merOrderNo ${merOrderNo} was used before, ${merchantNo === asked ? 'with other contents' : `for merchant ${merchantNo}`} ` +
      `(registration ${id}); nothing was sent. Give a new registration a number of its own.`,
  );

/** The same payee must not be submitted again while under review (docs/platform.md 3.1). */
function payeeInReview(row: BeneficiaryRow): NotRegistered {
  const isReviewed = row.status === '01';
  return new NotRegistered(
    'PayeeInReview',
    EXIT.usage,
    `this payee ${isReviewed ? 'is under review' : 'was sent and may be under review'} already, as ${named(row)}; nothing was ` +
      `sent. ${
        isReviewed
          ? `Wait for its result; \`daybook beneficiary status ${row.id}\` shows it`
          : 'Register that one again, under its own number, to get its result'
      }.`,
  );
}

const inFlight = (row: BeneficiaryRow): NotRegistered =>
  new NotRegistered(
    'RegistrationInFlight',
    EXIT.leaseHeld,
    `${named(row)} is being sent by another process; nothing was sent twice. \`daybook beneficiary status ${row.id}\` shows ` +
      'its result.',
  );

/** It was sent, or was about to be, and no reply was stored. */
const unanswered = (row: BeneficiaryRow, problem: string, cause: unknown): NotRegistered =>
  new NotRegistered(
    'RegistrationUnanswered',
    EXIT.incomplete,
    `${named(row)} has no reply yet: ${problem}. It is recorded; the same command sends it again under the same number, which ` +
      'the platform does not process twice.',
    { cause },
  );

/** What the stored problem of a doubtful registration begins with. */
const REFUSED_LATER = 'the platform refused a later try, and may have it already from an earlier one';

/** A try was refused after an earlier one that may have arrived. Only the platform knows whether it has it. */
const doubtful = (row: BeneficiaryRow, problem: string, cause: unknown): NotRegistered =>
  new NotRegistered(
    'RegistrationDoubtful',
    EXIT.needsPerson,
    `${named(row)}: ${REFUSED_LATER}. The refusal: ${problem}.\n${settleOrRelease(row.id)}.`,
    { cause },
  );

/** What a person does about a registration whose state only the platform knows. */
export const settleOrRelease = (id: number): string =>
  `  Ask the platform how this number stands. If it has it: \`daybook beneficiary settle ${id} --status 01\`, 03 or 04, ` +
  `with its payeeId.\n  If it does not: \`daybook beneficiary release ${id} --note TEXT\``;

/** One call with all its retries. */
const CALL_MS_MAX = 5 * 60_000;
/** After this time another host may assume that a call has ended. */
const CLAIM_MS = CALL_MS_MAX + 60_000;
/** How often another process may change the registration under us before we give up. */
const TURNS_MAX = 3;

export interface RegisterDeps {
  readonly db: Kysely<DB>;
  readonly client: BeneficiaryClient;
  readonly secretKeys: readonly SecretKey[];
  /** Where the platform reaches `serve`. Null: there is a callbackUrl only if the file has one. */
  readonly publicUrl: string | null;
  readonly holder: Holder;
  /** Who sends a code that a stored list does not have: recorded with the registration, as its subject. */
  readonly overruling?: Omit<AuditEvent, 'subject'> | null;
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

export interface Registered {
  /** The registration as it is now: answered or `refused`. */
  readonly beneficiary: BeneficiaryRow;
  /** False if it had been answered before: nothing was sent then. */
  readonly sent: boolean;
  /** Other approved registrations of the same account. */
  readonly approvedBefore: readonly BeneficiaryRow[];
}

/**
 * Sends a checked registration. If its number is recorded already, goes on with that one. Throws `NotRegistered`
 * when nothing was sent or no reply was stored, and the signal's reason when aborted.
 */
export async function registerBeneficiary(
  deps: RegisterDeps,
  merchant: MerchantAccess,
  registration: Registration,
): Promise<Registered> {
  const { db, secretKeys } = deps;
  deps.signal.throwIfAborted();
  const key = await retry(() => fingerprintKey(db, 'payee', secretKeys));
  const draft = draftOf(deps, merchant.merchantNo, registration, key);
  const claim: Claim = { id: randomUUID(), holder: deps.holder, holdsMs: CLAIM_MS };
  const turn = await takeTurn(deps, draft, claim, registration);
  const { row, payload, mayHaveArrivedBefore } = turn;
  const beneficiary =
    payload === null ? row : await call(deps, merchant, { row, payload, mayHaveArrivedBefore }, claim);
  const approved = await retry(() => beneficiariesApproved(db, draft));
  return {
    beneficiary,
    sent: payload !== null,
    approvedBefore: approved.filter(({ id }) => id !== beneficiary.id),
  };
}

function draftOf(
  { publicUrl }: RegisterDeps,
  merchantNo: string,
  registration: Registration,
  key: Buffer,
): BeneficiaryDraft {
  const { merOrderNo, bizMode } = registration;
  const payeeKey = payeeKeyOf(key, merchantNo, registration);
  const draft = { merOrderNo, merchantNo, bizMode, payeeKey };
  if (publicUrl === null || registration.callbackUrl !== undefined)
    return { ...draft, payload: registration, notifyHash: null };
  const secret = newNotifySecret();
  const callbackUrl = callbackUrlOf(publicUrl, 'beneficiary', secret);
  return { ...draft, payload: { ...registration, callbackUrl }, notifyHash: notifyHashOf(secret) };
}

/** A registration that may be sent now; if it has its answer, `payload` is null. */
interface Turn {
  readonly row: BeneficiaryRow;
  readonly payload: object | null;
  /** An earlier call may have arrived. A refusal of this one does not say what became of it. */
  readonly mayHaveArrivedBefore: boolean;
}

async function takeTurn(
  deps: RegisterDeps,
  draft: BeneficiaryDraft,
  claim: Claim,
  registration: Registration,
): Promise<Turn> {
  const { db } = deps;
  for (let turn = 1; turn <= TURNS_MAX; turn += 1) {
    const known = await retry(() => beneficiaryByMerOrderNo(db, draft.merOrderNo));
    if (known !== null && known.merchantNo !== draft.merchantNo) throw orderNoTaken(known, draft.merchantNo);
    if (known === null || known.status === 'refused') {
      const asBefore = known === null ? draft : await withItsAddress(deps, known, draft);
      const row = await recorded(deps, asBefore, claim);
      if (row !== null) return { row, payload: asBefore.payload, mayHaveArrivedBefore: false };
      const rival = await retry(() => beneficiaryInReview(db, draft));
      if (rival !== null && rival.merOrderNo !== draft.merOrderNo) throw payeeInReview(rival);
    } else {
      const taken = await takeUp(deps, known, claim, registration);
      if (taken !== null) return taken;
    }
  }
  throw new Error(`registration ${draft.merOrderNo} moves faster than it can be read`);
}

/** A refused registration keeps the address of its results, as the platform may have kept that. */
async function withItsAddress(
  { db, secretKeys }: RegisterDeps,
  { isNotified, merOrderNo }: BeneficiaryRow,
  draft: BeneficiaryDraft,
): Promise<BeneficiaryDraft> {
  if (!isNotified || draft.notifyHash === null) return draft;
  const { callbackUrl } = await retry(() => beneficiaryPayload(db, merOrderNo, secretKeys));
  const secret = String(callbackUrl).split('/').at(-1)!;
  return { ...draft, payload: { ...draft.payload, callbackUrl }, notifyHash: notifyHashOf(secret) };
}

/** Records a registration together with who overruled a list for it. */
const recorded = (
  { db, secretKeys, overruling = null, now }: RegisterDeps,
  draft: BeneficiaryDraft,
  claim: Claim,
): Promise<BeneficiaryRow | null> =>
  retry(() => {
    const record = (on: Db) => recordBeneficiary(on, draft, claim, { secretKeys, now: now() });
    if (overruling === null) return record(db);
    return db.transaction().execute(async (trx) => {
      const row = await record(trx);
      if (row !== null) await recordAuditEvent(trx, { ...overruling, subject: String(row.id) }, now());
      return row;
    });
  });

/** Goes on with a recorded registration of the same number; null if another process has just changed it. */
async function takeUp(
  { db, secretKeys }: RegisterDeps,
  known: BeneficiaryRow,
  claim: Claim,
  registration: Registration,
): Promise<Turn | null> {
  const payload = await retry(() => beneficiaryPayload(db, known.merOrderNo, secretKeys));
  if (!isDeepStrictEqual(asInTheFile(known, payload), { ...registration }))
    throw orderNoTaken(known, known.merchantNo);
  if (known.status !== 'sending') return { row: known, payload: null, mayHaveArrivedBefore: false };
  const { claimed, before } = await retry(() => claimBeneficiary(db, known.merOrderNo, claim));
  if (claimed) return { row: before, payload, mayHaveArrivedBefore: before.mayHaveArrived };
  if (before.status !== 'sending') return null;
  throw inFlight(before);
}

/** The recorded fields, without the callbackUrl if daybook added it. */
function asInTheFile(
  { isNotified }: BeneficiaryRow,
  payload: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  if (!isNotified) return payload;
  return Object.fromEntries(Object.entries(payload).filter(([name]) => name !== 'callbackUrl'));
}

async function call(
  { db, client, now, signal }: RegisterDeps,
  merchant: MerchantAccess,
  { row, payload, mayHaveArrivedBefore }: Turn & { readonly payload: object },
  claim: Claim,
): Promise<BeneficiaryRow> {
  let reply: RegistrationReply;
  try {
    reply = await client.register(
      merchant,
      payload,
      AbortSignal.any([signal, AbortSignal.timeout(CALL_MS_MAX)]),
    );
  } catch (error) {
    const ours = isPlatformError(error) ? error : null;
    const mayHaveArrived = mayHaveArrivedBefore || (ours?.mayHaveArrived ?? true);
    const isRefusal = ours instanceof PlatformRejected;
    const isRefused = isRefusal && !mayHaveArrived;
    // A refused token says nothing about the registration.
    const needsPerson = isRefusal && mayHaveArrived && !ours.refusesToken;
    const problem = ours?.message ?? 'it was stopped before a reply arrived';
    await retry(() =>
      endBeneficiaryCall(db, claim.id, {
        status: isRefused ? 'refused' : 'sending',
        mayHaveArrived,
        needsPerson,
        problem: needsPerson ? `${REFUSED_LATER}: ${problem}` : problem,
      }),
    );
    if (isRefused) return (await retry(() => beneficiaryByMerOrderNo(db, row.merOrderNo)))!;
    if (needsPerson) throw doubtful(row, problem, error);
    signal.throwIfAborted();
    throw unanswered(row, problem, error);
  }
  return retry(() => storeBeneficiaryReply(db, reply, now()));
}

/** Registers what was recorded, under the same number. Registering the same file again would do the same. */
export async function resendBeneficiary(
  deps: RegisterDeps,
  merchant: MerchantAccess,
  row: BeneficiaryRow,
): Promise<Registered> {
  const payload = await beneficiaryPayload(deps.db, row.merOrderNo, deps.secretKeys);
  // It was checked before it was recorded.
  return registerBeneficiary(deps, merchant, asInTheFile(row, payload) as unknown as Registration);
}

interface Settlement extends KnownState {
  readonly id: number;
}

/** Why it must not be settled so, or null. If its state is known, only the review's end or missing numbers can be added. */
function whyNot(row: BeneficiaryRow, asked: Settlement): string | null {
  const { status, needsPerson } = row;
  if (status === 'refused') return 'was not taken by the platform; register it again';
  const other = NUMBERS.find((name) => row[name] !== null && (asked[name] ?? row[name]) !== row[name]);
  if (other !== undefined) return `has ${other} ${row[other]} from the platform already`;
  if (status === 'sending' || needsPerson) return null;
  if (status !== asked.status)
    return status === '01' ? null : `is ${status === '04' ? 'approved' : 'rejected'} by the platform`;
  return NUMBERS.some((name) => row[name] === null && (asked[name] ?? null) !== null)
    ? null
    : 'stands so already';
}
const NUMBERS = ['payeeId', 'bizFlowNo'] as const;

/** Throws `NotRegistered`, with nothing changed. */
export async function settleBeneficiary(
  trx: Transaction<DB>,
  { now, ...asked }: Settlement & { readonly now: Date },
): Promise<BeneficiaryRow> {
  const row = await lockBeneficiary(trx, asked.id);
  const against = row === null ? 'is no registration' : whyNot(row, asked);
  if (against !== null) {
    throw new NotRegistered(
      'RegistrationStands',
      EXIT.usage,
      `registration ${asked.id} ${against}; nothing was changed. \`daybook beneficiary status\` lists how they stand.`,
    );
  }
  try {
    return (await decideBeneficiary(trx, asked.id, { ...asked, now }))!;
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new NotRegistered(
      'RegistrationStands',
      EXIT.usage,
      `registration ${asked.id} cannot be under review: another one of its payee is; nothing was changed.`,
    );
  }
}

/** The same for every way to write an account number: with blanks, dashes or small letters. */
const bare = (text: string): string => text.toUpperCase().replaceAll(/[^\p{L}\p{N}]/gu, '');

/** A BIC of eight characters means the head office, as does the same with XXX at its end. */
const headOffice = (swiftCode: string): string => swiftCode.replace(/^(.{8})XXX$/, '$1');

/**
 * The account that money goes to is what makes a payee. A corrected name or address is the same payee, and so is
 * another currency, branch or order number: the document speaks of payees under review, not of currencies
 * (docs/platform.md 3.1). If there is no bank, the wallet's method stands in its place.
 */
function accountOf(registration: Registration): readonly string[] {
  const { countryCode, paymentMode, payoutMethod, accountNo, bankCode, swiftCode } = registration;
  const bank = paymentMode === 'SWIFT' ? headOffice(swiftCode ?? '') : (bankCode ?? payoutMethod);
  return [countryCode, bare(bank), bare(accountNo)];
}

/** HMAC-SHA-256 over the account, for one merchant. */
const payeeKeyOf = (key: Buffer, merchantNo: string, registration: Registration): string =>
  createHmac('sha256', key)
    .update(JSON.stringify([merchantNo, ...accountOf(registration)]))
    .digest('hex');
