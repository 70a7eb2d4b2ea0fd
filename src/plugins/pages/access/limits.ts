/** Limits of wrong names or passwords. Strict, as a person logs in once a day. */
import { createHmac } from 'node:crypto';
import rateLimit, { normalizeIP } from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest, FastifyReply } from 'fastify';
import type { AccessSettings } from '../settings.ts';
import { type Person, AccessRefused } from './access.ts';
import type { Devices } from './devices.ts';
import { type PasswordCheck, type Credentials, credentialsIn, personWithRole } from './identity.ts';
import { createTurns, TooManyChecks } from './turns.ts';

/** What a limit counts by. */
const bySender =
  (bits: number) =>
  ({ sender }: FastifyRequest): string =>
    normalizeIP(sender, bits);

/** From one address (of IPv6 from one /64), or in one browser that is known for the name. */
const OF_ADDRESS = { max: 10, timeWindow: 5 * 60_000 } as const;
/** What one customer of a provider may have of IPv6. */
const NETWORK_BITS = 48;
/** From one network of IPv6. */
const OF_NETWORK = { max: 40, timeWindow: 5 * 60_000, keyGenerator: bySender(NETWORK_BITS) } as const;
/** For one name, from wherever it was not right before. */
const OF_NAME = { max: 20, timeWindow: 15 * 60_000 } as const;
/** Addresses, of IPv6 a /64, that are remembered of a name because it was right there. */
const PLACES_OF_NAME_MAX = 100;
const PLACE_BITS = 64;
/** Beginnings of a login at the provider, and returns from there: those of an office share one address. */
export const OF_PROVIDER = { max: 200, timeWindow: 5 * 60_000 } as const;

/** `tooMany`: the password was not checked. */
type Tried = 'right' | 'wrong' | 'tooMany';

export type LimitedCheck = (request: FastifyRequest, credentials: Credentials) => Promise<Tried>;

interface LimitedCheckDeps {
  /** Names that have a password. */
  readonly users: ReadonlySet<string>;
  readonly isRight: PasswordCheck;
  /** Random, for this process alone: names are counted, and pairs that were right are remembered under it. */
  readonly key: Buffer;
  readonly devices: Pick<Devices, 'idOf'>;
  /** Called for each password that was checked and is wrong; null for an unknown name. */
  readonly onWrong: (request: FastifyRequest, name: string | null) => Promise<void>;
}

/**
 * Wrong tries count, right ones do not: an office may share one address. A pair that was right is not checked
 * again, which is for programs that send it with every request, and one check serves requests side by side. Names are
 * counted alike whether they exist or not, but apart, so that attackers cannot push known names out of the memory.
 * A browser in which the name logged in before has a count of its own, and none but that: neither unknown senders who guess the
 * name nor those behind the same address lock its people out there. The count of a name is for other places alone.
 */
export async function limitedCheck(
  server: FastifyInstance,
  { users, isRight, key, devices, onWrong }: LimitedCheckDeps,
): Promise<LimitedCheck> {
  await server.register(rateLimit, { global: false, keyGenerator: bySender(PLACE_BITS) });
  const secret = (text: string): string => createHmac('sha256', key).update(text).digest('base64');
  const names = new WeakMap<FastifyRequest, string>();
  const nameOf = (request: FastifyRequest): string => names.get(request)!;
  const deviceOf = (request: FastifyRequest): string | null => devices.idOf(request, nameOf(request));
  const ofName = { ...OF_NAME, keyGenerator: (request: FastifyRequest) => secret(nameOf(request)) };
  const ofPlaces = [server.createRateLimit(OF_ADDRESS), server.createRateLimit(OF_NETWORK)];
  const ofDevice = server.createRateLimit({ ...OF_ADDRESS, keyGenerator: (request) => deviceOf(request)! });
  const [ofKnown, ofUnknown] = [server.createRateLimit(ofName), server.createRateLimit(ofName)];
  const ownPlaces = createOwnPlaces();
  const limitsOf = (request: FastifyRequest) => {
    if (deviceOf(request) !== null) return [ofDevice];
    if (ownPlaces.has(nameOf(request), request.sender)) return ofPlaces;
    return [...ofPlaces, users.has(nameOf(request)) ? ofKnown : ofUnknown];
  };
  const isExceeded = async (request: FastifyRequest): Promise<boolean> => {
    for (const limit of limitsOf(request)) {
      const counted = await limit(request, { increment: false });
      if (!counted.isAllowed && counted.remaining === 0) return true;
    }
    return false;
  };
  const inTurn = createTurns();
  const proven = new Map<string, string>();
  const running = new Map<string, Promise<Tried>>();

  const checked = async (
    request: FastifyRequest,
    { name, password }: Credentials,
    pair: string,
  ): Promise<Tried> => {
    // Others were found wrong while this one waited, or the sender is gone.
    if (request.raw.socket.destroyed || (await isExceeded(request))) return 'tooMany';
    if (await isRight(name, password)) {
      proven.set(name, pair);
      ownPlaces.add(name, request.sender);
      return 'right';
    }
    for (const limit of limitsOf(request)) await limit(request);
    await onWrong(request, users.has(name) ? name : null);
    return 'wrong';
  };

  return async (request, credentials) => {
    const { name, password } = credentials;
    names.set(request, name);
    const pair = secret(JSON.stringify([name, password]));
    if (await isExceeded(request)) return 'tooMany';
    if (proven.get(name) === pair) {
      ownPlaces.add(name, request.sender);
      return 'right';
    }
    const device = deviceOf(request);
    const from = device ?? normalizeIP(request.sender, NETWORK_BITS);
    const check = `${device ?? request.sender} ${pair}`;
    const begun =
      running.get(check) ??
      inTurn({ network: from, isKnown: device !== null }, () => checked(request, credentials, pair))
        .catch((error: unknown): Tried => {
          if (error instanceof TooManyChecks) return 'tooMany';
          throw error;
        })
        .finally(() => running.delete(check));
    running.set(check, begun);
    return begun;
  };
}

/** Where each name was right: its latest places. Only names that have a password get here, so it stays small. */
function createOwnPlaces() {
  const placesOf = new Map<string, Set<string>>();
  const placeOf = (address: string): string => normalizeIP(address, PLACE_BITS);
  return {
    has: (name: string, address: string): boolean => placesOf.get(name)?.has(placeOf(address)) === true,
    add: (name: string, address: string): void => {
      const places = placesOf.get(name) ?? new Set();
      const place = placeOf(address);
      places.delete(place);
      placesOf.set(name, places.add(place));
      const [oldest] = places;
      if (places.size > PLACES_OF_NAME_MAX) places.delete(oldest!);
    },
  };
}

/** The answer that asks a program for a name and password. */
const CHALLENGE = 'Basic realm="daybook", charset="UTF-8"';

/**
 * The person of a request with an `Authorization` header. Throws `AccessRefused` where it is not right: a program that was
 * sent to the page to log in would take that page for its answer.
 */
export async function programPerson(
  request: FastifyRequest,
  reply: FastifyReply,
  { settings, check }: { readonly settings: AccessSettings; readonly check: LimitedCheck },
): Promise<Person> {
  const credentials = settings.users.size === 0 ? null : credentialsIn(request);
  const tried = credentials === null ? 'wrong' : await check(request, credentials);
  if (tried === 'tooMany') throw new AccessRefused('tooMany');
  const isRight = credentials !== null && tried === 'right';
  const person = isRight ? personWithRole({ name: credentials.name, groups: [] }, settings.roles) : null;
  if (person !== null) return person;
  void reply.header('www-authenticate', CHALLENGE);
  throw new AccessRefused('credentials');
}
