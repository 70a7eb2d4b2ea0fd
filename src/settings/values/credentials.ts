/** Checks credentials in settings: merchant number, token, agent number, secret keys, signing key. */
import { readSigningKey } from '../../signing.ts';
import { isMerchantNo, MERCHANT_NO_RULE, TOKEN, TOKEN_RULE } from '../../ledger/merchant-no.ts';
import type { SigningKey } from '../../ledger/signature.ts';
import { reading, text, Wrong } from './scalars.ts';

/** 32 bytes for AES-256-GCM. Stored secrets refer to the key by its id. */
export interface SecretKey {
  readonly id: string;
  readonly key: Buffer;
}

const SECRET_KEY_BYTES = 32;
/** 32 random bytes have 30 different values on average. Fewer than 16 occur once in 10^17 keys. */
const DIFFERENT_BYTES_MIN = 16;

export const merchantNo = () => text().refine(isMerchantNo, { error: MERCHANT_NO_RULE });

export const token = () => text().regex(TOKEN, { error: TOKEN_RULE });

/** Signs requests to the platform: its bytes are those of the text. */
export const signatureKey = () => text().regex(/^[^\p{C}]{1,4096}$/u, { error: 'must be one line of text' });

/** The agent's number that sp1101 sends (docs/platform.md 2.3, 5). */
export const referralChannel = () =>
  text().regex(/^[\x21-\x7e]{1,16}$/, {
    error: 'must be 1 to 16 printable ASCII characters without spaces',
  });

/** Why a key is surely not random, or null. Of random keys, less than one in billions is refused. */
function trivialityOf(key: Buffer): string | null {
  if (key.every((byte) => (byte >= 0x20 && byte < 0x7f) || (byte >= 0x09 && byte <= 0x0d))) return 'text';
  if (new Set(key).size < DIFFERENT_BYTES_MIN) return 'the same few bytes again and again';
  const steps = new Set(key.subarray(1).map((byte, index) => byte - key[index]!));
  if (steps.size === 1) return 'bytes that count up or down';
  return null;
}

/** `id:base64,...`. Messages name a key by its position: even its id might be a key put in the wrong place. */
export const secretKeys = () =>
  reading((value): readonly SecretKey[] => {
    const keys = value.split(',').map((part, index): SecretKey => {
      const which = `key ${index + 1}`;
      const [, id, base64] = /^([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/]+={0,2})$/.exec(part.trim()) ?? [];
      if (id === undefined || base64 === undefined) throw new Wrong(`has no id:base64 as ${which}`);
      const key = Buffer.from(base64, 'base64');
      if (key.length !== SECRET_KEY_BYTES) {
        throw new Wrong(`has ${key.length} bytes in ${which}, where ${SECRET_KEY_BYTES} are needed`);
      }
      const trivial = trivialityOf(key);
      if (trivial !== null) {
        throw new Wrong(`has no random bytes in ${which}: ${trivial}, which others can guess`);
      }
      return { id, key };
    });
    if (new Set(keys.map(({ id }) => id)).size < keys.length) throw new Wrong('gives two keys the same id');
    return keys;
  });

/** A secret key of minisign without a password: its line, or its complete file. */
export const signingKey = () =>
  reading((value): SigningKey => {
    const key = readSigningKey(value);
    if (typeof key === 'string') throw new Wrong(key);
    return key;
  });
