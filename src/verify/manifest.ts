/** The manifest of a day: points to the current revisions, and contains what is needed to check them offline. */
import {
  amount,
  sha256,
  flag,
  listOf,
  number,
  objectOf,
  oneOf,
  optional,
  orNull,
  readOrNull,
  share,
  text,
  integer,
  type Read,
} from './shape.ts';

export const FORMAT = 'daybook-manifest/1';

const count = integer(0);
const positive = integer(1);
/** As the database can hold it. */
const revision = integer(0, 2_147_483_647);
const place = integer(1, 2_147_483_647);

/** The same rows and figures in another format, made from the CSV. */
const otherFormatShape = objectOf({
  format: text,
  file: text,
  sha256,
  bytes: count,
  /** The code that the file has for the account's currency, which ISO 4217 does not have; left out where it has the account's own. */
  isoCurrency: optional(text),
});

/** Entries of a neighbouring day lie among the rows of the day in the order of the balance chain. */
const overMidnightShape = objectOf({
  /** At how many places the rows do not lead on: from the opening, to each other, or to the closing. */
  places: positive,
  /** The balance after the last row; left out if that is the closing. */
  lastBalance: optional(amount),
});

const supersededShape = objectOf({
  revision: positive,
  file: text,
  sha256,
  bytes: count,
  publishedAt: text,
  supersededBy: positive,
  reason: text,
  unreadable: optional(count),
  overMidnight: optional(overMidnightShape),
  otherFormats: optional(listOf(otherFormatShape, 1)),
});

const explanationShape = objectOf({
  id: positive,
  afterBatchNo: orNull(text),
  beforeBatchNo: text,
  missingNet: amount,
  note: text,
  /** Who resolved it (null if that was not recorded), and when. */
  by: orNull(text),
  at: text,
});

const statementShape = objectOf({
  currency: text,
  file: text,
  revision: positive,
  sha256,
  bytes: count,
  /** The columns of the file in order. If left out, those of the first version. */
  columns: optional(listOf(text, 1)),
  otherFormats: optional(listOf(otherFormatShape, 1)),
  rows: count,
  opening: amount,
  /** The opening was taken from the day's own entries, not from the statement before. */
  openingDerived: flag,
  /** Why, if there is a statement before. */
  openingReason: optional(text),
  creditTotal: amount,
  creditCount: count,
  debitTotal: amount,
  debitCount: count,
  closing: amount,
  /** Other balances that the day might as well close on: nothing decides. */
  otherClosings: optional(listOf(amount, 1)),
  verdict: oneOf('continuous', 'reordered', 'broken'),
  breaks: count,
  /**
   * How many of the breaks lie between the day's last entry and an entry of another day, so that no row shows them.
   * If left out, 0.
   */
  breaksAfter: optional(count),
  /** How many entries that may be of the day had come and could not be read when it was published. If left out, 0. */
  unreadable: optional(count),
  /** Left out where its rows lead from its opening to its closing, but for breaks. */
  overMidnight: optional(overMidnightShape),
  /** How many of the breaks a person resolved; the verdict stays `broken`. If left out, 0. */
  explained: optional(count),
  explanations: optional(listOf(explanationShape)),
  publishedAt: text,
  /** The day and the digest of the account's statement before; null for the first statement. */
  previousDay: orNull(text),
  previousSha256: orNull(sha256),
  /** The last day between `previousDay` and this one that had figures and no statement yet. */
  waitingBetween: optional(text),
  superseded: listOf(supersededShape),
});

const namedManifestShape = objectOf({ day: text, revision: count, sha256 });

const supersededManifestShape = objectOf({
  revision: count,
  sha256,
  /** What it said itself; left out where that is not believed. */
  place: optional(place),
  previousManifest: optional(orNull(namedManifestShape)),
});

const summary = { revision: positive, file: text, sha256 };

const finalShape = objectOf({
  share,
  confidence: share,
  by: text,
  /** How many entries this rests on, and how many of the late ones may have come later than this. */
  watchedEntries: count,
  laterEntries: count,
});

export const manifestShape = objectOf({
  format: oneOf(FORMAT),
  merchantNo: text,
  day: text,
  /** Grows with every manifest of the day, so the highest one is the newest. */
  revision,
  /** The epoch of the lease it was written under. A run that was overtaken has a lower one than the run after it. */
  epoch: count,
  /** IANA zone of the business day and of `booked_at`. */
  timeZone: text,
  /** Only present if the time zone is not proven and a person vouches for it. */
  timeZoneProof: optional(oneOf('trusted')),
  /** The checks made beyond the days read, by this run or by earlier ones over the same statements; left out if there were none. */
  checked: optional(listOf(text)),
  /** In the chain of the merchant's manifests, from 1. */
  place,
  /** The merchant's manifest that was made before this one, of whatever day; null at the first place. */
  previousManifest: orNull(namedManifestShape),
  /** The day's manifests that this one took the place of, oldest first. */
  supersededManifests: optional(listOf(supersededManifestShape, 1)),
  /**
   * From what was measured when the manifest was made: by this day, the business day has this share of its entries, with
   * this confidence. Left out where too little was measured to say so.
   */
  final: optional(finalShape),
  statements: listOf(statementShape),
  summary: orNull(objectOf({ ...summary, superseded: listOf(objectOf(summary)) })),
  /** The readings that prove the day complete. Currency null: of every currency. */
  certificates: listOf(
    objectOf({
      beginMs: number,
      endMs: number,
      currency: orNull(text),
      total: count,
      distinct: count,
      quarantined: count,
      certifiedAt: text,
    }),
  ),
});

export type Manifest = Read<typeof manifestShape>;
export type ManifestStatement = Read<typeof statementShape>;
export type NamedManifest = Readonly<Read<typeof namedManifestShape>>;
export type OtherFormat = Read<typeof otherFormatShape>;

export const parseManifest = (json: string): Manifest | null => readOrNull(manifestShape, json);
