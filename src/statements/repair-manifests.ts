/** Makes manifests and signatures that a comparison with the store found wanting, though no file of theirs was damaged. */
import type { BusinessDay } from '../ledger/entry.ts';
import { readText } from '../objects/object-store.ts';
import { recordPublished, recordStored } from '../store/statements/record-published.ts';
import type { ManifestRow } from '../store/statements/stored-files.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';
import { pointsToCurrent, type DamagedFile, type UnrecordedDay } from './compare-files.ts';
import { explainedOf } from './explained.ts';
import { dayPrefix, manifestKey, signatureKey } from './keys.ts';
import { isBeyondBounds, parseManifest, type Manifest } from './manifest.ts';
import { pastOf } from './past.ts';
import { leaseFence, type PublishDayOptions } from './publish-options.ts';
import { putReplacing } from './put-revision.ts';
import { isSignedWith, signatureNextTo, signed, SIGNATURE_CONTENT_TYPE } from './sign-manifest.ts';
import { currentOf } from './summary.ts';
import { manifestRow, nextManifest, storedRow, writeManifest } from './write-manifest.ts';

/** Signatures that are recorded together, then written side by side. */
const SIGNED_AT_ONCE = 8;

export interface RepairManifestOptions extends PublishDayOptions {
  readonly merchantNo: string;
}

/** Called before the first write of a day. A run that was frozen (suspended) can then not finish its writes there. */
export async function prepareDay(day: BusinessDay, options: RepairManifestOptions): Promise<void> {
  await options.objects.discardUnfinished(dayPrefix(options.merchantNo, day), leaseFence(options));
}

/**
 * For a day that was published before the database kept rows of manifests. If the manifest in the store points to the
 * current revisions, its row is stored; otherwise a new manifest is written.
 */
export async function recordDay(
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
    const { revision, epoch, place } = found;
    const made = manifestRow({ merchantNo, day: day.day, revision, epoch, place }, text!);
    const row = { ...made, signature };
    await writeTransaction(db, lease, (trx) => recordPublished(trx, merchantNo, { manifests: [row] }));
    return;
  }
  const row = await makeManifest(day.day, options, false);
  tell(
    {
      file: { kind: 'manifest', day: day.day, key, sha256: row.sha256, row },
      damage: text === null ? 'missing' : 'altered',
    },
    null,
  );
}

/**
 * With a key, a place in the chain is believed only if that key signed it, as anybody may have put the manifest there.
 * Those from before there were chains have none.
 */
const isBelieved = (
  found: Manifest,
  text: string,
  signature: string | null,
  { signingKey = null }: RepairManifestOptions,
): boolean =>
  !isBeyondBounds(found) &&
  (found.place === undefined || signingKey === null || isSignedWith(signingKey, text, signature));

/**
 * Writes the manifest that the day's rows call for, and records it first. The statements stay as they are. `isAsStored` is
 * whether the store's manifest is the one that was last written there.
 */
export async function makeManifest(
  day: BusinessDay,
  options: RepairManifestOptions,
  isAsStored = true,
): Promise<ManifestRow> {
  const { db, lease, merchantNo, zone } = options;
  await prepareDay(day, options);
  const past = (await pastOf(db, merchantNo, [day], zone)).get(day)!;
  const { statements, summaries } = past;
  const explained = await explainedOf(db, merchantNo, day, zone, currentOf(statements));
  const { row } = nextManifest(merchantNo, day, { statements, summaries, explained }, past, options);
  await writeTransaction(db, lease, (trx) => recordPublished(trx, merchantNo, { manifests: [row] }));
  const manifest = isAsStored ? past.storedManifest : undefined;
  const known = { manifest, signature: past.storedSignature };
  const stored = await writeManifest(row, known, leaseFence(options), options);
  await writeTransaction(db, lease, (trx) => recordStored(trx, stored));
  for (const { object_key: key } of stored) options.publishedNow?.isRecorded(key);
  return row;
}

/**
 * Signs manifests that were published without (`unsigned`), once there is a key, and writes recorded signatures that were
 * never written (`unput`). Some at a time, so that little is left where it is cut short. The manifests stay as they are.
 */
export async function signManifests(
  { unsigned, unput }: { readonly unsigned: readonly ManifestRow[]; readonly unput: readonly ManifestRow[] },
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
    const stored = await Promise.all(manifests.map((row) => putSignature(row, options)));
    await writeTransaction(db, lease, (trx) => recordStored(trx, stored));
    for (const { object_key: key } of stored) options.publishedNow?.isRecorded(key);
  }
}

async function putSignature({ day, signature }: ManifestRow, options: RepairManifestOptions) {
  await prepareDay(day, options);
  const key = signatureKey(options.merchantNo, day);
  const put = { fence: leaseFence(options), contentType: SIGNATURE_CONTENT_TYPE };
  return storedRow(key, await putReplacing(options.objects, key, Buffer.from(signature!), put));
}
