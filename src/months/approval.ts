/** The close of a month by two persons: one prepares it, another one approves it. Keeps preparations, and finds what changed since. */
import { sql } from 'kysely';
import { isSamePerson, onePersonReason, type LoginWays } from '../ledger/people.ts';
import { inForce, type Preparation, type StoredClose } from './closes.ts';
import { ofMerchants } from '../store/account-filter.ts';
import { recordAuditEvent } from '../store/audit.ts';
import { rowsOf, type Db, type Trx } from '../store/engine/database.ts';
import type { CloseFilter, CloseRequest, CloseResult, Obstacle } from './closes.ts';
import type { CloseFile } from '../verify/close-file.ts';
import { closesOfMonth, firstDay, ofMonth, storeReopening } from './stored.ts';

/** What a close holds of the ledger: all of its file but who closes it, when and why. */
export type Draft = Omit<
  CloseFile,
  'format' | 'closedAt' | 'by' | 'note' | 'despite' | 'prepared' | 'reopened'
>;

interface StoredPreparation extends Preparation {
  readonly auditEventId: number;
  readonly draft: string;
}

const preparationsOf = (db: Db, { merchants, month }: CloseFilter) => rowsOf(db)<StoredPreparation>`
  SELECT merchant_no AS "merchantNo", to_char(month, 'YYYY-MM') AS month, audit_event.by_whom AS by, audit_event.at,
    audit_event.note, despite, audit_event_id AS "auditEventId", draft
  FROM month_preparation JOIN audit_event ON audit_event.id = audit_event_id
  WHERE ${ofMerchants(merchants)} AND ${ofMonth(month)}
  ORDER BY merchant_no, month`;

/** A preparation as a person sees it. */
export const wordsOf = ({ auditEventId: _, draft: __, ...words }: StoredPreparation): Preparation => words;

/** The months that wait for approval, by merchant and month. */
export const listPreparations = async (db: Db, filter: CloseFilter): Promise<Preparation[]> =>
  (await preparationsOf(db, filter)).map(wordsOf);

export const preparationOf = async (
  trx: Trx,
  merchantNo: string,
  month: string,
): Promise<StoredPreparation | null> =>
  (await preparationsOf(trx, { merchants: [merchantNo], month }))[0] ?? null;

/** Keeps a preparation in place of the one before. Throws a serialization failure (40001) or a unique violation (23505) if somebody was faster. */
export async function storePreparation(
  trx: Trx,
  { merchantNo, month, despite, auditEvent }: CloseRequest,
  draft: string,
  at: Date,
): Promise<Preparation> {
  await deletePreparation(trx, merchantNo, month.name);
  const auditEventId = await recordAuditEvent(trx, auditEvent, at);
  const row = { merchant_no: merchantNo, month: firstDay(month.name), despite };
  await trx
    .insertInto('month_preparation')
    .values({ ...row, audit_event_id: auditEventId, draft })
    .execute();
  return { merchantNo, month: month.name, by: auditEvent.by, at, note: auditEvent.note ?? null, despite };
}

/** Throws a serialization failure (40001) if somebody else took it away meanwhile. */
export const deletePreparation = async (trx: Trx, merchantNo: string, month: string): Promise<void> => {
  await sql`
    DELETE FROM month_preparation
    WHERE (merchant_no, month) = (${merchantNo}, ${firstDay(month)}::date)`.execute(trx);
};

/** Takes a preparation back, which any operator may do. */
export async function withdraw(
  trx: Trx,
  { merchantNo, month, auditEvent }: CloseRequest,
  at: Date,
): Promise<CloseResult> {
  const preparation = await preparationOf(trx, merchantNo, month.name);
  if (preparation === null) return { kind: 'refused', others: [NOT_PREPARED] };
  await deletePreparation(trx, merchantNo, month.name);
  await recordAuditEvent(trx, auditEvent, at);
  return { kind: 'withdrawn', by: preparation.by };
}

/** Reopens a closed month; the note says why. The close, its file and its signature stay. */
export async function reopen(
  trx: Trx,
  { merchantNo, month, auditEvent }: CloseRequest,
  at: Date,
): Promise<CloseResult> {
  const last: StoredClose | undefined = inForce(await closesOfMonth(trx, merchantNo, month.name));
  if (last === undefined) return { kind: 'refused', others: [NOT_CLOSED] };
  await deletePreparation(trx, merchantNo, month.name);
  await storeReopening(trx, last, await recordAuditEvent(trx, auditEvent, at));
  return { kind: 'reopened', number: last.number };
}

const NOT_PREPARED: Obstacle = {
  cause: 'not-prepared',
  why: 'no one has prepared the month',
  todo: '`daybook close YYYY-MM --merchant NO --prepare`',
  who: 'operator',
};
const NOT_CLOSED: Obstacle = {
  cause: 'not-closed',
  why: 'the month is not closed',
  todo: 'nothing is to be done',
  who: 'no one',
};

/** What two persons still have to do, or may not do, before this step. */
export function approvalObstacles(
  { step = 'close', auditEvent: { by } }: CloseRequest,
  { needsApproval, logins }: { readonly needsApproval: boolean; readonly logins: LoginWays },
  preparation: StoredPreparation | null,
  draft: Draft,
): Obstacle[] {
  const changes = preparation === null ? [] : changesSince(JSON.parse(preparation.draft) as Draft, draft);
  const isOwn = preparation !== null && isSamePerson(preparation.by, by);
  if (step === 'prepare') {
    if (preparation === null || isOwn || changes.length > 0) return [];
    const why = `${preparation.by} has already prepared the month, and nothing has changed since`;
    return [{ cause: 'prepared', why, todo: 'approve it, or withdraw it first', who: 'operator' }];
  }
  if (step === 'close' && !needsApproval) return [];
  if (preparation === null) return step === 'check' ? [] : [NOT_PREPARED];
  const found: Obstacle[] = [];
  if (step !== 'approve' && step !== 'check') {
    const why = `${preparation.by} prepared the month, and it has to be approved`;
    found.push({ cause: 'prepared', why, todo: 'another person approves it', who: 'operator' });
  }
  const onePerson = step === 'approve' ? onePersonReason(preparation.by, by, logins) : null;
  if (onePerson !== null) {
    const reason = isOwn ? 'no one may approve their own preparation' : onePerson;
    const why = `${preparation.by} prepared the month, and ${reason}`;
    found.push({ cause: 'own-preparation', why, todo: 'another person approves it', who: 'operator' });
  }
  if (changes.length > 0) {
    const why = `the month has changed since ${preparation.by} prepared it: ${shortened(changes)}`;
    found.push({ cause: 'changed', why, todo: 'check the changes, and prepare it again', who: 'operator' });
  }
  return found;
}

const CHANGES_SHOWN_MAX = 10;

const shortened = (changes: readonly string[]): string =>
  [
    ...changes.slice(0, CHANGES_SHOWN_MAX),
    ...(changes.length > CHANGES_SHOWN_MAX ? [`and ${changes.length - CHANGES_SHOWN_MAX} more`] : []),
  ].join('; ');

/** What differs from one draft of a month to another, each in words; empty if they are the same. */
function changesSince(before: Draft, now: Draft): string[] {
  const dayOf = ({ currency, day }: { readonly currency: string; readonly day: string }): string =>
    `${currency} ${day}`;
  const openOf = (one: Draft['openDays'][number]): string => `${dayOf(one)} (${one.cause})`;
  const statements = new Map(before.statements.map((one) => [dayOf(one), one]));
  const current = new Set(now.statements.map(dayOf));
  const [openBefore, openNow] = [before, now].map((one) => new Set(one.openDays.map(openOf)));
  const changes = [
    ...now.statements.flatMap((one) => {
      const old = statements.get(dayOf(one));
      if (old === undefined) return [`${dayOf(one)} was published`];
      if (old.revision !== one.revision)
        return [`${dayOf(one)} was revised from revision ${old.revision} to ${one.revision}`];
      return JSON.stringify(old) === JSON.stringify(one)
        ? []
        : [`what explains the breaks of ${dayOf(one)} changed`];
    }),
    ...before.statements.flatMap((one) =>
      current.has(dayOf(one)) ? [] : [`${dayOf(one)} is no longer published`],
    ),
    ...[...openNow!].filter((one) => !openBefore!.has(one)).map((one) => `${one} is open now`),
    ...[...openBefore!].filter((one) => !openNow!.has(one)).map((one) => `${one} is no longer open`),
  ];
  if (changes.length > 0 || JSON.stringify(before) === JSON.stringify(now)) return changes;
  return ['the closes before it or its accounts changed'];
}
