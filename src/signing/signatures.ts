/** Detached signatures as minisign writes and reads them. */
import { createHash, sign, verify } from 'node:crypto';
import { showableText } from '../ledger/text.ts';
import { ID_BYTES, nameOf, type PublicKey, type SigningKey } from './keys.ts';

/** Of the hash of a file, and of the file itself: the older way. */
const OF_HASH = Buffer.from('ED');
const OF_FILE = Buffer.from('Ed');
const SIGNATURE_BYTES = 64;
const UNTRUSTED = 'untrusted comment: ';
const TRUSTED = 'trusted comment: ';

interface Signature {
  readonly algorithm: Buffer;
  readonly keyId: Buffer;
  readonly signature: Buffer;
  readonly trustedComment: string;
  /** Of the signature together with its trusted comment. */
  readonly global: Buffer;
}

/** Signs the content: the text of its `.minisig` file. Characters that would end the comment's line are spelled out. */
export function signatureFile(content: Uint8Array, trustedComment: string, { id, key }: SigningKey): string {
  const comment = showableText(trustedComment);
  const signature = sign(null, hashOf(content), key);
  const global = sign(null, Buffer.concat([signature, Buffer.from(comment)]), key);
  return [
    `${UNTRUSTED}signed by daybook, key ${nameOf(id)}`,
    Buffer.concat([OF_HASH, id, signature]).toString('base64'),
    `${TRUSTED}${comment}`,
    global.toString('base64'),
    '',
  ].join('\n');
}

/** Reads a `.minisig` file; null if it is none. */
export function readSignature(text: string): Signature | null {
  const [untrusted = '', own = '', trusted = '', globalText = '', ...more] = text.split(/\r?\n/);
  const bytes = Buffer.from(own, 'base64');
  const global = Buffer.from(globalText, 'base64');
  const algorithm = bytes.subarray(0, 2);
  if (
    more.join('') !== '' ||
    !untrusted.startsWith(UNTRUSTED) ||
    !trusted.startsWith(TRUSTED) ||
    bytes.length !== 2 + ID_BYTES + SIGNATURE_BYTES ||
    global.length !== SIGNATURE_BYTES ||
    !(algorithm.equals(OF_HASH) || algorithm.equals(OF_FILE))
  ) {
    return null;
  }
  return {
    algorithm,
    keyId: bytes.subarray(2, 2 + ID_BYTES),
    signature: bytes.subarray(2 + ID_BYTES),
    trustedComment: trusted.slice(TRUSTED.length),
    global,
  };
}

/** Whether the key made this signature of this content, its trusted comment included. */
export function isSignedBy(
  content: Uint8Array,
  { algorithm, keyId, signature, trustedComment, global }: Signature,
  { id, key }: PublicKey,
): boolean {
  const signed = algorithm.equals(OF_HASH) ? hashOf(content) : content;
  return (
    keyId.equals(id) &&
    verify(null, signed, key, signature) &&
    verify(null, Buffer.concat([signature, Buffer.from(trustedComment)]), key, global)
  );
}

const hashOf = (content: Uint8Array): Buffer => createHash('blake2b512').update(content).digest();
