/** Key pairs and detached signatures as minisign writes them: the secret key without a password, and the public key (`RW...`). */
import { createPrivateKey, createPublicKey, type KeyObject, createHash, sign, verify } from 'node:crypto';
import type { PublicKey, SigningKey } from './ledger/signature.ts';
import { showableText } from './ledger/text.ts';

interface KeyPair {
  readonly id: string;
  readonly secretKey: string;
  readonly publicKey: string;
}

export const ID_BYTES = 8;
export const SEED_BYTES = 32;
const ALGORITHM = Buffer.from('Ed');
const NO_PASSWORD = Buffer.alloc(2);
const CHECKSUM = Buffer.from('B2');
/** Salt and limits of the password's hash. Unused without a password. */
const UNUSED = Buffer.alloc(32 + 8 + 8);
const HEAD_BYTES = ALGORITHM.length + NO_PASSWORD.length + CHECKSUM.length + UNUSED.length;
/** Without a password, minisign writes no checksum and reads none: the public half in the key proves it intact. */
const NO_CHECKSUM = Buffer.alloc(32);
const POINT_BYTES = 32;
const SECRET_BYTES = HEAD_BYTES + ID_BYTES + SEED_BYTES + POINT_BYTES + NO_CHECKSUM.length;
const PUBLIC_BYTES = ALGORITHM.length + ID_BYTES + POINT_BYTES;

export function keyPairOf(seed: Buffer, id: Buffer): KeyPair {
  const point = pointOf(seed);
  const secret = [ALGORITHM, NO_PASSWORD, CHECKSUM, UNUSED, id, seed, point, NO_CHECKSUM];
  return {
    id: nameOf(id),
    secretKey: Buffer.concat(secret).toString('base64'),
    publicKey: publicText(id, point),
  };
}

const nameOf = (id: Buffer): string => Buffer.from(id).reverse().toString('hex').toUpperCase();

export const keyFile = (half: 'secret' | 'public', { id, secretKey, publicKey }: KeyPair): string =>
  half === 'secret'
    ? `untrusted comment: minisign secret key ${id}, for DAYBOOK_SIGNING_KEY\n${secretKey}\n`
    : `untrusted comment: minisign public key ${id}\n${publicKey}\n`;

/** Id and seed of a secret key, given as its line or its complete file. Otherwise the problem, without any of its text. */
function secretIn(text: string): Record<'id' | 'seed', Buffer> | string {
  const bytes = bytesIn(text);
  if (bytes.length !== SECRET_BYTES || !bytes.subarray(0, 2).equals(ALGORITHM))
    return bytes.length === PUBLIC_BYTES ? 'is a public key, where the secret one is needed' : NOT_SECRET;
  if (!bytes.subarray(2, 4).equals(NO_PASSWORD))
    return 'is encrypted with a password, which a scheduled run cannot enter: make a pair with `daybook statements keygen`';
  const own = bytes.subarray(HEAD_BYTES);
  const id = own.subarray(0, ID_BYTES);
  const seed = own.subarray(ID_BYTES, ID_BYTES + SEED_BYTES);
  const point = own.subarray(ID_BYTES + SEED_BYTES).subarray(0, POINT_BYTES);
  return pointOf(seed).equals(point)
    ? { id, seed }
    : 'is damaged: its secret half and its public half do not belong together';
}

const NOT_SECRET = 'is no secret key of minisign; `daybook statements keygen` makes one';

export const isSecretKey = (text: string): boolean => typeof secretIn(text) !== 'string';

/** Reads a secret key, given as its line or its complete file. Otherwise the problem, without any of its text. */
export function readSigningKey(text: string): SigningKey | string {
  const secret = secretIn(text);
  if (typeof secret === 'string') return secret;
  const { id, seed } = secret;
  const key = privateKeyOf(seed);
  return {
    ...publicKeyOf(id, createPublicKey(key)),
    sign: (content, comment) => signatureFile(content, comment, { id, key }),
  };
}

/** Reads a public key, given as its line or its complete file; null if it is none. */
export function readPublicKey(text: string): PublicKey | null {
  const bytes = bytesIn(text);
  if (bytes.length !== PUBLIC_BYTES || !bytes.subarray(0, 2).equals(ALGORITHM)) return null;
  const x = bytes.subarray(2 + ID_BYTES).toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  return publicKeyOf(bytes.subarray(2, 2 + ID_BYTES), key);
}

const publicKeyOf = (id: Buffer, key: KeyObject): PublicKey => ({
  name: nameOf(id),
  text: publicText(id, pointIn(key)),
  check: (content, text) => {
    const signature = readSignature(text);
    return (
      signature && {
        keyName: nameOf(signature.keyId),
        isRight: signature.keyId.equals(id) && isSignedBy(content, signature, key),
      }
    );
  },
});

function bytesIn(text: string): Buffer {
  const lines = text.trim().split(/\r?\n/);
  const [line = '', ...more] = lines[0]!.startsWith('untrusted comment:') ? lines.slice(1) : lines;
  return more.length === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(line)
    ? Buffer.from(line, 'base64')
    : Buffer.alloc(0);
}

const publicText = (id: Buffer, point: Buffer): string =>
  Buffer.concat([ALGORITHM, id, point]).toString('base64');

/** What every Ed25519 key in PKCS #8 starts with; the seed follows. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

const privateKeyOf = (seed: Buffer): KeyObject =>
  createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' });

const pointOf = (seed: Buffer): Buffer => pointIn(createPublicKey(privateKeyOf(seed)));

const pointIn = (key: KeyObject): Buffer => Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url');

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
function signatureFile(
  content: Uint8Array,
  trustedComment: string,
  { id, key }: { readonly id: Buffer; readonly key: KeyObject },
): string {
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

/** Whether the text is a `.minisig` file, of whatever key. */
export const isSignature = (text: string): boolean => readSignature(text) !== null;

function readSignature(text: string): Signature | null {
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
function isSignedBy(
  content: Uint8Array,
  { algorithm, signature, trustedComment, global }: Signature,
  key: KeyObject,
): boolean {
  const signed = algorithm.equals(OF_HASH) ? hashOf(content) : content;
  return (
    verify(null, signed, key, signature) &&
    verify(null, Buffer.concat([signature, Buffer.from(trustedComment)]), key, global)
  );
}

const hashOf = (content: Uint8Array): Buffer => createHash('blake2b512').update(content).digest();
