/** Everything that is stored about one break, put together for the person who has to clear it up. */
import type { Kysely } from 'kysely';
import { createChain } from '../../ledger/chain/chain.ts';
import type { ContinuityBreak, LedgerEntry } from '../../ledger/entry.ts';
import { explaining, quarantinedIn, type QuarantinedReader } from '../../ledger/chain/quarantined-entries.ts';
import {
  breakById,
  stateOf,
  stepsOf,
  type CaseState,
  type CaseStep,
  type StepKind,
} from '../../store/breaks/break-cases.ts';
import { knownBreak, type BreakRow } from '../../store/breaks/breaks.ts';
import { entriesAround } from '../../store/entries-beside.ts';
import { unreadableWithin, type UnreadableWithin } from '../../store/quarantine.ts';
import type { DB } from '../../store/engine/schema.ts';
import { certificatesOf, type CertificateRow } from '../../store/statements/statements.ts';

/** Rows shown on either side of a break. */
const ROWS_BESIDE = 5;
/** Entries chained on either side, so that those shown stand as the statement has them. */
const CHAINED_BESIDE = 60;
/** Quarantined entries of the span that are looked at. */
const QUARANTINED_MAX = 100;

/** A row beside the break, in the statement's order; `break` is the jump in front of it. */
export interface RowBeside {
  readonly entry: LedgerEntry;
  readonly break: ContinuityBreak | null;
  /** The jump in front of it is the break asked for. */
  readonly isHere: boolean;
}

export interface CaseEvent {
  readonly what: 'found' | StepKind | 'healed';
  readonly at: Date;
  /** Null where nobody did it, or it was not kept. */
  readonly by: string | null;
  readonly note: string | null;
}

export interface BreakCase {
  readonly row: BreakRow;
  readonly state: CaseState;
  /** Who looks after it; null where nobody said so. */
  readonly takenBy: string | null;
  readonly rows: readonly RowBeside[];
  /** Quarantined entries that can lie in the span. */
  readonly quarantined: readonly (UnreadableWithin & { readonly explains: boolean })[];
  /** Of the readings that cover the span, or a part of it, by time. */
  readonly certificates: readonly CertificateRow[];
  /** Oldest first. */
  readonly history: readonly CaseEvent[];
}

/** The case of that number; null where there is none. */
export async function breakCase(
  db: Kysely<DB>,
  id: number,
  options: { readonly clockToleranceS: number; readonly readQuarantined: QuarantinedReader },
): Promise<BreakCase | null> {
  const row = await breakById(db, id);
  if (row === undefined) return null;
  const known = knownBreak(row);
  const steps = await stepsOf(db, id);
  const last = steps.findLast(({ kind }) => kind !== 'commented');
  const state = stateOf(row, last);
  const around = await entriesAround(db, known.account, known.span, CHAINED_BESIDE);
  const found = { ...known, currency: row.currency };
  const quarantined = await unreadableWithin(db, row.merchant_no, known.span, {
    read: options.readQuarantined,
    limit: QUARANTINED_MAX,
  });
  const within = quarantinedIn(found, quarantined);
  const explanation = state === 'healed' ? [] : explaining(found, within);
  return {
    row,
    state,
    takenBy: state === 'taken' ? last!.by : null,
    rows: rowsBeside(row, around, options.clockToleranceS),
    quarantined: within.map((one) => ({ ...one, explains: explanation.includes(one) })),
    certificates: await certificatesOf(db, row.merchant_no, known.span, row.currency),
    history: historyOf(row, steps),
  };
}

/** The rows on both sides of the break, as the chain orders them. */
function rowsBeside(row: BreakRow, around: readonly LedgerEntry[], clockToleranceS: number): RowBeside[] {
  const chain = createChain<LedgerEntry>({ clockToleranceS, start: null });
  const steps = [...chain.push(around), ...chain.end()];
  const at = steps.findIndex(({ entry }) => entry.batchNo === row.before_batch_no);
  // Where the entry after it has vanished since, the one before it tells the place.
  const place = at === -1 ? steps.findIndex(({ entry }) => entry.batchNo === row.after_batch_no) + 1 : at;
  return steps
    .slice(Math.max(0, place - ROWS_BESIDE), place + ROWS_BESIDE)
    .map(({ entry, break: found }) => ({
      entry,
      break: found,
      isHere: found !== null && entry.batchNo === row.before_batch_no && row.status !== 'healed',
    }));
}

function historyOf(row: BreakRow, steps: readonly CaseStep[]): CaseEvent[] {
  const { status, closed_at: closedAt, note } = row;
  const events: CaseEvent[] = [
    { what: 'found', at: row.found_at, by: null, note: null },
    ...steps.map(({ kind, at, by, note: said }) => ({ what: kind, at, by, note: said })),
  ];
  const isKept = steps.some(({ kind }) => kind === 'resolved');
  if (status === 'resolved' && !isKept) events.push({ what: 'resolved', at: closedAt!, by: null, note });
  if (status === 'healed') events.push({ what: 'healed', at: closedAt!, by: null, note: null });
  return events.toSorted((a, b) => a.at.getTime() - b.at.getTime());
}
