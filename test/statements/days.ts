/** A made-up account's day, as formats get it. */
import type { StatedFigures } from '../../src/ledger/entry.ts';
import {
  CHANGE_COLUMN,
  STATEMENT_COLUMNS,
  type StatementColumn,
  type Changes,
  type PublishedRevision,
  type StatementDay,
} from '../../src/statements/formats/format.ts';
import { type RowCells } from '../../src/verify/csv.ts';

const NOTHING: StatedFigures = {
  opening: '0.00',
  creditTotal: '0.00',
  creditCount: 0,
  debitTotal: '0.00',
  debitCount: 0,
  closing: '0.00',
  verdict: 'continuous',
  breakCount: 0,
  breaksAfter: 0,
  restarted: false,
};

export interface DayChange {
  readonly currency?: string;
  readonly merchantNo?: string;
  readonly zone?: string | null;
  readonly figures?: Partial<StatedFigures>;
  readonly published?: Partial<PublishedRevision>;
  readonly earlier?: readonly PublishedRevision[];
  readonly changes?: Changes | null;
}

export const revisionOf = (change: Partial<PublishedRevision> = {}): PublishedRevision => ({
  revision: 1,
  publishedAt: new Date('2026-04-01T02:00:00Z'),
  figures: NOTHING,
  unreadable: 0,
  reason: null,
  file: `M-1_USD_2026-03-31.r${change.revision ?? 1}.csv`,
  sha256: 'ab'.repeat(32),
  ...change,
});

export const dayOf = (
  columns: readonly StatementColumn[],
  batches: readonly (readonly RowCells[])[],
  change: DayChange = {},
): StatementDay => ({
  account: { merchantNo: change.merchantNo ?? 'M-1', currency: change.currency ?? 'USD' },
  day: '2026-03-31',
  zone: change.zone === undefined ? 'Asia/Shanghai' : change.zone,
  published: revisionOf({ figures: { ...NOTHING, ...change.figures }, ...change.published }),
  earlier: change.earlier ?? [],
  changes: () => Promise.resolve(change.changes === undefined ? { rows: [], more: 0 } : change.changes),
  columns,
  rows: (async function* () {
    for (const batch of batches) yield await Promise.resolve(batch);
  })(),
});

/** So few that many rows come in several batches, none of which ends where a format does. */
const BATCH_ROWS = 700;

/** A day of statements as they are published now. */
export const statementDay = (rows: readonly RowCells[], change: DayChange = {}): StatementDay =>
  dayOf(STATEMENT_COLUMNS, batchesOf(rows), change);

/** What changed in it since a revision: each row's last cell says how. */
export const changedDay = (
  rows: readonly RowCells[],
  since: number,
  change: DayChange = {},
): StatementDay => ({
  ...dayOf([...STATEMENT_COLUMNS, CHANGE_COLUMN], batchesOf(rows), change),
  since,
});

const batchesOf = (rows: readonly RowCells[]): (readonly RowCells[])[] =>
  Array.from({ length: Math.ceil(rows.length / BATCH_ROWS) }, (_, nth) =>
    rows.slice(nth * BATCH_ROWS, (nth + 1) * BATCH_ROWS),
  );

export async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}
