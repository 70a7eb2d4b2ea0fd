/**
 * Finds breaks whose missing entry may lie in quarantine: an entry that came and could not be read is a likelier
 * cause than one that never came.
 */
import type { Kysely } from 'kysely';
import {
  explainedBy,
  explaining,
  perhapsBy,
  quarantinedIn,
  type QuarantinedReader,
} from '../../ledger/chain/quarantined-entries.ts';
import type { HintedRow, Hints } from './hinted-row.ts';
import { quarantinedWithin } from '../quarantine.ts';
import type { DB } from '../engine/schema.ts';

/** Most quarantined entries of a merchant that are compared with its breaks. */
const QUARANTINED_MAX = 1_000;

/**
 * `explained`: breaks whose missing amount entries in quarantine make up; each entry is used for one break only.
 * `perhaps`: other breaks with an entry in quarantine in their span.
 */
export async function hintsOfQuarantine(
  db: Kysely<DB>,
  merchantNo: string,
  rows: readonly HintedRow[],
  read: QuarantinedReader,
): Promise<{ readonly explained: Hints; readonly perhaps: Hints }> {
  const explained: Hints = new Map();
  const perhaps: Hints = new Map();
  if (rows.length === 0) return { explained, perhaps };
  let [beginMs, endMs] = [Infinity, -Infinity];
  for (const row of rows) {
    beginMs = Math.min(beginMs, row.begin_ms);
    endMs = Math.max(endMs, row.end_ms);
  }
  const window = { beginMs, endMs };
  const quarantined = await quarantinedWithin(db, merchantNo, window, { read, limit: QUARANTINED_MAX });
  const spent = new Set<number>();
  for (const row of quarantined.length === 0 ? [] : rows) {
    const span = { beginMs: row.begin_ms, endMs: row.end_ms };
    const found = { currency: row.currency, missingNet: row.missing_net, span };
    const within = quarantinedIn(found, quarantined).filter(({ id }) => !spent.has(id));
    const explanation = explaining(found, within);
    for (const { id } of explanation) spent.add(id);
    if (explanation.length > 0) explained.set(row.id, explainedBy(explanation));
    else if (within.length > 0) perhaps.set(row.id, perhapsBy(within));
  }
  return { explained, perhaps };
}
