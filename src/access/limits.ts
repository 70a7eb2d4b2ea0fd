/** How often somebody may try to log in. Strict, as a person logs in once a day. */
import { createHmac } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import rateLimit from '@fastify/rate-limit';
import type { Credentials } from './identify.ts';
import { TooManyChecks, type PasswordCheck } from './passwords.ts';

/** From one address; of IPv6 from one /64. */
const OF_ADDRESS = { max: 10, timeWindow: 5 * 60_000 } as const;
/** For one name, from wherever. */
const OF_NAME = { max: 20, timeWindow: 15 * 60_000 } as const;
/** Beginnings of a login at the provider, and returns from there. */
export const OF_PROVIDER = { max: 30, timeWindow: 5 * 60_000 } as const;

/** `tooMany`: the password was not looked at. */
export type Tried = 'right' | 'wrong' | 'tooMany';

export type LimitedCheck = (
  request: FastifyRequest,
  credentials: Credentials,
  options?: { readonly isEach?: boolean },
) => Promise<Tried>;

export interface LimitedCheckDeps {
  /** Names that have a password. */
  readonly users: ReadonlySet<string>;
  readonly isRight: PasswordCheck;
  /** Random, for this process alone: pairs that were right are remembered under it. */
  readonly key: Buffer;
}

/**
 * Counts each try of a form. Programs send name and password with every request (`isEach`): a pair that was right before
 * counts no more, as long as nobody tries too often. Only names that somebody has are counted, so that strangers cannot
 * fill the memory with others.
 */
export async function limitedCheck(
  server: FastifyInstance,
  { users, isRight, key }: LimitedCheckDeps,
): Promise<LimitedCheck> {
  await server.register(rateLimit, { global: false });
  const names = new WeakMap<FastifyRequest, string>();
  const nameOf = (request: FastifyRequest): string => names.get(request) ?? '';
  const limits = [
    server.createRateLimit(OF_ADDRESS),
    server.createRateLimit({ ...OF_NAME, keyGenerator: nameOf }),
  ];
  const isExceeded = async (request: FastifyRequest, isTry: boolean): Promise<boolean> => {
    for (const limit of users.has(nameOf(request)) ? limits : limits.slice(0, 1)) {
      const counted = await limit(request, { increment: isTry });
      // A look tells how many tries there were, a try counts itself.
      if (!counted.isAllowed && (counted.isExceeded || (!isTry && counted.remaining === 0))) return true;
    }
    return false;
  };
  const proven = new Map<string, string>();
  return async (request, { name, password }, { isEach = false } = {}) => {
    names.set(request, name);
    const pair = createHmac('sha256', key)
      .update(JSON.stringify([name, password]))
      .digest('base64');
    if (isEach && !(await isExceeded(request, false)) && proven.get(name) === pair) return 'right';
    if (await isExceeded(request, true)) return 'tooMany';
    try {
      if (!(await isRight(name, password))) return 'wrong';
      proven.set(name, pair);
      return 'right';
    } catch (error) {
      if (error instanceof TooManyChecks) return 'tooMany';
      throw error;
    }
  };
}
