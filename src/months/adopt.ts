/**
 * Takes a store over for this database: what lies there becomes known as published, revision by revision, so that the
 * next run publishes what differs and leaves the rest. The mark is written last; nothing else in the store is touched. The
 * database gets a new identity, so that the one it was copied from, or that owned the store, publishes there no more.
 */
import { digestOf, readText, type ObjectStore } from '../objects/object-store.ts';
import { entriesIn } from '../ledger/chain/figures.ts';
import type { StatedFigures, BusinessDay } from '../ledger/entry.ts';
import { figureColumns } from '../store/account-days.ts';
import { databaseIdentity, renewIdentity } from '../store/installation.ts';
import { recordPublished } from '../store/statements/record-published.ts';
import {
  statementsOfDay,
  summariesOfDay,
  type StatementRow,
  type SummaryRow,
} from '../store/statements/statements.ts';
import { manifestOfDay, manifestRows, takeOutOfChain } from '../store/statements/stored-files.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';
import { fileOf, manifestKey, MERCHANTS_PREFIX, STORE_MARK_KEY } from '../verify/names.ts';
import { statementKey, summaryKey } from '../statements/keys.ts';
import { isBeyondBounds } from '../statements/recorded-manifest.ts';
import { parseManifest, type Manifest, type ManifestStatement } from '../verify/manifest.ts';
import { UnreadableRows } from '../verify/csv.ts';
import { leaseFence } from '../statements/publish-options.ts';
import { putReplacing } from '../statements/put-revision.ts';
import {
  contradicts,
  signatureNextTo,
  MANIFEST_CONTENT_TYPE,
  manifestRow,
} from '../statements/write-manifest.ts';
import { markContent, readStoreMark } from '../statements/store-owner.ts';
import { figuresOfFile } from '../statements/file-rows.ts';
import { adoptCloses, type AdoptingCloses, type LeftOut } from './adopt-closes.ts';

export interface AdoptOptions extends AdoptingCloses {
  readonly onDay?: (soFar: AdoptReport) => void;
}

/** The lease for the mark is named as a merchant's is. */
const STORE_ITSELF = 'the store';

export interface AdoptReport {
  /** The database that the store belonged to; null where its mark did not say. */
  readonly formerOwner: string | null;
  /** The identity that this database had before. It has another one once the store is its own. */
  readonly formerly: string;
  /** The identity of this database once the store is its own. */
  readonly database: string;
  /** Merchants' days whose manifests were read. */
  readonly days: number;
  readonly statements: number;
  readonly closes: number;
  readonly left: readonly LeftOut[];
  /** Manifests that the next comparison with the store makes anew, as two databases went on from the same one. */
  readonly forked: number;
}

/** Can be repeated after it was cut short. Throws `LeaseHeld`, `ObjectStoreUnreachable`, `LeaseLost`, `StoreUnreachable`, or the signal's reason. */
export async function adoptStore(options: AdoptOptions): Promise<AdoptReport> {
  const { db, objects, signal, now } = options;
  const mark = await readStoreMark(objects);
  const { id: formerly } = await databaseIdentity(db);
  let database = formerly;
  const formerOwner = mark === null || mark === 'unreadable' ? null : mark.database;
  const left: LeftOut[] = [];
  const merchants = new Set<string>();
  const closeKeys: string[] = [];
  let [days, statements, closes, forked] = [0, 0, 0, 0];
  const soFar = (): AdoptReport => ({
    ...{ formerOwner, formerly, database },
    ...{ days, statements, closes, left, forked },
  });
  for await (const { key } of objects.survey(MERCHANTS_PREFIX)) {
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
    forked += await takeForksOut(merchantNo, options);
  }
  const fence = leaseFence({ db, lease: await options.leaseOf(STORE_ITSELF) });
  const { id, turns } = await renewIdentity(db);
  database = id;
  await putReplacing(objects, STORE_MARK_KEY, markContent(id, now().toISOString(), turns[0]!), {
    fence,
    contentType: MANIFEST_CONTENT_TYPE,
  });
  return soFar();
}

async function adoptDay(key: string, options: AdoptOptions) {
  const { db, objects, signingKey = null } = options;
  const leftOut = (why: string) => ({ merchantNo: null, statements: 0, left: [why] });
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
      ...{ merchant_no: merchantNo, currency: statement.currency, day, revision: one.revision },
      ...{ object_key, sha256: one.sha256, byte_count: one.bytes },
      ...{ row_count: entriesIn(read.figures), columns: read.columns },
      ...figureColumns(read.figures),
      unreadable_count: one.unreadable ?? 0,
      over_midnight: one.overMidnight?.places ?? 0,
      last_balance: one.overMidnight?.lastBalance ?? null,
      published_at: new Date(one.publishedAt),
      supersedes: before?.revision ?? null,
      reason: before !== undefined && 'reason' in before ? before.reason : null,
      run_id: null,
    });
  }
  return rows;
}

interface Said {
  readonly columns: string | null;
  readonly figures: StatedFigures;
}

function currentSaid(statement: ManifestStatement): Said {
  const { opening, creditTotal, creditCount, debitTotal, debitCount, closing, verdict } = statement;
  const { breaks: breakCount, breaksAfter = 0, openingDerived: restarted, otherClosings } = statement;
  const figures = {
    ...{ opening, creditTotal, creditCount, debitTotal, debitCount, closing, verdict },
    ...{ breakCount, breaksAfter, restarted, ...(otherClosings && { otherClosings }) },
  };
  return { columns: statement.columns?.join(',') ?? null, figures };
}

/** Returns `given`, or without it what is read from the file; a sentence if the file is missing or has another digest. */
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
      ...{ merchant_no: merchantNo, day, revision, sha256, published_at: now, content: null },
      object_key: summaryKey(merchantNo, day, revision),
    }));
}

interface Linked {
  readonly day: BusinessDay;
  readonly sha256: string;
  /** Null if it was taken out of the chain. */
  readonly place: number | null;
  /** SHA-256 of the one that it follows; null at the first place. */
  readonly follows: string | null;
  /** SHA-256 of all that it or those that it took the place of follow. */
  readonly names: readonly string[];
  /** SHA-256 of those that it took the place of. */
  readonly superseded: readonly string[];
}

/** Rows of forked manifests lose their places, so that the next comparison makes them anew, at the end of the chain. Returns their number. */
async function takeForksOut(merchantNo: string, { db, leaseOf }: AdoptOptions): Promise<number> {
  const manifests: Linked[] = [];
  for await (const { day, sha256, place, content } of manifestRows(db, merchantNo)) {
    const manifest = parseManifest(content);
    if (manifest !== null) manifests.push({ day, sha256, place, ...linksOf(manifest) });
  }
  const days = forkedDays(manifests);
  if (days.length > 0)
    await writeTransaction(db, await leaseOf(merchantNo), (trx) => takeOutOfChain(trx, merchantNo, days));
  return days.length;
}

const linksOf = (manifest: Manifest): Pick<Linked, 'follows' | 'names' | 'superseded'> => ({
  follows: manifest.previousManifest?.sha256 ?? null,
  names: [manifest, ...(manifest.supersededManifests ?? [])].flatMap(
    ({ previousManifest }) => previousManifest?.sha256 ?? [],
  ),
  superseded: (manifest.supersededManifests ?? []).map(({ sha256 }) => sha256),
});

/** Days whose manifest follows the same one as another does, or is followed by none though it is not the last. */
export function forkedDays(manifests: readonly Linked[]): BusinessDay[] {
  const inOrder = manifests
    .filter(({ place }) => place !== null)
    .sort((one, other) => one.place! - other.place!);
  const followed = new Set<string | null>();
  const forked = inOrder.filter(({ follows }) => followed.has(follows) || !followed.add(follows));
  const others = inOrder.filter((one) => !forked.includes(one));
  const named = new Set(manifests.flatMap(({ names }) => names));
  const isNamed = ({ sha256, superseded }: Linked): boolean =>
    [sha256, ...superseded].some((one) => named.has(one));
  return [...forked, ...others.slice(0, -1).filter((one) => !isNamed(one))].map(({ day }) => day).sort();
}

const isCloseKey = (key: string): boolean => /\/close=[^/]*\/[^/]*\.json$/.test(key);
