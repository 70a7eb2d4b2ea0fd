/**
 * A break as a case: the steps that people took about it. Its own row (`continuity_break.status`) says whether it is
 * open, resolved or healed. A step is the audit event of its command, with the number of the break.
 */
import { sql, type RawBuilder } from 'kysely';
import type { BusinessDay, Window } from '../../ledger/entry.ts';
import { arrayLiteral, type Db, type Trx, rowsOf } from '../engine/database.ts';
import type { BreakRow } from './breaks.ts';
import { doneBy, type Assignment, type AuditEvent } from '../audit.ts';

export type StepKind = 'taken' | 'commented' | 'resolved' | 'reopened';

const STEP_KINDS: Readonly<Record<string, StepKind>> = {
  'breaks take': 'taken',
  'breaks comment': 'commented',
  'breaks resolve': 'resolved',
  'breaks reopen': 'reopened',
};
/** The audit events that audit_event_of_break has. */
const IS_STEP = sql<boolean>`command IN ('breaks take', 'breaks comment', 'breaks resolve', 'breaks reopen')`;
/** A step that is not a comment. */
export const IS_DECISIVE = sql<boolean>`command IN ('breaks take', 'breaks resolve', 'breaks reopen')`;

export interface CaseStep {
  readonly kind: StepKind;
  readonly by: string;
  readonly at: Date;
  readonly note: string | null;
  /** Of an assignment; null for other steps. */
  readonly assignment: Assignment | null;
}

/** `taken`: the break is open, and somebody is responsible for it. */
export type CaseState = 'open' | 'taken' | 'resolved' | 'healed';

/** How a break is handled, as its last decisive step left it. */
export interface Handling {
  readonly state: CaseState;
  /** The person who is responsible for it; null if no one said so. */
  readonly takenBy: string | null;
  /** By when they are to have handled it. */
  readonly dueOn: BusinessDay | null;
}

export function handlingOf({ status }: Pick<BreakRow, 'status'>, last: CaseStep | undefined): Handling {
  const assignment = status === 'open' ? (last?.assignment ?? null) : null;
  const state = assignment === null ? (status as CaseState) : 'taken';
  return { state, takenBy: assignment?.to ?? null, dueOn: assignment?.due ?? null };
}

/** Which breaks a list shows, on the page and by `breaks --state`. `open`: assigned or not. */
export const BREAK_CHOICES = ['open', 'unassigned', 'taken', 'resolved', 'healed', 'all'] as const;
export type BreakChoice = (typeof BREAK_CHOICES)[number];

/** The filter for `listBreaks`: breaks of the choice, and of these only open ones assigned to the person; null for any. Uses audit_event_of_break. */
export function handledAs(
  choice: BreakChoice,
  takenBy: string | null = null,
): { readonly all: true; readonly only: RawBuilder<boolean> } {
  const owner = sql`(
    SELECT CASE command WHEN 'breaks take' THEN coalesce(assigned_to, by_whom) END FROM audit_event
    WHERE subject = continuity_break.id::text AND ${IS_DECISIVE} ORDER BY id DESC LIMIT 1)`;
  const isOf = {
    open: sql`status = 'open'`,
    unassigned: sql`status = 'open' AND ${owner} IS NULL`,
    taken: sql`status = 'open' AND ${owner} IS NOT NULL`,
    resolved: sql`status = 'resolved'`,
    healed: sql`status = 'healed'`,
    all: sql`true`,
  };
  return {
    all: true,
    only: sql`(${isOf[choice]} AND ${takenBy === null ? sql`true` : sql`status = 'open' AND ${owner} = ${takenBy}`})`,
  };
}

const STEPS_SHOWN_MAX = 1_000;

export const breakById = (db: Db, id: number): Promise<BreakRow | undefined> =>
  db.selectFrom('continuity_break').selectAll().where('id', '=', id).executeTakeFirst();

type StepRow = Omit<CaseStep, 'kind' | 'assignment'> & {
  readonly command: string;
  readonly to: string | null;
  readonly due: BusinessDay | null;
};

function stepOf({ command, to, due, ...row }: StepRow): CaseStep {
  const kind = STEP_KINDS[command]!;
  return { kind, ...row, assignment: kind === 'taken' ? { to: to ?? row.by, due } : null };
}

/** The steps of a break, oldest first. Where there are too many to show, the newest ones. Uses audit_event_of_break. */
export async function stepsOf(db: Db, breakId: number): Promise<CaseStep[]> {
  const rows = await db
    .selectFrom('audit_event')
    .select(['command', 'by_whom as by', 'at', 'note', 'assigned_to as to', 'due_on as due'])
    .where('subject', '=', String(breakId))
    .where(IS_STEP)
    .orderBy('id', 'desc')
    .limit(STEPS_SHOWN_MAX)
    .execute();
  return rows.map(stepOf).reverse();
}

export async function lastSteps(db: Db, breakIds: readonly number[]): Promise<ReadonlyMap<number, CaseStep>> {
  if (breakIds.length === 0) return new Map();
  const rows = await rowsOf(db)<StepRow & { readonly subject: string }>`
    SELECT DISTINCT ON (subject) subject, command, by_whom AS by, at, note, assigned_to AS to, due_on AS due
    FROM audit_event
    WHERE subject = ANY (${arrayLiteral(breakIds)}::text[]) AND ${IS_DECISIVE}
    ORDER BY subject, id DESC`;
  return new Map(rows.map(({ subject, ...row }) => [Number(subject), stepOf(row)]));
}

/**
 * Closes an open break with a person's note. Its days become due, as their manifests and summaries name the note.
 * Undefined where no open break has that id.
 */
export async function resolveBreak(
  db: Db,
  id: number,
  note: string,
  now: Date,
): Promise<BreakRow | undefined> {
  const row = await db
    .updateTable('continuity_break')
    .set({ status: 'resolved', note, closed_at: now })
    .where('id', '=', id)
    .where('status', '=', sql.lit('open'))
    .returningAll()
    .executeTakeFirst();
  if (row !== undefined) await makeDaysDue(db, row);
  return row;
}

/** Opens a resolved break again, and makes its days due. Undefined where no resolved break has that id. */
export async function reopenBreak(db: Db, id: number): Promise<BreakRow | undefined> {
  const row = await db
    .updateTable('continuity_break')
    .set({ status: 'open', note: null, closed_at: null })
    .where('id', '=', id)
    .where('status', '=', sql.lit('resolved'))
    .returningAll()
    .executeTakeFirst();
  if (row !== undefined) await makeDaysDue(db, row);
  return row;
}

/**
 * Makes the broken days due, from the entry before the break to the entry after it. The time zone of business days is
 * not known here, so the span is widened by one day on either side. A day that did not change is compared and stays
 * as it is.
 */
async function makeDaysDue(
  db: Db,
  { merchant_no, currency, begin_ms: beginMs, end_ms: endMs }: BreakRow,
): Promise<void> {
  const utcDay = (ms: number) => sql`(to_timestamp(${ms}::bigint / 1000) AT TIME ZONE 'UTC')::date`;
  await db
    .updateTable('account_day')
    .set({ version: sql`version + 1` })
    .where('merchant_no', '=', merchant_no)
    .where('currency', '=', currency)
    .where(sql<boolean>`day BETWEEN ${utcDay(beginMs)} - 1 AND ${utcDay(endMs)} + 1`)
    .where('break_count', '>', 0)
    .execute();
}

/** A break that a person resolved, as manifests and summaries show it. */
export interface ExplainedBreak {
  readonly id: number;
  readonly currency: string;
  readonly afterBatchNo: string | null;
  readonly beforeBatchNo: string;
  readonly missingNet: string;
  /** From the entry before it to the entry after it. */
  readonly span: Window;
  readonly note: string;
  /** Who resolved it; null where that was not recorded. */
  readonly by: string | null;
  readonly at: Date;
}

/** The merchant's resolved breaks that overlap the window, by id. Uses continuity_break_resolved. */
export async function explainedBreaks(
  db: Db,
  merchantNo: string,
  { beginMs, endMs }: Window,
): Promise<ExplainedBreak[]> {
  const rows = await rowsOf(db)<Omit<ExplainedBreak, 'span'> & Window>`
    SELECT found.id, found.currency, found.after_batch_no AS "afterBatchNo",
      found.before_batch_no AS "beforeBatchNo", found.missing_net AS "missingNet",
      found.begin_ms AS "beginMs", found.end_ms AS "endMs", found.note,
      last.by_whom AS by, found.closed_at AS at
    FROM continuity_break AS found
    LEFT JOIN LATERAL (
      SELECT by_whom FROM audit_event WHERE subject = found.id::text AND command = 'breaks resolve'
      ORDER BY id DESC LIMIT 1
    ) AS last ON true
    WHERE found.merchant_no = ${merchantNo} AND found.status = 'resolved'
      AND found.end_ms >= ${beginMs} AND found.begin_ms <= ${endMs}
    ORDER BY found.id`;
  return rows.map(({ beginMs, endMs, ...row }) => ({ ...row, span: { beginMs, endMs } }));
}

/** A note is published with the day's files. */
export const NOTE_CHARACTERS_MAX = 1_000;

export interface BreakStep {
  readonly kind: StepKind;
  readonly name: string;
  readonly needsNote: boolean;
  /** Changes the row of the break. Undefined if this cannot be done to this break. */
  readonly act: (trx: Trx, id: number, note: string, now: Date) => Promise<BreakRow | undefined>;
}

export const BREAK_STEPS: Readonly<Record<StepKind, BreakStep>> = {
  taken: {
    kind: 'taken',
    name: 'take',
    needsNote: false,
    act: async (trx, id) => {
      const row = await breakById(trx, id);
      return row?.status === 'open' ? row : undefined;
    },
  },
  commented: { kind: 'commented', name: 'comment', needsNote: true, act: (trx, id) => breakById(trx, id) },
  resolved: { kind: 'resolved', name: 'resolve', needsNote: true, act: resolveBreak },
  reopened: { kind: 'reopened', name: 'reopen', needsNote: false, act: (trx, id) => reopenBreak(trx, id) },
};

/**
 * Takes the step under its audit event, whose command is `breaks` and the step's name. `refused` makes what is thrown, and
 * everything taken back, where this cannot be done to the break.
 */
export const takeStep = (
  db: Db,
  { act }: BreakStep,
  {
    id,
    auditEvent,
    now,
    refused,
  }: {
    readonly id: number;
    readonly auditEvent: AuditEvent;
    readonly now: Date;
    readonly refused: () => Error;
  },
): Promise<BreakRow> =>
  doneBy(db, auditEvent, now, async (trx) => {
    const changed = await act(trx, id, auditEvent.note ?? '', now);
    if (changed === undefined) throw refused();
    return changed;
  });
