/** Makes the manifest that a day's rows require: stores it as a row first, signs it, then writes it to the store. */
import { isSignature } from '../signing.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import type { SigningKey } from '../ledger/signature.ts';
import { storableText } from '../ledger/text.ts';
import {
  readText,
  type ObjectStore,
  ObjectExists,
  type Fence,
  type PutOptions,
  type StoredDigest,
} from '../objects/object-store.ts';
import type { ManifestRow, StoredRow } from '../store/statements/stored-files.ts';
import { manifestKey, WITHDRAWN } from '../verify/names.ts';
import { signatureKey } from './keys.ts';
import { addDays, dayWindow } from '../ledger/business-day.ts';
import { covers } from '../ledger/window.ts';
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import { CHECKS } from '../ledger/checks.ts';
import {
  FINAL_CONFIDENCE,
  FINAL_SHARE,
  finalityOf,
  NOTHING_MEASURED,
  type LatenessMeasured,
} from '../ledger/lateness.ts';
import type { PastOfDay } from '../store/statements/past-of-days.ts';
import { recordPublished } from '../store/statements/record-published.ts';
import type { StatementRow } from '../store/statements/statements.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';
import { sha256Of } from '../host/sha256.ts';
import { isBeyondBounds, otherFormatsIn } from './recorded-manifest.ts';
import { parseManifest, type Manifest } from '../verify/manifest.ts';
import {
  chainFieldsOf,
  isOutOfChain,
  nextInChain,
  supersededWith,
  type Superseded,
  manifestText,
  type ManifestSources,
  unlessEmpty,
} from './manifest-text.ts';
import type { PublishDayOptions, SigningOptions } from './publish-options.ts';
import { putReplacing } from './put-revision.ts';
import { currentOf } from './summary.ts';

export const SIGNATURE_CONTENT_TYPE = 'text/plain; charset=utf-8';

/** `before` lies in the store: without a key it would be the signature of another manifest, so a note takes its place. */
export function signed(
  row: ManifestRow,
  before: string | null,
  { signingKey = null, now }: SigningOptions,
): ManifestRow {
  const signature =
    signingKey === null
      ? before === null
        ? null
        : WITHDRAWN
      : signingKey.sign(Buffer.from(row.content), commentOn(row, now()));
  return { ...row, signature };
}

/** What a person wants to know: whose manifest of which day, which revision, and when it was signed. */
const commentOn = ({ merchant_no, day, revision }: ManifestRow, at: Date): string =>
  `${manifestKey(merchant_no, day)} revision ${revision}, signed ${at.toISOString()}`;

export const isUnsigned = ({ signature }: Pick<ManifestRow, 'signature'>): boolean =>
  signature === null || signature === WITHDRAWN;

/** Whether it says that this key made it, and the key did not: of this text, in any case. */
export function contradicts(key: SigningKey, text: string, signature: string | null): boolean {
  const checked = signature === null ? null : key.check(Buffer.from(text), signature);
  return checked?.keyName === key.name && !checked.isRight;
}

export async function signatureNextTo(
  objects: ObjectStore,
  merchantNo: string,
  day: BusinessDay,
): Promise<string | null> {
  return signatureIn(await readText(objects, signatureKey(merchantNo, day)));
}

/** The text where it is a signature that can be stored, else null. */
export function signatureIn(text: string | null): string | null {
  if (text === null || text === '' || text === WITHDRAWN || storableText(text) !== text) return null;
  return isSignature(text) ? text : null;
}

export const isSignedWith = (key: SigningKey, text: string, signature: string | null): boolean =>
  signature !== null && key.check(Buffer.from(text), signature)?.isRight === true;

export const MANIFEST_CONTENT_TYPE = 'application/json';

export const manifestRow = (
  of: Pick<Manifest, 'merchantNo' | 'day' | 'revision' | 'epoch' | 'place'>,
  content: string,
): ManifestRow => ({
  ...{ merchant_no: of.merchantNo, day: of.day, object_key: manifestKey(of.merchantNo, of.day) },
  ...{ revision: of.revision, epoch: of.epoch, place: of.place, signature: null },
  ...{ sha256: sha256Of(content), byte_count: Buffer.byteLength(content), content },
});

type Past = Pick<PastOfDay, 'manifest' | 'previous' | 'waiting' | 'certificates' | 'lastInChain'>;

/**
 * The manifest that these rows call for: the recorded one where it says the same, else the next revision, which takes
 * the next place in the chain and is signed. Files in other formats have no rows: those that the recorded one lists stay
 * listed, and the rows bring the new ones.
 */
export function nextManifest(
  merchantNo: string,
  day: BusinessDay,
  rows: Pick<ManifestSources, 'statements' | 'summaries' | 'explained'> &
    Partial<Pick<ManifestSources, 'otherFormats'>>,
  { manifest: recorded, previous, waiting, certificates, lastInChain }: Past,
  options: PublishDayOptions,
): { readonly row: ManifestRow; readonly isNew: boolean } {
  const { lease, zone, timeZoneTrusted = false, checked = [], lateness = NOTHING_MEASURED } = options;
  const listed = recorded === undefined ? [] : otherFormatsIn(recorded);
  const otherFormats = new Map([...listed, ...(rows.otherFormats ?? [])]);
  const sources = {
    merchantNo,
    day,
    zone,
    timeZoneTrusted,
    ...rows,
    previous,
    waiting,
    certificates,
    otherFormats,
  };
  const before = recorded === undefined ? null : { row: recorded, manifest: parseManifest(recorded.content) };
  const manifest = before?.manifest ?? null;
  if (recorded !== undefined && manifest !== null && !isOutOfChain(recorded)) {
    // If only the checks of the run, what was measured since or the place in the chain differ, no new manifest is made.
    const { revision, epoch } = recorded;
    const { checked: checkedThen = [], final } = manifest;
    const same = { revision, epoch, checked: checkedThen, final, chain: chainFieldsOf(manifest) };
    if (manifestText({ ...sources, ...same }) === recorded.content) return { row: recorded, isNew: false };
    // Nor one that has the day read later, as after a restore: what was proven first stays.
    const earlier = earlierReadings(manifest, sources);
    if (earlier !== null && manifestText({ ...sources, ...same, certificates: earlier }) === recorded.content)
      return { row: recorded, isNew: false };
  }
  const next = {
    revision: (recorded?.revision ?? 0) + 1,
    epoch: lease.epoch,
    chain: nextInChain(before, lastInChain),
  };
  const all = checkedWith(manifest, currentOf(rows.statements), checked);
  const text = manifestText({ ...sources, checked: all, final: finalIn(day, lateness), ...next });
  const row = manifestRow({ merchantNo, day, ...next, place: next.chain.place }, text);
  return { row: signed(row, recorded?.signature ?? null, options), isNew: true };
}

/** The readings that a manifest names, if they cover the day as these do and are all earlier; else null. */
function earlierReadings(
  { day, certificates: recorded }: Manifest,
  { zone, certificates }: Pick<ManifestSources, 'zone' | 'certificates'>,
): ManifestSources['certificates'] | null {
  const isEarlier = recorded.every(({ certifiedAt }) =>
    certificates.every((own) => Date.parse(certifiedAt) < own.read_at.getTime()),
  );
  const own = certificates.map(({ begin_ms: beginMs, through_ms: endMs }) => ({ beginMs, endMs }));
  if (!isEarlier || ![recorded, own].every((windows) => covers(windows, dayWindow(day, zone)))) return null;
  return recorded.map(({ beginMs, endMs, total, distinct, quarantined, certifiedAt }) => ({
    ...{ begin_ms: beginMs, through_ms: endMs, total },
    ...{ entries: distinct, unreadable: quarantined, read_at: new Date(certifiedAt) },
  }));
}

/** What was checked of the same statements stays checked, whoever writes next. */
function checkedWith(
  before: Manifest | null,
  statements: readonly StatementName[],
  checked: readonly string[],
): readonly string[] {
  const missing = (before?.checked ?? []).filter((check) => !checked.includes(check));
  const isSame = before !== null && namesIn(before.statements) === namesIn(statements);
  return isSame && missing.length > 0
    ? [...checked, ...missing].sort((a, b) => placeOf(a) - placeOf(b))
    : checked;
}

const placeOf = (check: string): number => CHECKS.findIndex((one) => one === check);

type StatementName = Pick<StatementRow, 'currency' | 'sha256'>;

const namesIn = (statements: readonly StatementName[]): string =>
  statements.map(({ currency, sha256 }) => `${currency} ${sha256}`).join();

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
 * Writes the recorded manifest to the store, and its signature before it, so that no one finds the manifest without;
 * what was already read back from there (`known`) is not written again. Returns what was read back. If the store holds a
 * manifest that this database has forgotten, the row gets a higher number first.
 */
export async function writeManifest(
  recorded: ManifestRow,
  known: Readonly<Record<'manifest' | 'signature', StoredRow | undefined>>,
  fence: Fence,
  options: PublishDayOptions,
): Promise<StoredRow[]> {
  const { db, lease, objects } = options;
  const key = recorded.object_key;
  const { stored: signature, found: signedBefore } = await writeSignature(
    recorded,
    known.signature,
    fence,
    options,
  );
  if (known.manifest?.sha256 === recorded.sha256) return [...signature, known.manifest];
  const put = { fence, contentType: MANIFEST_CONTENT_TYPE };
  const written = await putOver(known.manifest, objects, key, recorded.content, put);
  if (written !== null) return [...signature, storedRow(recorded, key, written)];
  const text = (await readText(objects, key)) ?? '';
  const found = parseManifest(text);
  const isForgotten = found !== null && found.revision >= recorded.revision && !isBeyondBounds(found);
  const own = parseManifest(recorded.content)!;
  const before =
    isForgotten || isOfAnother(found, text, own)
      ? await forgotten(found!, text, recorded, signedBefore, options)
      : null;
  if (before?.manifest != null) assertDayAsStrong(before.manifest, own.statements, options);
  const row = before === null || !isForgotten ? recorded : above(before, recorded, options);
  if (row !== recorded)
    await writeTransaction(db, lease, (trx) => recordPublished(trx, row.merchant_no, { manifests: [row] }));
  const ownSignature =
    row === recorded ? signature : (await writeSignature(row, signature[0], fence, options)).stored;
  const stored = await putReplacing(objects, key, Buffer.from(row.content), put);
  return [...ownSignature, storedRow(row, key, stored)];
}

/** Whether a manifest has the revision of one that this database made, and other bytes. */
const isOfAnother = (found: Manifest | null, text: string, own: Manifest): boolean =>
  found !== null &&
  (own.supersededManifests ?? []).some(
    ({ revision, sha256 }) => revision === found.revision && sha256 !== sha256Of(text),
  );

/** What a statement proves. `sha256` null: its file differs from the one that is there. */
interface Proof {
  readonly currency: string;
  readonly verdict: string;
  readonly sha256: string | null;
}

/** The store holds a manifest that this database does not know, and that proves more than the one to be written. */
class StrongerPublished extends ExpectedError {
  override readonly name = 'StrongerPublished';
  readonly exitCode = EXIT.incomplete;
  constructor({ merchantNo, day }: Pick<Manifest, 'merchantNo' | 'day'>, how: string) {
    super(
      `${merchantNo} ${day}: the store holds a manifest that this database does not know, and that proves more: ${how}. ` +
        'It stays as it is. If this database was restored, run `daybook statements adopt`; otherwise stop the other program that publishes there.',
    );
  }
}

/** Of a manifest that this database does not know: throws `StrongerPublished` if it is continuous where this is broken, or had checks that this run leaves out. */
export function assertAsStrong(
  { merchantNo, day, statements, checked: checkedThere = [] }: Manifest,
  own: readonly Proof[],
  { checked = [] }: Pick<PublishDayOptions, 'checked'>,
): void {
  const there = new Map(statements.map((one) => [one.currency, one]));
  const broken = own.find(
    ({ currency, verdict }) =>
      verdict === 'broken' && (there.get(currency)?.verdict ?? 'broken') !== 'broken',
  );
  const isChanged = own.some(({ currency, sha256 }) => there.get(currency)?.sha256 !== sha256);
  const unchecked = isChanged ? checkedThere.filter((check) => !checked.includes(check)) : [];
  if (broken === undefined && unchecked.length === 0) return;
  throw new StrongerPublished(
    { merchantNo, day },
    broken === undefined
      ? `it was checked by ${unchecked.join(', ')}, which this run leaves out`
      : `${broken.currency} is continuous there and broken here`,
  );
}

/** The same for all statements of a day; an account that is missing here counts as well. */
export function assertDayAsStrong(
  found: Manifest,
  own: readonly Proof[],
  options: Pick<PublishDayOptions, 'checked'>,
): void {
  const missing = found.statements.find(({ currency }) => !own.some((one) => one.currency === currency));
  if (missing !== undefined)
    throw new StrongerPublished(found, `${missing.currency} is published there and not here`);
  assertAsStrong(found, own, options);
}

interface Forgotten extends Superseded {
  readonly signature: string | null;
}

/** With a key, what it says is believed only if that key signed it: anybody may have put it there, and what is taken over is signed. */
async function forgotten(
  found: Manifest,
  text: string,
  { merchant_no, day, signature: own }: ManifestRow,
  signedBefore: string | null,
  { objects, signingKey = null, onForeign }: PublishDayOptions,
): Promise<Forgotten> {
  const signature = own === null ? await readText(objects, signatureKey(merchant_no, day)) : signedBefore;
  const isBelieved = signingKey === null || isSignedWith(signingKey, text, signature);
  const row = { revision: found.revision, sha256: sha256Of(text) };
  if (!isBelieved) onForeign?.({ merchantNo: merchant_no, day, key: manifestKey(merchant_no, day), ...row });
  return { row, manifest: isBelieved ? found : null, signature };
}

/** Writes the signature that the row has, if any. Returns also what unexpectedly lay in its place before. */
async function writeSignature(
  row: ManifestRow,
  known: StoredRow | undefined,
  fence: Fence,
  { objects }: PublishDayOptions,
): Promise<{ readonly stored: StoredRow[]; readonly found: string | null }> {
  const { merchant_no, day, signature } = row;
  if (signature === null) return { stored: [], found: null };
  if (known?.sha256 === sha256Of(signature)) return { stored: [known], found: null };
  const key = signatureKey(merchant_no, day);
  const put = { fence, contentType: SIGNATURE_CONTENT_TYPE };
  const written = await putOver(known, objects, key, signature, put);
  if (written !== null) return { stored: [storedRow(row, key, written)], found: null };
  const found = await readText(objects, key);
  const replaced = await putReplacing(objects, key, Buffer.from(signature), put);
  return { stored: [storedRow(row, key, replaced)], found };
}

/** Writes a file in place of the known one, or where none is known to be. Null: another one is there, and stays. */
async function putOver(
  known: StoredRow | undefined,
  objects: ObjectStore,
  key: string,
  text: string,
  put: PutOptions,
): Promise<StoredDigest | null> {
  const condition =
    known === undefined ? { ifAbsent: true } : known.etag === null ? {} : { ifEtag: known.etag };
  try {
    return await objects.put(key, Buffer.from(text), { ...put, ...condition });
  } catch (error) {
    if (!(error instanceof ObjectExists)) throw error;
    return null;
  }
}

export const storedRow = (
  { merchant_no, day }: Pick<StoredRow, 'merchant_no' | 'day'>,
  key: string,
  { sha256, bytes, etag }: StoredDigest,
): StoredRow => ({
  ...{ merchant_no, day, object_key: key, sha256, byte_count: bytes, etag },
});

/** The same manifest, with a number above the one that was found. It names that one and itself as superseded. */
function above(found: Forgotten, recorded: ManifestRow, options: PublishDayOptions): ManifestRow {
  const before = parseManifest(recorded.content)!;
  const revision = found.row.revision + 1;
  const own = JSON.parse(recorded.content) as Manifest;
  const { format, merchantNo, day, epoch, timeZone, timeZoneProof, checked = [] } = own;
  const { final, statements, summary, certificates } = own;
  const supersededManifests = supersededWith([found, { row: recorded, manifest: before }]);
  const manifest = {
    ...{ format, merchantNo, day, revision, epoch, timeZone, timeZoneProof },
    checked: unlessEmpty(checkedWith(found.manifest, statements, checked)),
    ...chainFieldsOf({ ...before, supersededManifests }),
    ...{ final, statements, summary, certificates },
  };
  const row = manifestRow({ ...before, revision }, `${JSON.stringify(manifest, null, 2)}\n`);
  return signed(row, recorded.signature ?? found.signature, options);
}
