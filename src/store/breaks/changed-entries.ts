/** Finds entries that vanished or were amended, and what each change does to the balance across a break. */
import type { Evidence } from '../../ledger/hints/evidence.ts';
import { netOf } from '../../ledger/common-change.ts';
import type { LedgerEntry } from '../../ledger/entry.ts';
import { addAmounts, compareAmounts, subtractAmounts } from '../../ledger/money.ts';
import { arrayLiteral, type Db, rowsOf } from '../engine/database.ts';
import { entryJson } from '../entries.ts';

/** Most changed contents that are compared with one break. More mean that the entire stretch changed. */
const CONTENTS_MAX = 100;

export interface ChangedEntry extends Evidence {
  readonly kind: 'vanished' | 'amended';
  readonly batchNo: string;
  readonly before: LedgerEntry;
  /** The content now; null for an entry that vanished. */
  readonly now: LedgerEntry | null;
  readonly at: Date;
  /** The amendment took the entry out of the account or out of the span. */
  readonly hasLeft: boolean;
}

interface Place {
  readonly id: number;
  readonly currency: string;
  readonly after: string | null;
  readonly before: string;
  readonly beginMs: number;
  readonly endMs: number;
  readonly foundBalance: string;
}

type Row = Place & {
  readonly old: LedgerEntry;
  readonly now: LedgerEntry;
  readonly supersededAt: string | null;
  readonly vanishedAt: string | null;
};

/**
 * For each of the merchant's breaks, by its id, the changed entries that bear on it: vanished ones first, then the
 * latest amendment first. Goes by the indexes of changed contents in time, and by primary key.
 */
export async function changedEntries(
  db: Db,
  breakIds: readonly number[],
): Promise<ReadonlyMap<number, readonly ChangedEntry[]>> {
  if (breakIds.length === 0) return new Map();
  const rows = await rowsOf(db)<Row>`
    SELECT b.id, b.currency, b.after_batch_no AS after, b.before_batch_no AS before, b.begin_ms AS "beginMs",
      b.end_ms AS "endMs", b.found_balance AS "foundBalance", changed.*
    FROM continuity_break AS b CROSS JOIN LATERAL (
      (SELECT ${entryJson('e')} AS old, ${entryJson('e')} AS now, NULL::timestamptz AS "supersededAt",
        e.vanished_at AS "vanishedAt"
      FROM ledger_entry AS e
      WHERE e.merchant_no = b.merchant_no AND e.currency = b.currency AND e.vanished_at IS NOT NULL
        AND e.booked_ms BETWEEN b.begin_ms AND b.end_ms
      LIMIT ${CONTENTS_MAX})
      UNION ALL
      (SELECT ${entryJson('v')}, ${entryJson('e')}, v.superseded_at, e.vanished_at
      FROM (
        SELECT * FROM ledger_entry_version
        WHERE merchant_no = b.merchant_no AND currency = b.currency AND booked_ms BETWEEN b.begin_ms AND b.end_ms
        UNION
        SELECT * FROM ledger_entry_version
        WHERE merchant_no = b.merchant_no AND batch_no IN (b.after_batch_no, b.before_batch_no)
          AND currency = b.currency
        ORDER BY superseded_at DESC, batch_no, version DESC LIMIT ${CONTENTS_MAX}
      ) AS v JOIN ledger_entry AS e ON (e.merchant_no, e.batch_no) = (v.merchant_no, v.batch_no))
    ) AS changed
    WHERE b.id = ANY (${arrayLiteral(breakIds)}::bigint[])
    ORDER BY b.id, changed."vanishedAt" IS NULL, changed."supersededAt" DESC NULLS FIRST`;
  return new Map(
    [...Map.groupBy(rows, ({ id }) => id)].map(([id, own]) => [
      id,
      thatFit([...Map.groupBy(own, ({ old }) => old.batchNo).values()].flatMap(changedEntry), own[0]!),
    ]),
  );
}

/**
 * Entries that left count only if the break starts from the balance of one of them, which then comes first: it did belong
 * there.
 */
function thatFit(all: readonly ChangedEntry[], { foundBalance }: Place): ChangedEntry[] {
  const fits = ({ hasLeft, before }: ChangedEntry): boolean =>
    hasLeft && compareAmounts(before.balance, foundBalance) === 0;
  const last = all.find(fits);
  if (last === undefined) return all.filter(({ hasLeft }) => !hasLeft);
  return [last, ...all.filter((one) => one !== last)];
}

/** One entry's contents that are no longer current; none where they do not bear on the break. */
function changedEntry(rows: readonly Row[]): ChangedEntry[] {
  const first = rows[0]!;
  const { vanishedAt, supersededAt, now, old: before } = first;
  const hasLeft = vanishedAt === null && !isWithin(now, first);
  const effects = rows.map((row) => effectOf(row.old, now, row)).filter((net) => net !== null);
  const nets = [...new Set(effects)];
  if (nets.length === 0) return [];
  const kind = vanishedAt === null ? 'amended' : 'vanished';
  const at = new Date((vanishedAt ?? supersededAt)!);
  return [{ kind, batchNo: now.batchNo, before, now: vanishedAt === null ? now : null, nets, at, hasLeft }];
}

/** By how much a change moved the balance across the break; null where it did not. */
function effectOf(old: LedgerEntry, now: LedgerEntry, place: Row): string | null {
  if (place.vanishedAt !== null || !isWithin(now, place)) {
    return isWithin(old, place) ? netOf(old) : null;
  }
  const moved =
    now.batchNo === place.after
      ? subtractAmounts(old.balance, now.balance)
      : now.batchNo === place.before
        ? subtractAmounts(startOf(now), startOf(old))
        : '0';
  return compareAmounts(moved, '0') === 0 ? null : moved;
}

const isWithin = ({ currency, bookedMs }: LedgerEntry, place: Place): boolean =>
  currency === place.currency && bookedMs >= place.beginMs && bookedMs <= place.endMs;
const startOf = (entry: LedgerEntry): string => addAmounts(entry.balance, subtractAmounts('0', netOf(entry)));
