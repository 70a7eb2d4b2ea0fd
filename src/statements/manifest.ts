/** The manifest of a day: points to the current revisions, and contains what is needed to check them offline. */
import * as z from 'zod';
import type { ManifestRow } from '../store/statements/stored-files.ts';

export const FORMAT = 'daybook-manifest/1';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const amount = z.string().regex(/^-?\d+(\.\d+)?$/);
const count = z.int().nonnegative();
/** As the database can hold it. */
const revision = z.int().nonnegative().max(2_147_483_647);
const place = z.int().positive().max(2_147_483_647);

/** The same rows and figures in another format, made from the CSV. */
const otherFormatSchema = z.object({
  format: z.string(),
  file: z.string(),
  sha256,
  bytes: count,
  /** The code that the file has for the account's currency, which ISO 4217 does not have; left out where it has the account's own. */
  isoCurrency: z.string().optional(),
});

/** Entries of a neighbouring day lie among the rows of the day in the order of the balance chain. */
const overMidnightSchema = z.object({
  /** At how many places the rows do not lead on: from the opening, to each other, or to the closing. */
  places: z.int().positive(),
  /** The balance after the last row; left out if that is the closing. */
  lastBalance: amount.optional(),
});

const supersededSchema = z.object({
  revision: z.int().positive(),
  file: z.string(),
  sha256,
  bytes: count,
  publishedAt: z.string(),
  supersededBy: z.int().positive(),
  reason: z.string(),
  unreadable: count.optional(),
  overMidnight: overMidnightSchema.optional(),
  otherFormats: z.array(otherFormatSchema).nonempty().optional(),
});

const explanationSchema = z.object({
  id: z.int().positive(),
  afterBatchNo: z.string().nullable(),
  beforeBatchNo: z.string(),
  missingNet: amount,
  note: z.string(),
  /** Who resolved it (null if that was not recorded), and when. */
  by: z.string().nullable(),
  at: z.string(),
});

const statementSchema = z.object({
  currency: z.string(),
  file: z.string(),
  revision: z.int().positive(),
  sha256,
  bytes: count,
  /** The columns of the file in order. If left out, those of the first version. */
  columns: z.array(z.string()).nonempty().optional(),
  otherFormats: z.array(otherFormatSchema).nonempty().optional(),
  rows: count,
  opening: amount,
  /** The opening was taken from the day's own entries, not from the statement before. */
  openingDerived: z.boolean(),
  /** Why, if there is a statement before. */
  openingReason: z.string().optional(),
  creditTotal: amount,
  creditCount: count,
  debitTotal: amount,
  debitCount: count,
  closing: amount,
  /** Other balances that the day might as well close on: nothing decides. */
  otherClosings: z.array(amount).nonempty().optional(),
  verdict: z.enum(['continuous', 'reordered', 'broken']),
  breaks: count,
  /**
   * How many of the breaks lie between the day's last entry and an entry of another day, so that no row shows them.
   * If left out, 0.
   */
  breaksAfter: count.optional(),
  /** How many entries that may be of the day had come and could not be read when it was published. If left out, 0. */
  unreadable: count.optional(),
  /** Left out where its rows lead from its opening to its closing, but for breaks. */
  overMidnight: overMidnightSchema.optional(),
  /** How many of the breaks a person resolved; the verdict stays `broken`. If left out, 0. */
  explained: count.optional(),
  explanations: z.array(explanationSchema).optional(),
  publishedAt: z.string(),
  /** The day and the digest of the account's statement before; null for the first statement. */
  previousDay: z.string().nullable(),
  previousSha256: sha256.nullable(),
  superseded: z.array(supersededSchema),
});

const namedManifest = z.object({ day: z.string(), revision: count, sha256 });

const supersededManifestSchema = z.object({
  revision: count,
  sha256,
  /** What it said itself; left out if it was made before there were chains. */
  place: place.optional(),
  previousManifest: namedManifest.nullable().optional(),
});

const summarySchema = z.object({ revision: z.int().positive(), file: z.string(), sha256 });

const finalSchema = z.object({
  share: z.number().positive().lt(1),
  confidence: z.number().positive().lt(1),
  by: z.string(),
  /** How many entries this rests on, and how many of the late ones may have come later than this. */
  watchedEntries: count,
  laterEntries: count,
});

export const manifestSchema = z.object({
  format: z.literal(FORMAT),
  merchantNo: z.string(),
  day: z.string(),
  /**
   * Grows with every manifest of the day, so the highest one is the newest. 0 in manifests from before it was
   * introduced.
   */
  revision: revision.default(0),
  /** The epoch of the lease it was written under. A run that was overtaken has a lower one than the run after it. */
  epoch: count.default(0),
  /** IANA zone of the business day and of `booked_at`. */
  timeZone: z.string(),
  /** Only present if the time zone is not proven and a person vouches for it. */
  timeZoneProof: z.literal('trusted').optional(),
  /** The checks made beyond the days read, by this run or by earlier ones over the same statements; left out if there were none. */
  checked: z.array(z.string()).optional(),
  /** In the chain of the merchant's manifests, from 1; left out if it was made before there were chains. */
  place: place.optional(),
  /** The merchant's manifest that was made before this one, of whatever day; null at the first place. */
  previousManifest: namedManifest.nullable().optional(),
  /** At the first place, the manifests from before there were chains. */
  earlierManifests: z.array(namedManifest).nonempty().optional(),
  /** The day's manifests that this one took the place of, oldest first. */
  supersededManifests: z.array(supersededManifestSchema).nonempty().optional(),
  /**
   * From what was measured when the manifest was made: by this day, the business day has this share of its entries, with
   * this confidence. Left out where too little was measured to say so.
   */
  final: finalSchema.optional(),
  statements: z.array(statementSchema),
  summary: summarySchema.extend({ superseded: z.array(summarySchema) }).nullable(),
  /** The readings that prove the day complete. Currency null: of every currency. */
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

/** The files in other formats that a recorded manifest lists. Few manifests list any, and only those are parsed. */
export function otherFormatsIn({ content }: Pick<ManifestRow, 'content'>): OtherFormats {
  const manifest = content.includes('"otherFormats":') ? parseManifest(content) : null;
  const files = (manifest?.statements ?? []).flatMap((statement) => [statement, ...statement.superseded]);
  return new Map(files.flatMap(({ file, otherFormats }) => (otherFormats ? [[file, otherFormats]] : [])));
}

/** The zone of a recorded manifest's day; null if its text is no manifest. */
export const zoneIn = ({ content }: Pick<ManifestRow, 'content'>): string | null =>
  parseManifest(content)?.timeZone ?? null;

/** No number of ours comes this far; those of a manifest that says so leave no room for the next ones. */
const NUMBER_MAX = 1_000_000_000;

/** Whether a revision or the place is higher than any of ours. */
export const isBeyondBounds = ({ revision, place = 0, statements, summary }: Manifest): boolean =>
  [revision, place, summary?.revision ?? 0, ...statements.map((one) => one.revision)].some(
    (number) => number >= NUMBER_MAX,
  );

export function parseManifest(text: string): Manifest | null {
  try {
    return manifestSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
