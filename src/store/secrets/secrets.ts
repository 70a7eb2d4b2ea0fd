/**
 * Encrypts secrets for the database with AES-256-GCM. A ciphertext names the id of its key and can only be read in
 * its own row and column.
 */
import { EXIT, ExpectedError } from '../../ledger/ending.ts';
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

export interface SecretKey {
  /** Stored in every ciphertext, so that keys can be added and removed. */
  readonly id: string;
  /** 32 bytes. */
  readonly key: Buffer;
}

/** The place where a secret is stored. A ciphertext that is copied to another place cannot be read there. */
export interface SecretPlace {
  readonly table: string;
  readonly row: string;
  readonly column: string;
}

/** The settings lack a key that is needed. */
export class UnknownSecretKey extends ExpectedError {
  override readonly name = 'UnknownSecretKey';
  readonly exitCode = EXIT.usage;
}

/** The ciphertext is not what was written at this place with that key. */
export class SecretUnreadable extends ExpectedError {
  override readonly name = 'SecretUnreadable';
  readonly exitCode = EXIT.usage;
}

const FORMAT = 'v1';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts with the first key. Returns `v1:<key id>:<nonce>:<tag>:<ciphertext>`. Throws `UnknownSecretKey` if there
 * is no key.
 */
export function encryptSecret(keys: readonly SecretKey[], place: SecretPlace, secret: string): string {
  const [first] = keys;
  if (first === undefined) {
    throw new UnknownSecretKey(
      'no key to encrypt with: set DAYBOOK_SECRET_KEYS to id:base64 with 32 random bytes, ' +
        'such as `k1:$(head -c 32 /dev/urandom | base64)`.',
    );
  }
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', first.key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(boundTo(first.id, place));
  const ciphertext = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
  const parts = [nonce, cipher.getAuthTag(), ciphertext].map((part) => part.toString('base64'));
  return [FORMAT, first.id, ...parts].join(':');
}

/** Decrypts what `encryptSecret` wrote for the same place. Throws `UnknownSecretKey` or `SecretUnreadable`. */
export function decryptSecret(keys: readonly SecretKey[], place: SecretPlace, stored: string): string {
  const [format, keyId, nonce, tag, ciphertext, ...more] = stored.split(':');
  if (format !== FORMAT || keyId === undefined || ciphertext === undefined || more.length > 0) {
    throw new SecretUnreadable(`${nameOf(place)} is not in a form this version can read.`);
  }
  const found = keys.find(({ id }) => id === keyId);
  if (found === undefined) {
    throw new UnknownSecretKey(
      `${nameOf(place)} was encrypted with key "${keyId}", which DAYBOOK_SECRET_KEYS does not have; ` +
        'put it back after the key in use.',
    );
  }
  try {
    const decipher = createDecipheriv('aes-256-gcm', found.key, Buffer.from(nonce!, 'base64'), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(boundTo(keyId, place));
    decipher.setAuthTag(Buffer.from(tag!, 'base64'));
    return decipher.update(ciphertext, 'base64', 'utf8') + decipher.final('utf8');
  } catch {
    throw new SecretUnreadable(
      `${nameOf(place)} cannot be read with key "${keyId}": the key has changed, or the row was altered; ` +
        'put the key it was written with into DAYBOOK_SECRET_KEYS under that id.',
    );
  }
}

const boundTo = (keyId: string, { table, row, column }: SecretPlace): Buffer =>
  Buffer.from(JSON.stringify([FORMAT, keyId, table, row, column]));

const nameOf = ({ table, row, column }: SecretPlace): string => `${column} of ${table} ${row}`;
