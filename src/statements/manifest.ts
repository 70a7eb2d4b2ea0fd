/** The day's manifest: points to the current revisions, and carries what it takes to check them offline. */
import * as z from 'zod';
import type { ManifestRow } from '../store/statements/stored-files.ts';

export const FORMAT = 'daybook-manifest/1';

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
