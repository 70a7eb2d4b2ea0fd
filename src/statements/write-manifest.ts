/** Makes the manifest that a day's rows require: stores it as a row first, then writes it to the store. */
import type { Kysely } from 'kysely';
import { addDays } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import {
  FINAL_CONFIDENCE,
  FINAL_SHARE,
  finalityOf,
  NOTHING_MEASURED,
  type LatenessMeasured,
} from '../ledger/lateness.ts';
import { ObjectExists, type Fence, type ObjectStore, type StoredDigest } from '../objects/object-store.ts';
import type { Lease } from '../store/engine/lease.ts';
import type { DB } from '../store/engine/schema.ts';
import type { PastOfDay } from '../store/statements/past-of-days.ts';
import { recordPublished } from '../store/statements/record-published.ts';
import type { ManifestRow, StoredRow } from '../store/statements/stored-files.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';
import { sha256Of } from './digest.ts';
import { manifestKey } from './keys.ts';
import { otherFormatsIn, parseManifest, type Manifest } from './manifest.ts';
import { manifestText, type ManifestSources } from './manifest-text.ts';
import { putReplacing, readManifest } from './put-revision.ts';

export const MANIFEST_CONTENT_TYPE = 'application/json';

export interface SettleOptions {
  readonly db: Kysely<DB>;
  readonly lease: Lease;
  readonly objects: ObjectStore;
  readonly zone: string;
  readonly timeZoneTrusted?: boolean;
  readonly checked?: readonly string[];
  /** How late entries come; if left out, nothing is known of it. */
  readonly lateness?: LatenessMeasured;
}

/** The row for the text of a manifest. */
export const manifestRow = (
  { merchantNo, day, revision, epoch }: Pick<ManifestSources, 'merchantNo' | 'day' | 'revision' | 'epoch'>,
  content: string,
): ManifestRow => ({
  merchant_no: merchantNo,
  day,
  revision,
  epoch,
  sha256: sha256Of(content),
  byte_count: Buffer.byteLength(content),
  content,
});

/**
 * The manifest that these rows call for: the recorded one where it says the same, else the next revision. Files in other
 * formats have no rows: those that the recorded one lists stay listed, and the rows bring the new ones.
 */
export function nextManifest(
  merchantNo: string,
  day: BusinessDay,
  rows: Pick<ManifestSources, 'statements' | 'summaries' | 'explained'> &
    Partial<Pick<ManifestSources, 'otherFormats'>>,
  { manifest: recorded, previous, certificates }: Pick<PastOfDay, 'manifest' | 'previous' | 'certificates'>,
  { lease, zone, timeZoneTrusted = false, checked = [], lateness = NOTHING_MEASURED }: SettleOptions,
): { readonly row: ManifestRow; readonly isNew: boolean } {
  const listed = recorded === undefined ? [] : otherFormatsIn(recorded);
  const otherFormats = new Map([...listed, ...(rows.otherFormats ?? [])]);
  const sources = { merchantNo, day, zone, timeZoneTrusted, ...rows, previous, certificates, otherFormats };
  if (recorded !== undefined) {
    // If only the checks of the run differ, or what was measured since, no new manifest is made.
    const { checked: before = [], final } = parseManifest(recorded.content) ?? {};
    if (manifestText({ ...sources, ...recorded, checked: before, final }) === recorded.content) {
      return { row: recorded, isNew: false };
    }
  }
  const final = finalIn(day, lateness);
  const numbered = {
    ...sources,
    checked,
    final,
    revision: (recorded?.revision ?? 0) + 1,
    epoch: lease.epoch,
  };
  return { row: manifestRow(numbered, manifestText(numbered)), isNew: true };
}

/** When the day is final, as its manifest says it. */
function finalIn(day: BusinessDay, lateness: LatenessMeasured): Manifest['final'] {
  const finality = finalityOf(lateness);
  if (finality === null) return undefined;
  const { afterDays, watchedEntries, laterEntries } = finality;
  return {
    ...{ share: FINAL_SHARE, confidence: FINAL_CONFIDENCE, by: addDays(day, afterDays) },
    ...{ watchedEntries, laterEntries },
  };
}

/**
 * Writes the recorded manifest to the store, unless it was already read back from there (`known`). Returns what was read
 * back. If the store holds a manifest that this database has forgotten, the row gets a higher number first.
 */
export async function writeManifest(
  recorded: ManifestRow,
  known: StoredRow | undefined,
  fence: Fence,
  options: SettleOptions,
): Promise<StoredRow> {
  const { db, lease, objects } = options;
  const key = manifestKey(recorded.merchant_no, recorded.day);
  if (known?.sha256 === recorded.sha256) return known;
  const put = { fence, contentType: MANIFEST_CONTENT_TYPE };
  const condition =
    known === undefined ? { ifAbsent: true } : known.etag === null ? {} : { ifEtag: known.etag };
  try {
    return storedRow(key, await objects.put(key, Buffer.from(recorded.content), { ...put, ...condition }));
  } catch (error) {
    if (!(error instanceof ObjectExists)) throw error;
  }
  const found = await readManifest(objects, key);
  const row =
    found !== null && found.revision >= recorded.revision ? above(found.revision, recorded) : recorded;
  if (row !== recorded)
    await writeTransaction(db, lease, (trx) => recordPublished(trx, row.merchant_no, { manifests: [row] }));
  return storedRow(key, await putReplacing(objects, key, Buffer.from(row.content), put));
}

export const storedRow = (key: string, { sha256, bytes, etag }: StoredDigest): StoredRow => ({
  object_key: key,
  sha256,
  byte_count: bytes,
  etag,
});

/** The same manifest, with a number above one that is taken. */
function above(taken: number, { content, merchant_no, day, epoch }: ManifestRow): ManifestRow {
  const manifest = { ...(JSON.parse(content) as object), revision: taken + 1 };
  const text = `${JSON.stringify(manifest, null, 2)}\n`;
  return manifestRow({ merchantNo: merchant_no, day, revision: taken + 1, epoch }, text);
}
