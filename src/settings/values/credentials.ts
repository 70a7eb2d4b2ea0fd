/**
 * Checks credentials in settings: merchant number, token, agent number, secret keys, signing key; and who may log in at
 * the pages: hashed passwords, roles, names of headers and claims.
 */
import { readSigningKey } from '../../signing.ts';
import { z } from 'zod';
import { isMerchantNo, MERCHANT_NO_RULE, TOKEN, TOKEN_RULE } from '../../ledger/merchant-no.ts';
import type { SigningKey } from '../../ledger/signature.ts';
import { reading, text, Wrong, jsonText } from './scalars.ts';

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

/** What a person may see and do at the pages. */
export interface Grant {
  readonly role: 'viewer' | 'operator';
  /** Null: all. */
  readonly merchants: readonly string[] | null;
}

/** A hashed password, as `daybook access hash` makes it. */
export interface PasswordHash {
  /** Logarithm to base 2 of scrypt's N; then its r and p. */
  readonly cost: number;
  readonly blockSize: number;
  readonly parallel: number;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

const ENTRIES_MAX = 1_000;
const NAME_CHARACTERS_MAX = 100;
const SALT_BYTES_MIN = 16;
const HASH_BYTES = 32;
/** What a hash may cost, in memory: 128 * r * 2^cost bytes. */
const MEMORY_BYTES_MAX = 256 * 1_024 * 1_024;

/** `scrypt:COST:R:P:SALT:HASH`, salt and hash in base64url: cost is the logarithm of scrypt's N. */
const HASH = /^scrypt:(\d{2}):(\d{1,2}):(\d{1,2}):([A-Za-z0-9_-]+):([A-Za-z0-9_-]+)$/;

/** Null if the text is no hash that `daybook access hash` could have made. */
function hashFrom(text: string): PasswordHash | null {
  const [, cost, blockSize, parallel, salt = '', hash = ''] = HASH.exec(text) ?? [];
  const read: PasswordHash = {
    ...{ cost: Number(cost), blockSize: Number(blockSize), parallel: Number(parallel) },
    salt: Buffer.from(salt, 'base64url'),
    hash: Buffer.from(hash, 'base64url'),
  };
  const isStrong = read.cost >= 14 && read.blockSize >= 8 && read.parallel >= 1;
  const isBearable = 128 * read.blockSize * 2 ** read.cost <= MEMORY_BYTES_MAX && read.parallel <= 16;
  const isComplete = read.salt.length >= SALT_BYTES_MIN && read.hash.length === HASH_BYTES;
  return isStrong && isBearable && isComplete ? read : null;
}

/** Characters that cannot be seen or end a line, and the comma, which would make two headers resemble one name. */
const NOT_IN_NAMES = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point},]/u;

/** Whether it can be a person's name, or a group's. One name is written in one way: composed, as Unicode's NFC has it. */
export const isPersonName = (text: string): boolean =>
  text.length >= 1 &&
  text.length <= NAME_CHARACTERS_MAX &&
  text.trim() === text &&
  text === text.normalize('NFC') &&
  !NOT_IN_NAMES.test(text);

/** A mapping with few keys, each of them a name. Gives one problem, and shows no value. */
const named = <Value>(read: (value: unknown) => Value | null, error: string) =>
  z.preprocess(
    jsonText,
    z.record(z.string(), z.unknown(), { error }).transform((mapping, context): ReadonlyMap<string, Value> => {
      const entries = Object.entries(mapping);
      const values = entries.flatMap(([name, value]) => {
        const one = isPersonName(name) ? read(value) : null;
        return one === null ? [] : [[name, one] as const];
      });
      if (values.length === entries.length && entries.length <= ENTRIES_MAX) return new Map(values);
      context.issues.push({ code: 'custom', message: error, input: undefined });
      return z.NEVER;
    }),
  );

export const hashedPasswords = () =>
  named(
    (value) => (typeof value === 'string' ? hashFrom(value) : null),
    "must map names to what 'daybook access hash' prints (in the environment: JSON)",
  );

const ROLE = z.enum(['viewer', 'operator']);
const grant = z.union([
  ROLE.transform((role): Grant => ({ role, merchants: null })),
  z.strictObject({
    role: ROLE,
    merchants: z.array(z.string().refine(isMerchantNo)).min(1).nullable().default(null),
  }),
]);

export const roles = () =>
  named(
    (value) => grant.safeParse(value).data ?? null,
    'must map names, group:NAME or * to viewer, operator, or a role with merchants (in the environment: JSON)',
  );

/** The name of a request's header. */
export const headerName = () =>
  reading((value) => {
    const name = value.toLowerCase();
    if (!/^[a-z][a-z0-9-]{0,99}$/.test(name)) throw new Wrong('must be the name of a header');
    if (['authorization', 'cookie', 'host', 'x-forwarded-for'].includes(name))
      throw new Wrong(
        'must be a header of its own, which the proxy sets and takes away from what others send',
      );
    return name;
  });

/** An OpenID Connect client's id, its secret, or the name of a claim. */
export const clientText = () =>
  text().regex(/^[\x21-\x7e]{1,500}$/, { error: 'must be printable ASCII without spaces' });
