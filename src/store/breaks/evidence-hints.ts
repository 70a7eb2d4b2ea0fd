/** Finds breaks that known changes explain: entries that vanished, were amended, or came and cannot be read. */
import type { Kysely } from 'kysely';
import { explainedBy, explaining, perhapsBy, type Evidence } from '../../ledger/chain/break-evidence.ts';
import {
  quarantinedIn,
  type Quarantined,
  type QuarantinedReader,
} from '../../ledger/chain/quarantined-entries.ts';
import { changedEntries, type ChangedEntry } from './changed-entries.ts';
import type { HintedRow, Hints } from './hinted-row.ts';
import { unreadableWithin } from '../quarantine.ts';
import type { DB } from '../engine/schema.ts';

/** Most quarantined entries of a merchant that are compared with its breaks. */
const QUARANTINED_MAX = 1_000;

export interface EvidenceHints {
  /** Breaks whose missing amount known changes make up. */
  readonly explained: Hints;
  /** The breaks at the place that an amended entry has left. Breaks at its new place have the same cause. */
  readonly left: Hints;
  /** Other breaks with a known change in their span. */
  readonly perhaps: Hints;
}

type Known = ChangedEntry | Quarantined;

/** Each vanished or unreadable entry explains one break only; an amended one may explain several. */
export async function hintsOfEvidence(
  db: Kysely<DB>,
  merchantNo: string,
  rows: readonly HintedRow[],
  read: QuarantinedReader,
): Promise<EvidenceHints> {
  const found: EvidenceHints = { explained: new Map(), left: new Map(), perhaps: new Map() };
  if (rows.length === 0) return found;
  const changed = await changedEntries(
    db,
    rows.map(({ id }) => id),
  );
  const quarantined = await quarantinedOf(db, merchantNo, rows, read);
  const spent = new Set<string>();
  const explanations = new Map<number, readonly Known[]>();
  for (const row of rows) {
    const span = { beginMs: row.begin_ms, endMs: row.end_ms };
    const unreadable = quarantinedIn({ currency: row.currency, span }, quarantined);
    const known: Known[] = [...(changed.get(row.id) ?? []), ...unreadable].filter(
      (one) => !spent.has(nameOf(one)),
    );
    const explanation = explaining(row.missing_net, known);
    for (const one of explanation) if (one.kind !== 'amended') spent.add(nameOf(one));
    if (explanation.length > 0) explanations.set(row.id, explanation);
    else if (known.length > 0) found.perhaps.set(row.id, perhapsBy(known));
  }
  for (const row of rows) {
    const explanation = explanations.get(row.id);
    if (explanation === undefined || !explanation.every((one) => holdsAround(one, rows, explanations)))
      continue;
    const [only] = explanation;
    const hasLeft = explanation.length === 1 && only?.kind === 'amended' && only.hasLeft;
    (hasLeft ? found.left : found.explained).set(row.id, explainedBy(explanation));
  }
  return found;
}

/** Whether the earlier content of an amended entry closes every break next to it, not only one of them. */
const holdsAround = (
  one: Known,
  rows: readonly HintedRow[],
  explanations: ReadonlyMap<number, readonly Known[]>,
): boolean =>
  one.kind !== 'amended' ||
  one.hasLeft ||
  rows.every(
    ({ id, after_batch_no: after, before_batch_no: before }) =>
      (after !== one.batchNo && before !== one.batchNo) ||
      explanations.get(id)?.some(({ batchNo }) => batchNo === one.batchNo) === true,
  );

const nameOf = (one: (Evidence & { readonly kind: 'vanished' | 'amended' }) | Quarantined): string =>
  `${one.kind} ${one.kind === 'quarantined' ? one.id : one.batchNo}`;

async function quarantinedOf(
  db: Kysely<DB>,
  merchantNo: string,
  rows: readonly HintedRow[],
  read: QuarantinedReader,
): Promise<readonly Quarantined[]> {
  let [beginMs, endMs] = [Infinity, -Infinity];
  for (const row of rows) {
    beginMs = Math.min(beginMs, row.begin_ms);
    endMs = Math.max(endMs, row.end_ms);
  }
  return await unreadableWithin(db, merchantNo, { beginMs, endMs }, { read, limit: QUARANTINED_MAX });
}

/**
 * Gives the breaks at the new place of an amended entry the cause of the break at its old place. Their own hints name
 * the same entry.
 */
export function joinLeft(rows: readonly HintedRow[], hints: Hints, left: Hints): void {
  const moved = new Map([...left.values()].map((explanation) => [explanation.hintBatchNo, explanation]));
  for (const { id, after_batch_no: after, before_batch_no: before } of rows) {
    const explanation = left.get(id) ?? moved.get(hints.get(id)?.hintBatchNo ?? null);
    const name = explanation?.hintBatchNo ?? null;
    if (explanation !== undefined && (left.has(id) || name === after || name === before))
      hints.set(id, explanation);
  }
}
