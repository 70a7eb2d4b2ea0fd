/** The day's manifest: points to the current revisions, and carries what it takes to check them offline. */
import * as z from 'zod';
import type { BusinessDay } from '../ledger/entry.ts';
import { compareAmounts } from '../ledger/money.ts';
import type { ExplainedBreak } from '../store/breaks/break-cases.ts';
import type { CertificateRow, StatementRow, SummaryRow } from '../store/statements/statements.ts';
import type { ManifestRow } from '../store/statements/stored-files.ts';
import type { Explained } from './explained.ts';
import { fileOf } from './keys.ts';
import { currentOf } from './summary.ts';

const FORMAT = 'daybook-manifest/1';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const amount = z.string().regex(/^-?\d+(\.\d+)?$/);
const count = z.int().nonnegative();

/** The same rows and figures in another format, made from the CSV. */
const otherFormatSchema = z.object({ format: z.string(), file: z.string(), sha256, bytes: count });

const supersededSchema = z.object({
  revision: z.int().positive(),
  file: z.string(),
  sha256,
  bytes: count,
  publishedAt: z.string(),
  supersededBy: z.int().positive(),
  /** Why it was replaced. */
  reason: z.string(),
  otherFormats: z.array(otherFormatSchema).nonempty().optional(),
});

const explanationSchema = z.object({
  /** The break's number. */
  id: z.int().positive(),
  afterBatchNo: z.string().nullable(),
  beforeBatchNo: z.string(),
  missingNet: amount,
  note: z.string(),
  /** Who resolved it, null where that was not kept, and when. */
  by: z.string().nullable(),
  at: z.string(),
});

/** Explanations one statement lists; their count covers all of them. */
const EXPLANATIONS_MAX = 1_000;

const statementSchema = z.object({
  currency: z.string(),
  file: z.string(),
  revision: z.int().positive(),
  sha256,
  bytes: count,
  /** Of the file, in order; those of the first version where absent. */
  columns: z.array(z.string()).nonempty().optional(),
  otherFormats: z.array(otherFormatSchema).nonempty().optional(),
  rows: count,
  opening: amount,
  /** The opening does not rest on the statement before: it was derived from the day's own entries. */
  openingDerived: z.boolean(),
  /** Why not, where there is a statement before. */
  openingReason: z.string().optional(),
  creditTotal: amount,
  creditCount: count,
  debitTotal: amount,
  debitCount: count,
  closing: amount,
  verdict: z.enum(['continuous', 'reordered', 'broken']),
  breaks: count,
  /** Of the breaks, those that lie after an entry of the day, before one of another day: no row shows them. 0 where absent. */
  breaksAfter: count.optional(),
  /** Of the breaks, those that a person resolved; the verdict stays broken. 0 where absent. */
  explained: count.optional(),
  explanations: z.array(explanationSchema).optional(),
  publishedAt: z.string(),
  /** The account's statement before: its day and its bytes. Null for the first. */
  previousDay: z.string().nullable(),
  previousSha256: sha256.nullable(),
  superseded: z.array(supersededSchema),
});

const summarySchema = z.object({ revision: z.int().positive(), file: z.string(), sha256 });

export const manifestSchema = z.object({
  format: z.literal(FORMAT),
  merchantNo: z.string(),
  day: z.string(),
  /** Grows with every manifest of the day: of two, the higher one is newer. 0 in those written before it was kept. */
  revision: count.default(0),
  /** Of the lease it was written under: a run that was overtaken has a lower one than its successor. */
  epoch: count.default(0),
  /** IANA zone of the business day and of `booked_at`. */
  timeZone: z.string(),
  /** Only where the zone is taken on trust, and not proven. */
  timeZoneProof: z.literal('trusted').optional(),
  /** What the run that wrote it looked at beyond the days it read; absent where that was nothing. */
  checked: z.array(z.string()).optional(),
  statements: z.array(statementSchema),
  summary: summarySchema.extend({ superseded: z.array(summarySchema) }).nullable(),
  /** The readings of the platform's ledger that prove the day complete; currency null: every currency. */
  certificates: z.array(
    z.object({
      beginMs: z.number(),
      endMs: z.number(),
      currency: z.string().nullable(),
      total: count,
      distinct: count,
      quarantined: count,
      certifiedAt: z.string(),
    }),
  ),
});

export type Manifest = z.infer<typeof manifestSchema>;
export type ManifestStatement = z.infer<typeof statementSchema>;
export type OtherFormat = z.infer<typeof otherFormatSchema>;

/** By the file name of a statement, its files in other formats; only of statements that have one. */
export type OtherFormats = ReadonlyMap<string, readonly OtherFormat[]>;

/** The files in other formats that a recorded manifest lists. Hardly any has one, and it is taken apart only then. */
export function otherFormatsIn({ content }: Pick<ManifestRow, 'content'>): OtherFormats {
  const manifest = content.includes('"otherFormats":') ? parseManifest(content) : null;
  return manifest === null ? new Map() : otherFormatsOf(manifest);
}

/** Of current and superseded statements. */
const otherFormatsOf = ({ statements }: Manifest): OtherFormats =>
  new Map(
    statements
      .flatMap((statement) => [statement, ...statement.superseded])
      .flatMap(({ file, otherFormats }) => (otherFormats === undefined ? [] : [[file, otherFormats]])),
  );

/** Reads a manifest; null where the text is none. */
export function parseManifest(text: string): Manifest | null {
  try {
    return manifestSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

export interface ManifestSources {
  readonly merchantNo: string;
  readonly day: BusinessDay;
  readonly zone: string;
  readonly timeZoneTrusted?: boolean;
  readonly checked: readonly string[];
  /** Of the manifest itself. */
  readonly revision: number;
  readonly epoch: number;
  /** Every revision of the day, by currency, oldest first. */
  readonly statements: readonly StatementRow[];
  /** By currency: the account's current statement before. */
  readonly previous: ReadonlyMap<string, StatementRow>;
  /** Every summary of the day, oldest first. */
  readonly summaries: readonly SummaryRow[];
  readonly certificates: readonly CertificateRow[];
  readonly explained: Explained;
  readonly otherFormats: OtherFormats;
}

/** The manifest's text. The same rows give the same bytes, so that a rerun can see that it is already there. */
export function manifestText(sources: ManifestSources): string {
  const { merchantNo, day, zone, revision, epoch, statements, previous, summaries, certificates } = sources;
  const summary = summaries.at(-1);
  const manifest: Manifest = {
    format: FORMAT,
    merchantNo,
    day,
    revision,
    epoch,
    timeZone: zone,
    ...(sources.timeZoneTrusted === true ? { timeZoneProof: 'trusted' as const } : {}),
    ...(sources.checked.length === 0 ? {} : { checked: [...sources.checked] }),
    statements: currentOf(statements).map((row) => {
      const before = previous.get(row.currency);
      return {
        currency: row.currency,
        file: fileOf(row.object_key),
        revision: row.revision,
        sha256: row.sha256,
        bytes: row.byte_count,
        ...(row.columns === null ? {} : { columns: row.columns.split(',') }),
        ...listedFormats(row, sources.otherFormats),
        rows: row.row_count,
        opening: row.opening,
        ...openingIn(row, before),
        creditTotal: row.credit_total,
        creditCount: row.credit_count,
        debitTotal: row.debit_total,
        debitCount: row.debit_count,
        closing: row.closing,
        verdict: row.verdict as ManifestStatement['verdict'],
        breaks: row.break_count,
        ...(row.breaks_after === 0 ? {} : { breaksAfter: row.breaks_after }),
        ...explainedIn(sources.explained.get(row.currency) ?? []),
        publishedAt: row.published_at.toISOString(),
        previousDay: before?.day ?? null,
        previousSha256: before?.sha256 ?? null,
        superseded: supersededBefore(row, sources),
      };
    }),
    summary:
      summary === undefined
        ? null
        : { ...summaryIn(summary), superseded: summaries.slice(0, -1).map(summaryIn) },
    certificates: certificates.map((row) => ({
      beginMs: row.begin_ms,
      endMs: row.end_ms,
      currency: row.currency === '' ? null : row.currency,
      total: row.total,
      distinct: row.distinct_count,
      quarantined: row.quarantined_count,
      certifiedAt: row.certified_at.toISOString(),
    })),
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

/** The law: an opening is the closing of the statement before, or the manifest says why not. */
function openingIn(
  { restarted, opening }: StatementRow,
  before: StatementRow | undefined,
): Pick<ManifestStatement, 'openingDerived' | 'openingReason'> {
  if (before === undefined) return { openingDerived: restarted };
  if (restarted) {
    const openingReason = `the first entry tells it: the chain could not be taken up from ${before.day}`;
    return { openingDerived: true, openingReason };
  }
  if (compareAmounts(opening, before.closing) === 0) return { openingDerived: false };
  const openingReason =
    `${before.day} is published with the closing ${before.closing}; not every day from it up to this one is ` +
    `published as it now stands`;
  return { openingDerived: true, openingReason };
}

const explainedIn = (
  explained: readonly ExplainedBreak[],
): Pick<ManifestStatement, 'explained' | 'explanations'> =>
  explained.length === 0
    ? {}
    : {
        explained: explained.length,
        explanations: explained
          .slice(0, EXPLANATIONS_MAX)
          .map(({ id, afterBatchNo, beforeBatchNo, missingNet, note, by, at }) => ({
            id,
            afterBatchNo,
            beforeBatchNo,
            missingNet,
            note,
            by,
            at: at.toISOString(),
          })),
      };

function listedFormats(
  { object_key }: StatementRow,
  otherFormats: OtherFormats,
): Pick<ManifestStatement, 'otherFormats'> {
  const [first, ...others] = otherFormats.get(fileOf(object_key)) ?? [];
  return first === undefined ? {} : { otherFormats: [first, ...others] };
}

const summaryIn = ({ revision, object_key, sha256: digest }: SummaryRow) => ({
  revision,
  file: fileOf(object_key),
  sha256: digest,
});

function supersededBefore(
  current: StatementRow,
  { statements, otherFormats }: ManifestSources,
): ManifestStatement['superseded'] {
  const revisions = statements.filter((row) => row.currency === current.currency);
  return revisions.slice(0, -1).map((row, index) => ({
    revision: row.revision,
    file: fileOf(row.object_key),
    sha256: row.sha256,
    bytes: row.byte_count,
    publishedAt: row.published_at.toISOString(),
    supersededBy: revisions[index + 1]!.revision,
    reason: revisions[index + 1]!.reason ?? '',
    ...listedFormats(row, otherFormats),
  }));
}
