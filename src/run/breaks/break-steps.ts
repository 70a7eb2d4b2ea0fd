/** What a person does about a break, from a terminal or a page: the change, its record and its step, all or nothing. */
import type { Kysely, Transaction } from 'kysely';
import { doneBy, type AuditEvent } from '../../store/audit.ts';
import {
  breakById,
  recordStep,
  reopenBreak,
  resolveBreak,
  type StepKind,
} from '../../store/breaks/break-cases.ts';
import type { BreakRow } from '../../store/breaks/breaks.ts';
import type { DB } from '../../store/engine/schema.ts';

/** A note is published with the day's files. */
export const NOTE_CHARACTERS_MAX = 1_000;

export interface BreakStep {
  readonly kind: StepKind;
  /** What is typed behind `breaks`. */
  readonly name: string;
  readonly needsNote: boolean;
  /** Changes the row of the break. Undefined if this cannot be done to this break. */
  readonly act: (trx: Transaction<DB>, id: number, note: string, now: Date) => Promise<BreakRow | undefined>;
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
 * Takes the step and records it under the audit event. `refused` makes what is thrown, and everything taken back, where this
 * cannot be done to the break.
 */
export const takeStep = (
  db: Kysely<DB>,
  { kind, act }: BreakStep,
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
  doneBy(db, auditEvent, now, async (trx, auditEventId) => {
    const changed = await act(trx, id, auditEvent.note ?? '', now);
    if (changed === undefined) throw refused();
    await recordStep(trx, id, kind, auditEventId);
    return changed;
  });
