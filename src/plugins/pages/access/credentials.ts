/** Checks credentials in the settings of the pages: hashed passwords, roles, names of headers and claims. */
import { z } from 'zod';
import { isMerchantNo } from '../../../ledger/merchant-no.ts';
import { isPersonName, type Grant } from '../../../ledger/people.ts';
import { jsonText, reading, text, Wrong } from '../../../settings/values/scalars.ts';

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
