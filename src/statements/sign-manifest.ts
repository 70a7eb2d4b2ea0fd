/** Signs manifests: the text of the signature file that lies next to each. */
import type { BusinessDay } from '../ledger/entry.ts';
import { storableText } from '../ledger/text.ts';
import { readText, type ObjectStore } from '../objects/object-store.ts';
import { publicKeyOf, readPublicKey, type SigningKey } from '../signing/keys.ts';
import { isSignedBy, readSignature, signatureFile } from '../signing/signatures.ts';
import type { ManifestRow } from '../store/statements/stored-files.ts';
import { manifestKey, signatureKey } from './keys.ts';

export interface SigningOptions {
  /** If left out or null, manifests are not signed. */
  readonly signingKey?: SigningKey | null;
  readonly now: () => Date;
}

export const SIGNATURE_CONTENT_TYPE = 'text/plain; charset=utf-8';

/** What takes the place of a signature that is none any more. No program takes it for a signature. */
export const WITHDRAWN =
  'untrusted comment: the manifest of this file was replaced, and the new one is not signed\n';

/**
 * The row with its signature. `before` is the signature that lies in the store: without a key it would be one of another
 * manifest, so a note takes its place.
 */
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
      : signatureFile(Buffer.from(row.content), commentOn(row, now()), signingKey);
  return { ...row, signature };
}

/** What a person wants to know: whose manifest of which day, which revision, and when it was signed. */
const commentOn = ({ merchant_no, day, revision }: ManifestRow, at: Date): string =>
  `${manifestKey(merchant_no, day)} revision ${revision}, signed ${at.toISOString()}`;

/** Whether a manifest was published without a signature. */
export const isUnsigned = ({ signature }: Pick<ManifestRow, 'signature'>): boolean =>
  signature === null || signature === WITHDRAWN;

/** Whether it says that this key made it, and the key did not: of this text, in any case. */
export function contradicts(key: SigningKey, text: string, signature: string | null): boolean {
  const read = signature === null ? null : readSignature(signature);
  return read?.keyId.equals(key.id) === true && !isSignedWith(key, text, signature);
}

/** The signature that lies next to a manifest, whoever made it; null if there is none that can be read. */
export async function signatureNextTo(
  objects: ObjectStore,
  merchantNo: string,
  day: BusinessDay,
): Promise<string | null> {
  const text = (await readText(objects, signatureKey(merchantNo, day))) ?? '';
  return readSignature(text) === null || storableText(text) !== text ? null : text;
}

/** Whether this is the key's own signature of the text. */
export function isSignedWith(key: SigningKey, text: string, signature: string | null): boolean {
  const read = signature === null ? null : readSignature(signature);
  return read !== null && isSignedBy(Buffer.from(text), read, readPublicKey(publicKeyOf(key))!);
}
