/**
 * Makes the object store hold again what the database says was published: the same bytes under the same names. What
 * cannot be made again is reported, and left as it is.
 */
import type { BusinessDay } from '../ledger/entry.ts';
import {
  bytesOf,
  digestOf,
  readWhole,
  type ObjectContent,
  type StoredDigest,
} from '../objects/object-store.ts';
import { statementsOfDay, type StatementRow, type SummaryRow } from '../store/statements/statements.ts';
import { recordPublished, recordStored } from '../store/statements/record-published.ts';
import type { ManifestRow, StoredRow } from '../store/statements/stored-files.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';
import {
  compareFiles,
  pointsToCurrent,
  type Damage,
  type DamagedFile,
  type PublishedFile,
  type UnrecordedDay,
} from './compare-files.ts';
import { contentAsPublished, StatementMisfit } from './day-content.ts';
import { StatementDamaged } from './fetch.ts';
import { fetchInFormat } from './fetch-in-format.ts';
import { STATEMENT_FORMATS } from './formats/all.ts';
import { CSV } from './formats/csv.ts';
import type { StatementFormat } from './formats/format.ts';
import { FormatTooSmall } from './formats/too-small.ts';
import { dayPrefix, manifestKey, signatureKey } from './keys.ts';
import { parseManifest } from './manifest.ts';
import { pastOf } from './past.ts';
import type { PublishedAhead } from './published-ahead.ts';
import { leaseFence, type PublishDayOptions } from './publish-options.ts';
import { putReplacing } from './put-revision.ts';
import { signed, SIGNATURE_CONTENT_TYPE } from './sign-manifest.ts';
import {
  MANIFEST_CONTENT_TYPE,
  manifestRow,
  nextManifest,
  writeManifest,
  storedRow,
} from './write-manifest.ts';
import { explainedOf } from './explained.ts';
import { currentOf, summaryCsv } from './summary.ts';

/** A file that was missing or altered and lies there again as published. */
export interface RepairedFile {
  readonly merchantNo: string;
  readonly day: BusinessDay;
  /** Relative to STATEMENTS_URL. */
  readonly key: string;
  readonly damage: Damage;
}

/** A file that is missing or altered and cannot be made again. */
export interface UnrepairedFile extends RepairedFile {
  /** Why not, and what to do: the end of a sentence. */
  readonly why: string;
}

export interface RepairReport {
  readonly repaired: readonly RepairedFile[];
  readonly unrepaired: readonly UnrepairedFile[];
}

export const NOTHING_REPAIRED: RepairReport = { repaired: [], unrepaired: [] };

export interface RepairOptions extends PublishDayOptions {
  readonly merchantNo: string;
  readonly fromDay: BusinessDay;
  readonly toDay: BusinessDay;
  /** Reads every file in full, even if its etag is known. */
  readonly readsAll?: boolean;
  /** Formats whose files can be made again; if left out, STATEMENT_FORMATS. */
  readonly knownFormats?: readonly StatementFormat[];
  /** What was published before this run, read ahead. */
  readonly ahead?: PublishedAhead;
  /** Called after each file with what was done so far; a later failure does not undo it. */
  readonly onFile?: (soFar: RepairReport) => void;
}

/**
 * Compares a merchant's published days with the store and writes again what is missing or altered. Reads one listing
 * for many days, and nothing else where all is well. Throws `ObjectStoreUnreachable`, `LeaseLost`, `StoreUnreachable`,
 * or the signal's reason; what was repaired before that stays.
 */
export async function repairFiles(options: RepairOptions): Promise<RepairReport> {
  const { db, lease, signal } = options;
  const repaired: RepairedFile[] = [];
  const unrepaired: UnrepairedFile[] = [];
  const tell = ({ file, damage }: DamagedFile, why: string | null): void => {
    const { day, key } = file;
    const told = { merchantNo: options.merchantNo, day, key, damage };
    if (why === null) repaired.push(told);
    else unrepaired.push({ ...told, why });
    options.onFile?.({ repaired: [...repaired], unrepaired: [...unrepaired] });
  };
  for await (const { damaged, unrecorded, unsigned, proven } of compareFiles(options)) {
    signal.throwIfAborted();
    if (proven.length > 0) await writeTransaction(db, lease, (trx) => recordStored(trx, proven));
    for (const { object_key: key } of proven) options.publishedNow?.isRecorded(key);
    for (const day of unrecorded) await recordDay(day, options, tell);
    let day: BusinessDay | null = null;
    const keptAsEvidence = new Set<BusinessDay>();
    for (const one of damaged) {
      signal.throwIfAborted();
      if (one.file.day !== day) await prepareDay((day = one.file.day), options);
      const why = await repairFile(one.file, options);
      if (why !== null && one.file.kind === 'manifest') keptAsEvidence.add(one.file.day);
      tell(one, why);
    }
    // The signature beside such a manifest is its own.
    const own = unsigned.filter((row) => !keptAsEvidence.has(row.day));
    await signManifests(own, options);
  }
  return { repaired, unrepaired };
}

/** Called before the first write of a day. A run that was frozen (suspended) can then not finish its writes there. */
async function prepareDay(day: BusinessDay, options: RepairOptions): Promise<void> {
  await options.objects.discardUnfinished(dayPrefix(options.merchantNo, day), leaseFence(options));
}

/**
 * For a day that was published before the database kept rows of manifests. If the manifest in the store points to the
 * current revisions, its row is stored; otherwise a new manifest is written.
 */
async function recordDay(
  day: UnrecordedDay,
  options: RepairOptions,
  tell: (damaged: DamagedFile, why: null) => void,
): Promise<void> {
  const { db, lease, objects, merchantNo } = options;
  const key = manifestKey(merchantNo, day.day);
  const text = (await readWhole(objects, key))?.toString('utf8') ?? null;
  if (text !== null && (await pointsToCurrent(objects, merchantNo, day))) {
    const { revision, epoch } = parseManifest(text)!;
    const row = manifestRow({ merchantNo, day: day.day, revision, epoch }, text);
    await writeTransaction(db, lease, (trx) => recordPublished(trx, merchantNo, { manifests: [row] }));
    return;
  }
  await prepareDay(day.day, options);
  const { statements, summaries } = day;
  const explained = await explainedOf(db, merchantNo, day.day, options.zone, currentOf(statements));
  const past = (await pastOf(db, merchantNo, [day.day], options.zone)).get(day.day)!;
  const { row } = nextManifest(merchantNo, day.day, { statements, summaries, explained }, past, options);
  await writeTransaction(db, lease, (trx) => recordPublished(trx, merchantNo, { manifests: [row] }));
  const known = { manifest: past.storedManifest, signature: past.storedSignature };
  const stored = await writeManifest(row, known, leaseFence(options), options);
  await writeTransaction(db, lease, (trx) => recordStored(trx, stored));
  const file: PublishedFile = { kind: 'manifest', day: day.day, key, sha256: row.sha256, row };
  tell({ file, damage: text === null ? 'missing' : 'altered' }, null);
}

/** Writes one file again; null on success, else why it cannot be made again. */
async function repairFile(file: PublishedFile, options: RepairOptions): Promise<string | null> {
  const made = await contentOf(file, options);
  if (typeof made === 'string') return made;
  const { db, lease, objects } = options;
  const { content, contentType } = made;
  const put = { fence: leaseFence(options), contentType };
  const stored: StoredDigest = await putReplacing(objects, file.key, content, put);
  await writeTransaction(db, lease, (trx) => recordStored(trx, [storedRow(file.key, stored)]));
  options.publishedNow?.isRecorded(file.key);
  return null;
}

/** Signs manifests that were published without, once there is a key. Their text stays as it is. */
async function signManifests(unsigned: readonly ManifestRow[], options: RepairOptions): Promise<void> {
  const { db, lease, merchantNo, signal, objects } = options;
  if (unsigned.length === 0 || (options.signingKey ?? null) === null) return;
  const manifests = unsigned.map((row) => signed(row, row.signature, options));
  await writeTransaction(db, lease, (trx) => recordPublished(trx, merchantNo, { manifests }));
  const stored: StoredRow[] = [];
  for (const { day, signature } of manifests) {
    signal.throwIfAborted();
    await prepareDay(day, options);
    const key = signatureKey(merchantNo, day);
    const put = { fence: leaseFence(options), contentType: SIGNATURE_CONTENT_TYPE };
    stored.push(storedRow(key, await putReplacing(objects, key, Buffer.from(signature!), put)));
  }
  await writeTransaction(db, lease, (trx) => recordStored(trx, stored));
  for (const { object_key: key } of stored) options.publishedNow?.isRecorded(key);
}

type Made = { readonly content: ObjectContent; readonly contentType: string } | string;

/** The bytes that were published under this name, or why they cannot be had. */
function contentOf(file: PublishedFile, options: RepairOptions): Made | Promise<Made> {
  switch (file.kind) {
    case 'manifest':
      return manifestContent(file.key, file.row, options);
    case 'signature':
      return signatureContent(file.row, options);
    case 'summary':
      return summaryContent(file.row, options);
    case 'statement':
      return statementContent(file.row, options);
    case 'other-format':
      return otherFormatContent(file, options);
  }
}

const RESTORE = 'restore it from a copy of the store, such as an earlier version of the object or a backup';

async function statementContent(row: StatementRow, options: RepairOptions): Promise<Made> {
  const made = (): AsyncIterable<Uint8Array> | null => contentAsPublished(row, options);
  const first = made();
  if (first === null)
    return `its columns (${row.columns}) are not those of this version of daybook: ${RESTORE}`;
  try {
    const { sha256 } = await digestOf(first);
    if (sha256 === row.sha256) return { content: () => made()!, contentType: CSV.contentType };
  } catch (error) {
    if (!(error instanceof StatementMisfit)) throw error;
  }
  return `its entries have changed since, so that it cannot be made again: ${RESTORE}`;
}

/** Made from the CSV in the store, which was looked at before. */
async function otherFormatContent(
  { row, earlier, format: name, sha256 }: Extract<PublishedFile, { kind: 'other-format' }>,
  { objects, knownFormats = STATEMENT_FORMATS, columns }: RepairOptions,
): Promise<Made> {
  const format = knownFormats.find((one) => one.name === name);
  if (format === undefined) return `this daybook knows no format ${name}: ${RESTORE}`;
  try {
    // When it was published, the revision before it may not have been there to be read.
    for (const readsEarlier of earlier.length === 0 ? [true] : [true, false]) {
      const content = (): AsyncIterable<Uint8Array> =>
        fetchInFormat(objects, row, format, { earlier, known: columns, readsEarlier });
      const made = await digestOf(content());
      if (made.sha256 === sha256) return { content, contentType: format.contentType };
    }
  } catch (error) {
    if (error instanceof FormatTooSmall) return `${error.message} Or ${RESTORE}`;
    if (!(error instanceof StatementDamaged)) throw error;
    return `the CSV that it is made from cannot be read: ${error.message}`;
  }
  return `this version of daybook makes other bytes of the CSV in this format: ${RESTORE}`;
}

/**
 * A summary lists the statements that were current after some run. Each statement's row names its run, so the text can
 * be made again from the rows. A summary with explanations cannot, so its text was stored.
 */
async function summaryContent(row: SummaryRow, { db }: RepairOptions): Promise<Made> {
  const { contentType } = CSV;
  if (row.content !== null) return { content: Buffer.from(row.content), contentType };
  const statements = await statementsOfDay(db, row.merchant_no, row.day);
  const runs = new Set(statements.map(({ run_id }) => run_id ?? 0));
  for (const run of [...runs].sort((a, b) => b - a)) {
    const then = statements.filter(({ run_id }) => (run_id ?? 0) <= run);
    const content = Buffer.from(summaryCsv(currentOf(then)));
    if ((await digestOf(bytesOf(content))).sha256 === row.sha256) return { content, contentType };
  }
  return `the statements it listed are not known any more: ${RESTORE}`;
}

/** A manifest with a higher revision than this database knows comes from newer data: it is kept as evidence. */
async function manifestContent(key: string, row: ManifestRow, { objects }: RepairOptions): Promise<Made> {
  const text = (await readWhole(objects, key))?.toString('utf8');
  const found = text === undefined ? null : parseManifest(text);
  if (found === null || found.revision <= row.revision)
    return { content: Buffer.from(row.content), contentType: MANIFEST_CONTENT_TYPE };
  return (
    `it is revision ${found.revision}, and this database knows revision ${row.revision} only: was it restored from a ` +
    `backup, or does another daybook write there? Bring back the newer database, or move the manifest away so that ` +
    `the next run writes this one's`
  );
}

/** Where the manifest beside it is kept as evidence, so is its signature. */
async function signatureContent(row: ManifestRow, options: RepairOptions): Promise<Made> {
  const manifest = await manifestContent(manifestKey(row.merchant_no, row.day), row, options);
  return typeof manifest === 'string'
    ? `of the manifest beside it: ${manifest}`
    : { content: Buffer.from(row.signature!), contentType: SIGNATURE_CONTENT_TYPE };
}
