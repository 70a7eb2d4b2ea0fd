/** Who we are to the platform, and what keeps secrets. */
import { MERCHANT_NO, MERCHANT_NO_RULE, TOKEN, TOKEN_RULE } from '../../ledger/merchant-no.ts';
import type { SecretKey } from '../settings.ts';
import { reading, text, Wrong } from './reading.ts';

const SECRET_KEY_BYTES = 32;
/** 32 random bytes have 30 different values on average; fewer than 16 come once in 10^17 keys. */
const DIFFERENT_BYTES_MIN = 16;

export const merchantNo = () => text().regex(MERCHANT_NO, { error: MERCHANT_NO_RULE });

export const token = () => text().regex(TOKEN, { error: TOKEN_RULE });

/** The agent number sp1101 carries (docs/platform.md 2.3, 5). */
export const referralChannel = () =>
  text().regex(/^[\x21-\x7e]{1,16}$/, {
    error: 'must be 1 to 16 printable ASCII characters without spaces',
  });

/** Why a key was not drawn at random; null for all but one random key in billions. */
function trivialityOf(key: Buffer): string | null {
  if (key.every((byte) => (byte >= 0x20 && byte < 0x7f) || (byte >= 0x09 && byte <= 0x0d))) return 'text';
  if (new Set(key).size < DIFFERENT_BYTES_MIN) return 'the same few bytes again and again';
  const steps = new Set(key.subarray(1).map((byte, index) => byte - key[index]!));
  if (steps.size === 1) return 'bytes that count up or down';
  return null;
}

/** `id:base64,...`, told apart by position in messages, as even an id may be a key put in the wrong place. */
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
