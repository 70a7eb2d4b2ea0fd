/** What a run leaves behind in rows and files, and how that differs from a run without faults. */
import { sql, type Kysely } from 'kysely';
import { readObject, type ObjectStore } from '../../src/objects/object-store.ts';
import { MERCHANTS_PREFIX } from '../../src/verify/names.ts';
import type { DB } from '../../src/store/engine/schema.ts';

export interface Outcome {
  /** By table, each row as text. */
  readonly rows: ReadonlyMap<string, readonly string[]>;
  /** By key, each file as text. */
  readonly files: ReadonlyMap<string, string>;
}

/** The columns compared. Left out is what may differ: ids of runs, the epoch, and how many manifests there were. */
const ROWS: Readonly<Record<string, string>> = {
  ledger_entry:
    'merchant_no, batch_no, currency, transaction_type, credit, debit, balance, booked_at, booked_ms, first_seen_at, version, vanished_at',
  ledger_entry_version: 'merchant_no, batch_no, version, currency, transaction_type, credit, debit, balance',
  account_day:
    'merchant_no, currency, day, opening, credit_total, credit_count, debit_total, debit_count, closing, verdict, break_count, restarted, revision, version = published_version',
  statement:
    'merchant_no, currency, day, revision, sha256, byte_count, row_count, object_key, opening, credit_total, debit_total, closing, verdict, break_count, restarted, published_at, supersedes, reason',
  continuity_break: 'merchant_no, currency, day, after_batch_no, before_batch_no, missing_net, status',
  quarantined_entry: 'merchant_no, batch_no, reason',
};

export async function outcomeOf(db: Kysely<DB>, objects: ObjectStore): Promise<Outcome> {
  const rows = new Map<string, readonly string[]>();
  for (const [table, columns] of Object.entries(ROWS)) {
    const found = await sql<{ line: string }>`
      SELECT (ROW(${sql.raw(columns)}))::text AS line FROM ${sql.table(table)}`.execute(db);
    rows.set(table, found.rows.map(({ line }) => line).sort());
  }
  return { rows, files: await filesOf(objects) };
}

/** All published files, with manifests as `comparable`. */
export async function filesOf(objects: ObjectStore): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for await (const { key } of objects.survey(MERCHANTS_PREFIX)) {
    const text = (await readObject(objects, key))?.toString('utf8') ?? '';
    files.set(key, key.endsWith('manifest.json') ? comparable(text) : text);
  }
  return files;
}

interface Certificate {
  readonly beginMs: number;
  readonly endMs: number;
  readonly currency: string | null;
  readonly total: number;
  readonly distinct: number;
  readonly quarantined: number;
}

/** Whether the other certificate is wider and proves all that this one does. */
const isWithin = (one: Certificate, other: Certificate): boolean =>
  one.currency === other.currency &&
  one.beginMs >= other.beginMs &&
  one.endMs <= other.endMs &&
  one.endMs - one.beginMs < other.endMs - other.beginMs;

/**
 * A manifest without what may differ. Its own number, its run's and its place among the manifests are removed, as they
 * count attempts. Adjoining
 * certificates are joined, because a bad page may make the run read a window in two halves, which prove the same. A
 * part of a proven day that was read again, because a clock was off, is left out.
 */
export function comparable(text: string): string {
  const manifest = jsonOf(text);
  if (manifest === null) return text;
  const certificates: Certificate[] = [];
  const all = (manifest['certificates'] ?? []) as readonly Certificate[];
  for (const one of all.filter((certificate) => !all.some((other) => isWithin(certificate, other)))) {
    const last = certificates.at(-1);
    if (last === undefined || last.endMs + 1 !== one.beginMs || last.currency !== one.currency)
      certificates.push(one);
    else {
      certificates[certificates.length - 1] = {
        ...last,
        endMs: one.endMs,
        total: last.total + one.total,
        distinct: last.distinct + one.distinct,
        quarantined: last.quarantined + one.quarantined,
      };
    }
  }
  const chain = { place: 0, previousManifest: null, supersededManifests: [] };
  return JSON.stringify({ ...manifest, ...chain, epoch: 0, revision: 0, certificates }, null, 2);
}

function jsonOf(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return null;
  }
}

/** One sentence for each table and file that differs. */
export function differences(found: Outcome, wanted: Outcome): string[] {
  const rows = [...wanted.rows].flatMap(([table, lines]) => {
    const there = found.rows.get(table) ?? [];
    const lacking = without(lines, there);
    const beyond = without(there, lines);
    if (lacking.length + beyond.length === 0) return [];
    return [
      `${table}: ${lacking.length} rows are missing, ${beyond.length} should not be there; ` +
        `wanted ${lacking[0] ?? 'no such row'}, found ${beyond[0] ?? 'no such row'}`,
    ];
  });
  return [...rows, ...fileDifferences(found.files, wanted.files)];
}

function without(lines: readonly string[], others: readonly string[]): readonly string[] {
  const known = new Set(others);
  return lines.filter((line) => !known.has(line));
}

export function fileDifferences(
  found: ReadonlyMap<string, string>,
  wanted: ReadonlyMap<string, string>,
): string[] {
  const missing = [...wanted.keys()].filter((key) => !found.has(key));
  const beyond = [...found.keys()].filter((key) => !wanted.has(key));
  const altered = [...wanted.keys()].filter((key) => found.has(key) && found.get(key) !== wanted.get(key));
  return [
    ...missing.map((key) => `${key} is missing`),
    ...beyond.map((key) => `${key} should not be there`),
    ...altered.map((key) => `${key} is altered: ${firstDifference(found.get(key)!, wanted.get(key)!)}`),
  ];
}

function firstDifference(found: string, wanted: string): string {
  const theirs = found.split('\n');
  const ours = wanted.split('\n');
  const at = ours.findIndex((line, index) => line !== theirs[index]);
  return `line ${at + 1} is ${JSON.stringify(theirs[at] ?? '')}, wanted ${JSON.stringify(ours[at] ?? '')}`;
}
