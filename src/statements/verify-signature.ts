/** Checks the signature that lies next to a manifest. */
import { readFile } from 'node:fs/promises';
import { nameOf, type PublicKey } from '../signing/keys.ts';
import { isSignedBy, readSignature } from '../signing/signatures.ts';
import { SIGNATURE_EXTENSION } from './keys.ts';
import { WITHDRAWN } from './sign-manifest.ts';

/** What is wrong with the signature of the manifest at this path; null if one of the keys made it. */
export async function signatureProblem(
  path: string,
  content: Uint8Array,
  keys: readonly PublicKey[],
): Promise<string | null> {
  let text: string;
  try {
    text = await readFile(path + SIGNATURE_EXTENSION, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return `it is not signed: there is no ${SIGNATURE_EXTENSION} file next to it`;
  }
  if (text === WITHDRAWN) return 'it is not signed: it was published without the key';
  const signature = readSignature(text);
  if (signature === null) return 'its signature cannot be read';
  const own = keys.filter(({ id }) => id.equals(signature.keyId));
  if (own.length === 0) {
    return (
      `it is signed by another key, ${nameOf(signature.keyId)}; given ${keys.length === 1 ? 'is' : 'are'} ` +
      keys.map(({ id }) => nameOf(id)).join(', ')
    );
  }
  return own.some((key) => isSignedBy(content, signature, key))
    ? null
    : 'it is wrongly signed: the manifest or its signature was changed';
}
