/** Hashed passwords, by scrypt: making one for the settings, and checking a typed one. */
import { scrypt, timingSafeEqual } from 'node:crypto';
import type { PasswordHash } from '../settings/values/access.ts';

const HASH_BYTES = 32;
export const SALT_BYTES = 16;
/** 32 MB and about a tenth of a second, what OWASP asks of scrypt. */
const COST = { cost: 15, blockSize: 8, parallel: 3 } as const;

type Parameters = Pick<PasswordHash, 'cost' | 'blockSize' | 'parallel' | 'salt'>;

const hashOf = (password: string, { cost, blockSize, parallel, salt }: Parameters): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const [N, r, p] = [2 ** cost, blockSize, parallel];
    const maxmem = 2 * 128 * N * r;
    scrypt(password.normalize('NFKC'), salt, HASH_BYTES, { N, r, p, maxmem }, (error, hash) => {
      if (error === null) resolve(hash);
      else reject(error);
    });
  });

/** The hash of a password for DAYBOOK_ACCESS_USERS: `scrypt:15:8:3:SALT:HASH`. `salt` is random. */
export async function hashPassword(password: string, salt: Buffer): Promise<string> {
  const hash = await hashOf(password, { ...COST, salt });
  const { cost, blockSize, parallel } = COST;
  return ['scrypt', cost, blockSize, parallel, salt.toString('base64url'), hash.toString('base64url')].join(
    ':',
  );
}

/** Whether a name has this password. */
export type PasswordCheck = (name: string, password: string) => Promise<boolean>;

/** What a hash takes of time, in scrypt's own measure. */
const workOf = ({ cost, blockSize, parallel }: Parameters): number => 2 ** cost * blockSize * parallel;

/**
 * An unknown name takes as long as the one whose hash takes longest: its password is compared with a hash that
 * nothing fits.
 */
export function createPasswordCheck(users: ReadonlyMap<string, PasswordHash>): PasswordCheck {
  const [costliest] = [...users.values()].sort((a, b) => workOf(b) - workOf(a));
  const nobodys = { ...COST, ...costliest, salt: Buffer.alloc(SALT_BYTES), hash: Buffer.alloc(HASH_BYTES) };
  return async (name, password) => {
    const known = users.get(name);
    const { hash, ...parameters } = known ?? nobodys;
    const isSame = timingSafeEqual(await hashOf(password, parameters), hash);
    return isSame && known !== undefined;
  };
}
