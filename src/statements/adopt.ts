/**
 * Takes a store over for this database: what lies there becomes known as published, revision by revision, so that the
 * next run publishes what differs and leaves the rest. The mark is written last; nothing else in the store is touched.
 */
import type { Kysely } from 'kysely';
import { digestOf, readText, type ObjectStore } from '../objects/object-store.ts';
import { entriesIn } from '../ledger/chain/figures.ts';
import type { StatedFigures } from '../ledger/entry.ts';
import type { SigningKey } from '../signing/keys.ts';
import { figureColumns } from '../store/account-days.ts';
import { databaseIdentity } from '../store/installation.ts';
import type { Lease } from '../store/engine/lease.ts';
import type { DB } from '../store/engine/schema.ts';
import { recordPublished } from '../store/statements/record-published.ts';
import {
  statementsOfDay,
  summariesOfDay,
  type StatementRow,
  type SummaryRow,
} from '../store/statements/statements.ts';
import { manifestOfDay } from '../store/statements/stored-files.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';
import { fileOf, manifestKey, MERCHANTS_PREFIX, statementKey, STORE_MARK_KEY, summaryKey } from './keys.ts';
import { adoptCloses, isCloseKey } from './adopt-closes.ts';
import { takeForksOut } from './chain-forks.ts';
import { isBeyondBounds, parseManifest, type Manifest, type ManifestStatement } from './manifest.ts';
import { UnreadableRows } from './formats/format.ts';
import { leaseFence } from './publish-options.ts';
import { putReplacing } from './put-revision.ts';
import { contradicts, signatureNextTo } from './sign-manifest.ts';
import { MANIFEST_CONTENT_TYPE, manifestRow } from './write-manifest.ts';
import { markContent, readStoreMark } from './store-owner.ts';
import { figuresOfFile } from './superseded-figures.ts';

export interface AdoptOptions {
  readonly db: Kysely<DB>;
  /** Takes the merchant's lease when its first day comes, and keeps it. */
  readonly leaseOf: (merchantNo: string) => Promise<Lease>;
  readonly objects: ObjectStore;
  readonly now: () => Date;
  readonly signal: AbortSignal;
  /** With a key, a manifest with a signature of that key has to be what was signed. */
  readonly signingKey?: SigningKey | null;
  readonly onDay?: (soFar: AdoptReport) => void;
}

/** The lease for the mark is named as a merchant's is. */
const STORE_ITSELF = 'the store';

export interface AdoptReport {
  /** Database that the store belonged to; null if it had no readable mark. */
  readonly formerOwner: string | null;
  /** Merchants' days whose manifests were read. */
  readonly days: number;
  /** Revisions of statements that this database knows from now on. */
  readonly statements: number;
  /** Closes of months that this database knows from now on. */
  readonly closes: number;
  /**
   * Days and closes that could not be taken over completely, each with the reason. When days are published again, no revision that
   * their manifest names is overwritten.
   */
  readonly left: readonly { readonly key: string; readonly why: string }[];
  /** Manifests that the next comparison with the store makes anew, as two databases went on from the same one. */
  readonly forked: number;
}

/**
 * Adopts the entire store, day by day; of a day that is already known only the manifest is read. Can be repeated after
 * it was cut short. Throws `LeaseHeld` if a run is at work on a merchant, `ObjectStoreUnreachable`, `LeaseLost`, `StoreUnreachable`, or the signal's reason.
 */
export async function adoptStore(options: AdoptOptions): Promise<AdoptReport> {
  const { db, objects, signal, now } = options;
  const mark = await readStoreMark(objects);
  const database = await databaseIdentity(db);
  const former = mark === null || mark === 'unreadable' ? null : mark.database;
  const left: { key: string; why: string }[] = [];
  const merchants = new Set<string>();
  const closeKeys: string[] = [];
  let [days, statements, closes, forked] = [0, 0, 0, 0];
  const soFar = (): AdoptReport => ({ formerOwner: former, days, statements, closes, left, forked });
  for await (const key of objects.list(MERCHANTS_PREFIX)) {
    if (isCloseKey(key)) closeKeys.push(key);
    if (!key.endsWith('/manifest.json')) continue;
    signal.throwIfAborted();
    const adopted = await adoptDay(key, options);
    days += 1;
    statements += adopted.statements;
    left.push(...adopted.left.map((why) => ({ key, why })));
    if (adopted.merchantNo !== null) merchants.add(adopted.merchantNo);
    options.onDay?.(soFar());
  }
  const adopted = await adoptCloses(closeKeys, options);
  closes = adopted.closes;
  left.push(...adopted.left);
  for (const merchantNo of merchants) {
    signal.throwIfAborted();
    forked += await takeForksOut(db, merchantNo, options.leaseOf);
  }
  if (former !== database) {
    await putReplacing(objects, STORE_MARK_KEY, markContent(database, now()), {
      fence: leaseFence({ db, lease: await options.leaseOf(STORE_ITSELF) }),
      contentType: MANIFEST_CONTENT_TYPE,
    });
  }
  return soFar();
}

interface AdoptedDay {
  /** Whose it is; null if it was not taken over at all. */
  readonly merchantNo: string | null;
  readonly statements: number;
  readonly left: readonly string[];
}

async function adoptDay(key: string, options: AdoptOptions): Promise<AdoptedDay> {
  const { db, objects, signingKey = null } = options;
  const leftOut = (why: string): AdoptedDay => ({ merchantNo: null, statements: 0, left: [why] });
  const text = (await readText(objects, key)) ?? '';
  const manifest = parseManifest(text);
  if (manifest === null) return leftOut('it cannot be read as a manifest');
  const { merchantNo, day } = manifest;
  if (manifestKey(merchantNo, day) !== key) return leftOut(`it is the manifest of ${merchantNo}, ${day}`);
  if (isBeyondBounds(manifest)) return leftOut('its place or a revision in it is higher than any of daybook');
  const recorded = await manifestOfDay(db, merchantNo, day);
  const isUnknown = (recorded?.revision ?? 0) < manifest.revision;
  const signature = isUnknown ? await signatureNextTo(objects, merchantNo, day) : null;
  if (signingKey !== null && contradicts(signingKey, text, signature)) return leftOut(WRONGLY_SIGNED);
  const known = await statementsOfDay(db, merchantNo, day);
  const left: string[] = [];
  const rows: StatementRow[] = [];
  for (const statement of manifest.statements) {
    const own = known.filter(({ currency }) => currency === statement.currency);
    const unknown = await unknownRevisions(manifest, statement, own, objects);
    if (typeof unknown === 'string') left.push(`${statement.currency}: ${unknown}`);
    else rows.push(...unknown);
  }
  const knownSummaries = await summariesOfDay(db, merchantNo, day);
  const summaries = unknownSummaries(manifest, knownSummaries, options.now());
  const isNewer = left.length === 0 && isUnknown;
  if (rows.length > 0 || summaries.length > 0 || isNewer) {
    await writeTransaction(db, await options.leaseOf(merchantNo), async (trx) => {
      const manifests = isNewer ? [{ ...manifestRow(manifest, text), signature }] : [];
      await recordPublished(trx, merchantNo, { statements: rows, summaries, manifests });
    });
  }
  return { merchantNo, statements: rows.length, left };
}

const WRONGLY_SIGNED =
  'its signature is of this daybook’s key, and of another text: somebody changed it, or a run was killed between ' +
  'the two. Compare it with an earlier version in the store. If it is right, remove its manifest.json.minisig and adopt again';

/** Rows for the revisions that this database does not know; a sentence if they contradict those it knows. */
async function unknownRevisions(
  { merchantNo, day }: Manifest,
  statement: ManifestStatement,
  known: readonly StatementRow[],
  objects: ObjectStore,
): Promise<StatementRow[] | string> {
  const all = [...statement.superseded, statement].sort((a, b) => a.revision - b.revision);
  const rows: StatementRow[] = [];
  for (const [at, one] of all.entries()) {
    const own = known.find(({ revision }) => revision === one.revision);
    if (own !== undefined) {
      if (own.sha256 === one.sha256) continue;
      return `revision ${one.revision} in the store and in this database differ`;
    }
    if (known.some(({ revision }) => revision > one.revision))
      return `this database does not know revision ${one.revision}, but it has later ones`;
    const object_key = statementKey({ merchantNo, currency: statement.currency }, day, one.revision);
    if (fileOf(object_key) !== one.file)
      return `${one.file} is not the file name of revision ${one.revision}`;
    const said = one === statement ? currentSaid(statement) : null;
    const read = await readRevision(objects, object_key, one.sha256, said);
    if (typeof read === 'string') return read;
    const before = all[at - 1];
    rows.push({
      merchant_no: merchantNo,
      currency: statement.currency,
      day,
      revision: one.revision,
      sha256: one.sha256,
      byte_count: one.bytes,
      object_key,
      row_count: entriesIn(read.figures),
      columns: read.columns,
      ...figureColumns(read.figures),
      unreadable_count: one.unreadable ?? 0,
      published_at: new Date(one.publishedAt),
      supersedes: before?.revision ?? null,
      reason: before !== undefined && 'reason' in before ? before.reason : null,
      run_id: null,
    });
  }
  return rows;
}

/** What a file holds. */
interface Said {
  readonly columns: string | null;
  readonly figures: StatedFigures;
}

/** What a manifest says of a current statement's file. */
const currentSaid = (statement: ManifestStatement): Said => ({
  columns: statement.columns?.join(',') ?? null,
  figures: {
    opening: statement.opening,
    creditTotal: statement.creditTotal,
    creditCount: statement.creditCount,
    debitTotal: statement.debitTotal,
    debitCount: statement.debitCount,
    closing: statement.closing,
    verdict: statement.verdict,
    breakCount: statement.breaks,
    breaksAfter: statement.breaksAfter ?? 0,
    restarted: statement.openingDerived,
    ...(statement.otherClosings === undefined ? {} : { otherClosings: statement.otherClosings }),
  },
});

/**
 * Checks that a file has the digest that its manifest states. Returns `given`, or without it the columns and figures
 * that are read from the file; a sentence if the file is missing or differs.
 */
async function readRevision(
  objects: ObjectStore,
  key: string,
  sha256: string,
  given: Said | null,
): Promise<Said | string> {
  const bytes = await objects.get(key);
  if (bytes === null) return `${key} is missing`;
  const altered = `${key} does not have the bytes that its manifest states`;
  if (given !== null) return (await digestOf(bytes)).sha256 === sha256 ? given : altered;
  try {
    const { digest, figures, columns } = await figuresOfFile(bytes);
    return digest.sha256 === sha256 ? { figures, columns } : altered;
  } catch (error) {
    if (error instanceof UnreadableRows) return altered;
    throw error;
  }
}

/** Summaries with higher revisions than the known ones. No manifest says when they were written, so `now` is stored. */
function unknownSummaries(
  { merchantNo, day, summary }: Manifest,
  known: readonly SummaryRow[],
  now: Date,
): SummaryRow[] {
  if (summary === null) return [];
  const last = known.at(-1)?.revision ?? 0;
  return [...summary.superseded, summary]
    .filter(({ revision, file }) => revision > last && fileOf(summaryKey(merchantNo, day, revision)) === file)
    .sort((a, b) => a.revision - b.revision)
    .map(({ revision, sha256 }) => ({
      merchant_no: merchantNo,
      day,
      revision,
      sha256,
      object_key: summaryKey(merchantNo, day, revision),
      published_at: now,
      content: null,
    }));
}
