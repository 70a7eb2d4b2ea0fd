/** Makes the object store hold again what the database says was published: the same bytes under the same names. What cannot be made again is reported, and left as it is. */
import type { BusinessDay } from '../ledger/entry.ts';
import { readText, bytesOf, digestOf, type ObjectContent } from '../objects/object-store.ts';
import { shellWord } from '../ledger/text.ts';
import { recordPublished, recordStored } from '../store/statements/record-published.ts';
import type { ManifestRow, StoredRow } from '../store/statements/stored-files.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';
import {
  pointsToCurrent,
  type DamagedFile,
  type UnrecordedDay,
  compareFiles,
  type Damage,
  type PublishedFile,
} from './compare-files.ts';
import { explainedOf, currentOf, summaryCsv } from './summary.ts';
import { dayPrefix, manifestKey } from '../verify/names.ts';
import { signatureKey } from './keys.ts';
import { isBeyondBounds } from './recorded-manifest.ts';
import { parseManifest, type Manifest } from '../verify/manifest.ts';
import { pastOfDays } from '../store/statements/past-of-days.ts';
import { leaseFence, type PublishDayOptions } from './publish-options.ts';
import { putReplacing } from './put-revision.ts';
import {
  isSignedWith,
  signatureNextTo,
  signed,
  SIGNATURE_CONTENT_TYPE,
  manifestRow,
  nextManifest,
  storedRow,
  writeManifest,
  MANIFEST_CONTENT_TYPE,
} from './write-manifest.ts';
import { statementsOfDay, type StatementRow, type SummaryRow } from '../store/statements/statements.ts';
import { contentAsPublished, NoFigures, StatementMisfit } from './day-content.ts';
import { StatementDamaged, fetchInFormat } from './fetch.ts';
import { formatWith, STATEMENT_FORMATS } from './formats/all.ts';
import { CSV } from './formats/csv.ts';
import { type StatementFormat, FormatTooSmall } from './formats/format.ts';

/** Signatures that are recorded together, then written side by side. */
const SIGNED_AT_ONCE = 8;

type RepairManifestOptions = PublishDayOptions & { readonly merchantNo: string };

/** Called before the first write of a day. A run that was frozen (suspended) can then not finish its writes there. */
async function prepareDay(day: BusinessDay, options: RepairManifestOptions): Promise<void> {
  await options.objects.discardUnfinished(dayPrefix(options.merchantNo, day), leaseFence(options));
}

/** For a day from before the database kept manifests: the store's one is recorded if it points to the current revisions, else a new one is written. */
async function recordDay(
  day: UnrecordedDay,
  options: RepairManifestOptions,
  tell: (damaged: DamagedFile, why: null) => void,
): Promise<void> {
  const { db, lease, objects, merchantNo } = options;
  const key = manifestKey(merchantNo, day.day);
  const text = await readText(objects, key);
  const found = text === null ? null : parseManifest(text);
  const signature = await signatureNextTo(objects, merchantNo, day.day);
  const isOurs = found !== null && isBelieved(found, text!, signature, options);
  if (isOurs && (await pointsToCurrent(objects, merchantNo, day))) {
    const row = { ...manifestRow({ ...found, merchantNo, day: day.day }, text!), signature };
    await writeTransaction(db, lease, (trx) => recordPublished(trx, merchantNo, { manifests: [row] }));
    return;
  }
  const row = await makeManifest(day.day, options, false);
  const file = { kind: 'manifest' as const, day: day.day, key, sha256: row.sha256, row };
  tell({ file, damage: text === null ? 'missing' : 'altered' }, null);
}

/** With a key, a place in the chain is believed only if that key signed it, as anybody may have put the manifest there. */
const isBelieved = (
  found: Manifest,
  text: string,
  signature: string | null,
  { signingKey = null }: PublishDayOptions,
): boolean => !isBeyondBounds(found) && (signingKey === null || isSignedWith(signingKey, text, signature));

/** The statements stay as they are. `isAsStored`: the store's manifest is the one that was last written there. */
async function makeManifest(
  day: BusinessDay,
  options: RepairManifestOptions,
  isAsStored = true,
): Promise<ManifestRow> {
  const { db, lease, merchantNo, zone } = options;
  await prepareDay(day, options);
  const past = (await pastOfDays(db, merchantNo, [day], zone)).get(day)!;
  const { statements, summaries } = past;
  const explained = await explainedOf(db, merchantNo, zone, currentOf(statements));
  const { row } = nextManifest(merchantNo, day, { statements, summaries, explained }, past, options);
  await writeTransaction(db, lease, (trx) => recordPublished(trx, merchantNo, { manifests: [row] }));
  const manifest = isAsStored ? past.storedManifest : undefined;
  const known = { manifest, signature: past.storedSignature };
  await noteStored(await writeManifest(row, known, leaseFence(options), options), options);
  return row;
}

async function noteStored(
  stored: readonly StoredRow[],
  { db, lease, publishedNow }: PublishDayOptions,
): Promise<void> {
  if (stored.length === 0) return;
  await writeTransaction(db, lease, (trx) => recordStored(trx, stored));
  publishedNow?.areRecorded(stored);
}

/** `unsigned` were published before there was a key; signatures of `unput` were recorded and never written. Some at a time, so that little is left where it is cut short. */
async function signManifests(
  { unsigned, unput }: Readonly<Record<'unsigned' | 'unput', readonly ManifestRow[]>>,
  options: RepairManifestOptions,
): Promise<void> {
  const { db, lease, merchantNo, signal } = options;
  const toSign = (options.signingKey ?? null) === null ? [] : unsigned;
  const left = [
    ...unput.filter((row) => !toSign.includes(row)),
    ...toSign.map((row) => signed(row, row.signature, options)),
  ];
  for (let at = 0; at < left.length; at += SIGNED_AT_ONCE) {
    signal.throwIfAborted();
    const manifests = left.slice(at, at + SIGNED_AT_ONCE);
    await writeTransaction(db, lease, (trx) => recordPublished(trx, merchantNo, { manifests }));
    await noteStored(await Promise.all(manifests.map((row) => putSignature(row, options))), options);
  }
}

async function putSignature(row: ManifestRow, options: RepairManifestOptions) {
  await prepareDay(row.day, options);
  const key = signatureKey(row.merchant_no, row.day);
  const put = { fence: leaseFence(options), contentType: SIGNATURE_CONTENT_TYPE };
  return storedRow(row, key, await putReplacing(options.objects, key, Buffer.from(row.signature!), put));
}

export interface RepairedFile extends Pick<PublishedFile, 'day' | 'key'> {
  readonly merchantNo: string;
  readonly damage: Damage;
}

/** A file that is missing or altered and cannot be made again. */
export interface UnrepairedFile extends RepairedFile {
  readonly why: string;
  /** Set where the store has a later manifest of the day than this database: its revision there, and here. */
  readonly ahead?: { readonly revision: number; readonly known: number };
}

/** Why a file cannot be made again. */
type Lost = Pick<UnrepairedFile, 'why' | 'ahead'>;

/** How many published files of a merchant's days were compared with the store. */
export interface ComparedFiles {
  readonly merchantNo: string;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  readonly files: number;
}

export interface RepairReport {
  readonly compared: readonly ComparedFiles[];
  readonly repaired: readonly RepairedFile[];
  readonly unrepaired: readonly UnrepairedFile[];
}

export const NOTHING_REPAIRED: RepairReport = { compared: [], repaired: [], unrepaired: [] };

export interface RepairOptions extends PublishDayOptions {
  readonly merchantNo: string;
  readonly fromDay: BusinessDay;
  readonly toDay: BusinessDay;
  readonly readsAll?: boolean;
  readonly knownFormats?: readonly StatementFormat[];
  /** Called after each file with what was done so far; a later failure does not undo it. */
  readonly onFile?: (soFar: RepairReport) => void;
}

/**
 * Compares a merchant's published days with the store and writes again what is missing or altered. Reads one listing
 * for many days, and nothing else where all is well. Throws `ObjectStoreUnreachable`, `LeaseLost`, `StoreUnreachable`,
 * or the signal's reason; what was repaired before that stays.
 */
export async function repairFiles(options: RepairOptions): Promise<RepairReport> {
  const { signal } = options;
  const { add, compared, report } = createReport(options);
  const tell = (file: DamagedFile, lost: Lost | null): void => {
    add(file, lost);
    options.onFile?.(report());
  };
  for await (const comparison of compareFiles(options)) {
    const { damaged, unrecorded, unsigned, unput, outOfChain, proven } = comparison;
    compared(comparison.files);
    signal.throwIfAborted();
    await noteStored(proven, options);
    for (const day of unrecorded) await recordDay(day, options, tell);
    let day: BusinessDay | null = null;
    const keptAsEvidence = new Set<BusinessDay>();
    for (const one of damaged) {
      signal.throwIfAborted();
      if (one.file.day !== day) await prepareDay((day = one.file.day), options);
      const lost = await repairFile(one.file, options);
      if (lost !== null && one.file.kind === 'manifest') keptAsEvidence.add(one.file.day);
      tell(one, lost);
    }
    // The signature next to such a manifest is its own.
    const isKept = (row: ManifestRow): boolean => keptAsEvidence.has(row.day);
    const remade = outOfChain.filter((row) => !isKept(row));
    for (const row of remade) {
      signal.throwIfAborted();
      await makeManifest(row.day, options);
    }
    const isLeft = (row: ManifestRow): boolean => !isKept(row) && !remade.includes(row);
    await signManifests({ unsigned: unsigned.filter(isLeft), unput: unput.filter(isLeft) }, options);
  }
  return report();
}

type PreviewOptions = Omit<RepairOptions, 'lease' | 'runId' | 'onFile'>;

/**
 * What `repairFiles` would write again of all files, read in full, and what it could not; writes nothing. Throws
 * `ObjectStoreUnreachable`, or the signal's reason.
 */
export async function previewRepair(options: PreviewOptions): Promise<RepairReport> {
  const { add, compared, report } = createReport(options);
  for await (const { files, damaged } of compareFiles({ ...options, readsAll: true })) {
    compared(files);
    for (const one of damaged) {
      options.signal.throwIfAborted();
      const made = await contentOf(one.file, options);
      add(one, 'why' in made ? made : null);
    }
  }
  return report();
}

function createReport({ merchantNo, fromDay: from, toDay: to }: PreviewOptions) {
  const repaired: RepairedFile[] = [];
  const unrepaired: UnrepairedFile[] = [];
  let files = 0;
  return {
    add: ({ file: { day, key }, damage }: DamagedFile, lost: Lost | null): void => {
      const reported = { merchantNo, day, key, damage };
      if (lost === null) repaired.push(reported);
      else unrepaired.push({ ...reported, ...lost });
    },
    compared: (more: number): void => void (files += more),
    report: (): RepairReport => ({
      compared: files === 0 ? [] : [{ merchantNo, from, to, files }],
      repaired: [...repaired],
      unrepaired: [...unrepaired],
    }),
  };
}

async function repairFile(file: PublishedFile, options: RepairOptions): Promise<Lost | null> {
  const made = await contentOf(file, options);
  if ('why' in made) return made;
  const put = { fence: leaseFence(options), contentType: made.contentType };
  const stored = await putReplacing(options.objects, file.key, made.content, put);
  await noteStored([storedRow(file.row, file.key, stored)], options);
  return null;
}

type Made = { readonly content: ObjectContent; readonly contentType: string } | Lost;

function contentOf(file: PublishedFile, options: PreviewOptions): Made | Promise<Made> {
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

const lost = (why: string): Lost => ({ why: `${why}: ${RESTORE}` });

const notRead = ({ merchant_no: merchantNo, day }: StatementRow): Lost => ({
  why:
    'this database has not read the day since its statement was adopted, so that it cannot be made again yet: run ' +
    `\`daybook backfill --from ${day} --to ${day} --merchant ${shellWord(merchantNo)}\`, then repair again; or ${RESTORE}`,
});

async function statementContent(row: StatementRow, options: PreviewOptions): Promise<Made> {
  const made = (): AsyncIterable<Uint8Array> | null => contentAsPublished(row, options);
  const first = made();
  if (first === null) return lost(`its columns (${row.columns}) are not those of this version of daybook`);
  try {
    const { sha256 } = await digestOf(first);
    if (sha256 === row.sha256) return { content: () => made()!, contentType: CSV.contentType };
  } catch (error) {
    if (error instanceof NoFigures) return notRead(row);
    if (!(error instanceof StatementMisfit)) throw error;
  }
  return lost('its entries have changed since, so that it cannot be made again');
}

/** Made from the CSV in the store, which was checked before. */
async function otherFormatContent(
  { row, earlier, format: name, sha256, isoCurrency }: Extract<PublishedFile, { kind: 'other-format' }>,
  { objects, zone, knownFormats = STATEMENT_FORMATS, columns }: PreviewOptions,
): Promise<Made> {
  const known = knownFormats.find((one) => one.name === name);
  if (known === undefined) return lost(`this daybook knows no format ${name}`);
  const format = isoCurrency === undefined ? known : formatWith(known, { [row.currency]: isoCurrency });
  try {
    // When it was published, the revision before it may not have been there to be read.
    for (const readsEarlier of earlier.length === 0 ? [true] : [true, false]) {
      const content = (): AsyncIterable<Uint8Array> =>
        fetchInFormat(objects, row, format, { earlier, zone, known: columns, readsEarlier });
      const made = await digestOf(content());
      if (made.sha256 === sha256) return { content, contentType: format.contentType };
    }
  } catch (error) {
    if (error instanceof FormatTooSmall) return { why: `${error.message} Or ${RESTORE}` };
    if (!(error instanceof StatementDamaged)) throw error;
    return { why: `the CSV that it is made from cannot be read: ${error.message}` };
  }
  return lost('this version of daybook makes other bytes of the CSV in this format');
}

/** Each statement's row names its run, so the text can be made again from the rows; one with explanations cannot and was stored. */
async function summaryContent(row: SummaryRow, { db }: PreviewOptions): Promise<Made> {
  const { contentType } = CSV;
  if (row.content !== null) return { content: Buffer.from(row.content), contentType };
  const statements = await statementsOfDay(db, row.merchant_no, row.day);
  const runs = new Set(statements.map(({ run_id }) => run_id ?? 0));
  for (const run of [...runs].sort((a, b) => b - a)) {
    const then = statements.filter(({ run_id }) => (run_id ?? 0) <= run);
    const content = Buffer.from(summaryCsv(currentOf(then)));
    if ((await digestOf(bytesOf(content))).sha256 === row.sha256) return { content, contentType };
  }
  return lost('the statements it listed are not known any more');
}

/** A manifest with a higher revision than this database knows comes from newer data: it is kept as evidence. */
async function manifestContent(key: string, row: ManifestRow, { objects }: PreviewOptions): Promise<Made> {
  const text = await readText(objects, key);
  const found = text === null ? null : parseManifest(text);
  if (found === null || found.revision <= row.revision)
    return { content: Buffer.from(row.content), contentType: MANIFEST_CONTENT_TYPE };
  const why =
    `it is revision ${found.revision}, and this database knows revision ${row.revision} only: was it restored from a ` +
    `backup, or does another daybook write there? Bring back the newer database, take the store over with ` +
    `\`daybook statements adopt\`, or move the manifest away so that the next run writes this one's`;
  return { why, ahead: { revision: found.revision, known: row.revision } };
}

/** Where the manifest next to it is kept as evidence, so is its signature. */
async function signatureContent(row: ManifestRow, options: PreviewOptions): Promise<Made> {
  const manifest = await manifestContent(manifestKey(row.merchant_no, row.day), row, options);
  const own = { content: Buffer.from(row.signature!), contentType: SIGNATURE_CONTENT_TYPE };
  return 'why' in manifest ? manifest : own;
}
