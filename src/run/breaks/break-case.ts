/** Collects everything that is stored about one break, for the person who works on it. */
import type { Kysely } from 'kysely';
import { createChain } from '../../ledger/chain/chain.ts';
import type { ContinuityBreak, LedgerEntry } from '../../ledger/entry.ts';
import { explaining } from '../../ledger/chain/break-evidence.ts';
import { quarantinedIn, type QuarantinedReader } from '../../ledger/chain/quarantined-entries.ts';
import {
  breakById,
  stateOf,
  stepsOf,
  type CaseState,
  type CaseStep,
  type StepKind,
} from '../../store/breaks/break-cases.ts';
import { knownBreak, type BreakRow } from '../../store/breaks/breaks.ts';
import { changedEntries, type ChangedEntry } from '../../store/breaks/changed-entries.ts';
import { entriesAround } from '../../store/entries.ts';
import { unreadableWithin, type UnreadableWithin } from '../../store/quarantine.ts';
import type { DB } from '../../store/engine/schema.ts';
import { certificatesOf, type CertificateRow } from '../../store/statements/statements.ts';

/** Rows shown before the break and after it. */
const ROWS_AROUND = 5;
/** Entries chained on each side: more than are shown, so that those shown come in the order of the statement. */
const CHAINED_AROUND = 60;
/** Most quarantined entries of the span that are checked. */
const QUARANTINED_MAX = 100;

/**
 * A row next to the break, in the order of the statement. `break` is the break right before this row, if there is one.
 */
export interface AdjacentRow {
  readonly entry: LedgerEntry;
  readonly break: ContinuityBreak | null;
  /** Whether `break` is the one asked for. */
  readonly isHere: boolean;
}

export interface CaseEvent {
  readonly what: 'found' | StepKind | 'healed';
  readonly at: Date;
  /** Null if no one did it, or if the name was not recorded. */
  readonly by: string | null;
  readonly note: string | null;
}

export interface BreakCase {
  readonly row: BreakRow;
  readonly state: CaseState;
  /** The person who is responsible for it; null if no one said so. */
  readonly takenBy: string | null;
  readonly rows: readonly AdjacentRow[];
  /** Vanished and amended entries that bear on the break. */
  readonly changed: readonly (ChangedEntry & { readonly explains: boolean })[];
  /** Quarantined entries that can lie in the span of the break. */
  readonly quarantined: readonly (UnreadableWithin & { readonly explains: boolean })[];
  /** Certificates that overlap the span, by time. */
  readonly certificates: readonly CertificateRow[];
  /** Oldest first. */
  readonly history: readonly CaseEvent[];
}

/** The case of the break with that id; null where there is none. */
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
  const around = await entriesAround(db, known.account, known.span, CHAINED_AROUND);
  const found = { ...known, currency: row.currency };
  const quarantined = await unreadableWithin(db, row.merchant_no, known.span, {
    read: options.readQuarantined,
    limit: QUARANTINED_MAX,
  });
  const within = quarantinedIn(found, quarantined);
  const changed = (await changedEntries(db, [id])).get(id) ?? [];
  const explanation =
    state === 'healed'
      ? []
      : explaining<ChangedEntry | UnreadableWithin>(row.missing_net, [...changed, ...within]);
  return {
    row,
    state,
    takenBy: state === 'taken' ? last!.by : null,
    rows: rowsAround(row, around, options.clockToleranceS),
    changed: changed.map((one) => ({ ...one, explains: explanation.includes(one) })),
    quarantined: within.map((one) => ({ ...one, explains: explanation.includes(one) })),
    certificates: await certificatesOf(db, row.merchant_no, known.span, row.currency),
    history: historyOf(row, steps),
  };
}

/** The rows before and after the break, in the order of the chain. */
function rowsAround(row: BreakRow, around: readonly LedgerEntry[], clockToleranceS: number): AdjacentRow[] {
  const chain = createChain<LedgerEntry>({ clockToleranceS, start: null });
  const steps = [...chain.push(around), ...chain.end()];
  const at = steps.findIndex(({ entry }) => entry.batchNo === row.before_batch_no);
  // The entry after the break may have vanished since. Then the entry before it marks the place.
  const place = at === -1 ? steps.findIndex(({ entry }) => entry.batchNo === row.after_batch_no) + 1 : at;
  return steps
    .slice(Math.max(0, place - ROWS_AROUND), place + ROWS_AROUND)
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
