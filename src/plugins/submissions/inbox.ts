/**
 * Takes posts in, in two lanes. Posts to known paths, which daybook gave out, are stored many in one commit; each is
 * acknowledged once it is in the database. Posts to unknown paths have a lane of their own, and only a limited share of
 * them is kept. What is not kept is refused for now, as the platform may send it again.
 */
import { isIPv4, isIPv6 } from 'node:net';
import type { Kysely } from 'kysely';
import { EXIT, ExpectedError } from '../../ledger/ending.ts';
import { lastError, retry } from '../../store/engine/retry.ts';
import type { DB } from '../../store/engine/schema.ts';
import {
  knownAmong,
  type NotifyPath,
  newestKnownPaths,
  notifyHashOf,
  type NotificationKind,
} from '../../store/notify-path.ts';
import { keepNotifications, sealNotification, type SealedNotification } from './notifications.ts';
import type { SecretKey } from '../../store/secrets/secrets.ts';

/** Posts of one commit. At 64 kB each, and a third more when encrypted, one statement takes them easily. */
export const COMMIT_POSTS_MAX = 64;
/** The most posts of a lane held in memory. Further senders are refused for now. */
export const POSTS_WAITING_MAX = 1_000;
const BYTES_WAITING_MAX = 32 * 1_024 * 1_024;
const QUERIED_PATHS_MAX = 500;
/** No sender waits longer than this for a commit or a query. */
const COMMIT_MS_MAX = 5_000;

interface Post {
  readonly kind: NotificationKind;
  /** The last part of the path. */
  readonly secret: string;
  /** As received, not read yet. */
  readonly body: string;
  /** The sender's address, if known. */
  readonly source?: string;
}

export interface Inbox {
  /**
   * Resolves once the post is committed. Throws `InboxUnavailable` if it may not be committed, `TooManyPosts` if a share
   * is used up.
   */
  readonly keep: (post: Post) => Promise<void>;
  /** Reads the known paths in advance, so that the first post waits for no query. Never rejects. */
  readonly readPaths: () => Promise<void>;
}

export interface InboxDeps {
  readonly db: Kysely<DB>;
  readonly secretKeys: readonly SecretKey[];
  readonly now: () => Date;
  /** Called after each commit of posts to known paths. */
  readonly onKept?: () => void;
  readonly limits?: Partial<InboxLimits>;
  /** For the shares: ms since any moment, never going back. */
  readonly clock?: () => number;
}

export function createInbox(deps: InboxDeps): Inbox {
  const { db, secretKeys, now, onKept, clock = () => performance.now() } = deps;
  const gate = createGate({ ...INBOX_LIMITS, ...deps.limits }, clock);
  const paths = createKnownPaths({ db, now, clock });
  const lane = { heldMax: POSTS_WAITING_MAX, heldBytesMax: BYTES_WAITING_MAX, timeoutMs: COMMIT_MS_MAX };
  const commits = (onCommit?: () => void) =>
    createBatches<SealedNotification, undefined>({
      ...lane,
      itemsMax: COMMIT_POSTS_MAX,
      bytesOf: ({ bodyCiphertext }) => bodyCiphertext.length,
      work: async (sealed) => {
        await keepTwice(db, sealed);
        onCommit?.();
        return sealed.map(() => undefined);
      },
    });
  const [keepKnown, keepUnknown] = [commits(onKept), commits()];
  const isKnown = createBatches<NotifyPath & { readonly bytes: number }, boolean>({
    ...lane,
    itemsMax: QUERIED_PATHS_MAX,
    bytesOf: ({ bytes }) => bytes,
    work: async (asked) => {
      const known = await knownAmong(db, asked, now());
      for (const path of known) paths.add(path);
      const names = new Set(known.map(nameOf));
      return asked.map((path) => names.has(nameOf(path)));
    },
  });

  return {
    readPaths: paths.read,
    keep: async ({ kind, secret, body, ...post }) => {
      const notifyHash = notifyHashOf(secret);
      const source = post.source ?? null;
      if (secretKeys.length === 0) throw new InboxUnavailable('there is no key to keep it with');
      const path = { kind, notifyHash };
      if (!gate.letsIn(notifyHash, source, paths.has(path))) throw new TooManyPosts(TOO_MANY.byOnePath);
      const seal = (isUnknown: boolean) =>
        sealNotification(secretKeys, { kind, notifyHash, body, source, receivedAt: now(), isUnknown });
      const isHeld = paths.has(path);
      if (isHeld || (await isKnown({ ...path, bytes: body.length }))) {
        if (!isHeld && !gate.letsIn(notifyHash, source, true)) throw new TooManyPosts(TOO_MANY.byOnePath);
        await keepKnown(seal(false));
        return;
      }
      if (!gate.keepsUnknown(source, storedBytes(body))) throw new TooManyPosts(TOO_MANY.byUnknownPaths);
      await keepUnknown(seal(true));
    },
  };
}

/** About the size of the ciphertext: base64, with a nonce and a tag in front. */
const storedBytes = (body: string): number => Math.ceil((Buffer.byteLength(body) * 4) / 3) + 64;

/**
 * A connection that was cut while idle, as by a server's restart, fails at its next use: one more try takes another.
 */
const keepTwice = (db: Kysely<DB>, sealed: readonly SealedNotification[]): Promise<void> =>
  retry(() => keepNotifications(db, sealed), { delaysMs: [0], atEnd: lastError });

interface BatchesOptions<Item, Answer> {
  readonly itemsMax: number;
  /** The most items held in memory, in number and in bytes. One more is refused. */
  readonly heldMax: number;
  readonly heldBytesMax: number;
  readonly bytesOf: (item: Item) => number;
  readonly timeoutMs: number;
  /** Answers in the items' order. */
  readonly work: (items: readonly Item[]) => Promise<readonly Answer[]>;
}

interface Waiting<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: InboxUnavailable) => void;
}

/** The returned function throws `InboxUnavailable` if there is no capacity, or if the work failed or took too long. */
function createBatches<Item, Answer>(options: BatchesOptions<Item, Answer>): (item: Item) => Promise<Answer> {
  const { itemsMax, heldMax, heldBytesMax, bytesOf, timeoutMs, work } = options;
  const waiting: Waiting<Item, Answer>[] = [];
  let [held, heldBytes] = [0, 0];
  let isAtWork = false;

  const workOff = async (): Promise<void> => {
    if (isAtWork) return;
    isAtWork = true;
    while (waiting.length > 0) {
      const batch = waiting.splice(0, itemsMax);
      try {
        const answers = await withinTime(work(batch.map(({ item }) => item)), timeoutMs);
        for (const [index, { resolve }] of batch.entries()) resolve(answers[index]!);
      } catch (error) {
        const unavailable = new InboxUnavailable('the post could not be kept', { cause: error });
        for (const { reject } of batch) reject(unavailable);
      }
    }
    isAtWork = false;
  };

  return async (item) => {
    const bytes = bytesOf(item);
    if (held >= heldMax || heldBytes + bytes > heldBytesMax)
      throw new InboxUnavailable(`${held} posts wait to be kept already`);
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    held += 1;
    heldBytes += bytes;
    waiting.push({ item, resolve, reject });
    void workOff();
    try {
      return await promise;
    } finally {
      held -= 1;
      heldBytes -= bytes;
    }
  };
}

/** The work may still succeed after its time is over. At worst a post is then kept twice, which processing notices. */
async function withinTime<Result>(work: Promise<Result>, timeoutMs: number): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`not done within ${timeoutMs / 1_000} s`)), timeoutMs);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The most paths of each kind in memory. Older ones are queried when a post arrives. */
const PATHS_HELD_MAX = 50_000;
/** They are read again after this time, so that paths that ended drop out. */
const PATHS_READ_EVERY_MS = 60_000;

function createKnownPaths({ db, now, clock }: Required<Pick<InboxDeps, 'db' | 'now' | 'clock'>>) {
  let held = new Set<string>();
  let readAtMs = Number.NEGATIVE_INFINITY;
  const read = async (): Promise<void> => {
    readAtMs = clock();
    try {
      held = new Set((await newestKnownPaths(db, PATHS_HELD_MAX, now())).map(nameOf));
    } catch {
      // The database cannot be reached: what is in memory stays until the next read.
    }
  };
  return {
    /** False does not mean unknown: the database has to be asked. */
    has: (path: NotifyPath): boolean => {
      if (clock() - readAtMs >= PATHS_READ_EVERY_MS) void read();
      return held.has(nameOf(path));
    },
    add: (path: NotifyPath): void => {
      if (held.size < 2 * PATHS_HELD_MAX) held.add(nameOf(path));
    },
    /** Reads them now. Never rejects: a path that is not in memory is queried. */
    read,
  };
}

const nameOf = ({ kind, notifyHash }: NotifyPath): string => `${kind}:${notifyHash}`;

interface InboxLimits {
  /** Posts to one path an hour, from one source and in all. */
  readonly pathSourcePosts: number;
  readonly pathPosts: number;
  /**
   * Once those in all are used up: more for each sender, and of all senders, so that many who flood a path do not keep
   * the platform out of it.
   */
  readonly senderPosts: number;
  readonly senderPostsInAll: number;
  /** Posts to unknown paths that are kept an hour, from one source and in all, and their bytes as stored. */
  readonly unknownSourcePosts: number;
  readonly unknownPosts: number;
  readonly unknownSourceBytes: number;
  readonly unknownBytes: number;
}

/**
 * `UNKNOWN_KEPT` holds exactly a day of posts to unknown paths at the full rate, and one more hour's share. So noise
 * cannot push out a post that has been kept for less than a day.
 */
export const INBOX_LIMITS: InboxLimits = {
  pathSourcePosts: 60,
  pathPosts: 200,
  senderPosts: 5,
  senderPostsInAll: 500,
  unknownSourcePosts: 100,
  unknownPosts: 800,
  unknownSourceBytes: 1_000_000,
  unknownBytes: 5_000_000,
};

/** The most paths and sources that each share remembers. */
const NAMES_MAX = 20_000;

export function createGate(limits: InboxLimits, clock: () => number) {
  const shares = (perHour: number) => createShares({ perHour, namesMax: NAMES_MAX, clock });
  const pathGate = () => {
    const [pathSources, paths] = [shares(limits.pathSourcePosts), shares(limits.pathPosts)];
    const [senders, inAll] = [shares(limits.senderPosts), shares(limits.senderPostsInAll)];
    return (notifyHash: string, source: string | null): boolean =>
      pathSources.take(`${notifyHash} ${networkOf(source)}`) &&
      (paths.take(notifyHash) ||
        (senders.take(`${notifyHash} ${networkOf(source, CUSTOMER_GROUPS)}`) && inAll.take(notifyHash)));
  };
  // Apart, so that random paths do not push known ones out of the memory.
  const [known, others] = [pathGate(), pathGate()];
  const [sourcePosts, posts] = [shares(limits.unknownSourcePosts), shares(limits.unknownPosts)];
  const [sourceBytes, bytesInAll] = [shares(limits.unknownSourceBytes), shares(limits.unknownBytes)];
  return {
    /** Whether one more post to this path is taken in. `isKnown`: the path is among those in memory. */
    letsIn: (notifyHash: string, source: string | null, isKnown: boolean): boolean =>
      (isKnown ? known : others)(notifyHash, source),
    /** Whether one more post to an unknown path is kept. */
    keepsUnknown: (source: string | null, bytes: number): boolean => {
      const network = networkOf(source);
      return (
        sourcePosts.take(network) &&
        sourceBytes.take(network, bytes) &&
        posts.take('all') &&
        bytesInAll.take('all', bytes)
      );
    },
  };
}

/** Groups of an IPv6 address: the network of 64 bits that a site has, and the one of 48 bits that a customer may have. */
const SITE_GROUPS = 4;
const CUSTOMER_GROUPS = 3;

/**
 * What counts as one source: an address, or for IPv6 the network of its first groups. Whatever else a proxy wrote is one
 * source, so that the memory for it is bounded.
 */
export function networkOf(source: string | null, groupsKept = SITE_GROUPS): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(source ?? '')?.[1];
  if (mapped !== undefined) return mapped;
  if (source === null || !isIPv6(source)) return source !== null && isIPv4(source) ? source : '';
  // The URL parser gives every spelling of an address the same form.
  const [head = '', tail] = new URL(`http://[${source.replace(/%.*$/, '')}]`).hostname
    .slice(1, -1)
    .split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const last = tail === '' ? [] : tail.split(':');
    while (groups.length + last.length < 8) groups.push('0');
    groups.push(...last);
  }
  return groups.slice(0, groupsKept).join(':');
}

const HOUR_MS = 3_600_000;

interface SharesOptions {
  /** What a name may take at once, and then again every hour. */
  readonly perHour: number;
  /** The most names remembered. The one not seen for longest is forgotten first, and then has a full share again. */
  readonly namesMax: number;
  /** Ms since any moment, never going back. */
  readonly clock: () => number;
}

export function createShares({ perHour, namesMax, clock }: SharesOptions) {
  const left = new Map<string, { readonly amount: number; readonly atMs: number }>();
  return {
    /** Takes `amount` from the share of `name`. False if less is left; nothing is taken then. */
    take: (name: string, amount = 1): boolean => {
      const atMs = clock();
      const before = left.get(name);
      const has =
        before === undefined
          ? perHour
          : Math.min(perHour, before.amount + ((atMs - before.atMs) * perHour) / HOUR_MS);
      const isEnough = has >= amount;
      // The name moves to the end of the map. So the first key is the one not seen for longest.
      left.delete(name);
      left.set(name, { amount: isEnough ? has - amount : has, atMs });
      if (left.size > namesMax) left.delete(left.keys().next().value!);
      return isEnough;
    },
  };
}

/** The post may not be kept. The sender has to send it again. */
export class InboxUnavailable extends ExpectedError {
  override readonly name = 'InboxUnavailable' as string;
  readonly exitCode = EXIT.incomplete;
  /** What the server answers with. */
  readonly statusCode: number = 503;
}

/** A share is used up: the post is not kept. `code` is what the log has of it. */
export class TooManyPosts extends InboxUnavailable {
  override readonly name = 'TooManyPosts';
  override readonly statusCode = 429;
  readonly code: string;

  constructor(code: (typeof TOO_MANY)[keyof typeof TOO_MANY]) {
    super(code);
    this.code = code;
  }
}

export const TOO_MANY = {
  byOnePath: 'too many posts by one path',
  byUnknownPaths: 'unknown path, beyond what is kept',
} as const;
