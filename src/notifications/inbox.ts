/**
 * Takes posts in, in two lanes. Posts to known paths, which daybook gave out, are stored many in one commit; each is
 * acknowledged once it is in the database. Posts to unknown paths have a lane of their own, and only a limited share of
 * them is kept. A sender sees no difference.
 */
import type { Kysely } from 'kysely';
import { lastError, retry } from '../store/engine/retry.ts';
import { knownAmong, type NotifyPath } from '../store/notifications/known-paths.ts';
import {
  keepNotifications,
  sealNotification,
  type SealedNotification,
} from '../store/notifications/notifications.ts';
import { notifyHashOf, type NotificationKind } from '../store/notifications/notify-path.ts';
import type { DB } from '../store/engine/schema.ts';
import type { SecretKey } from '../store/secrets/secrets.ts';
import { createBatches } from './batches.ts';
import { InboxUnavailable } from './inbox-unavailable.ts';
import { createKnownPaths, nameOf } from './known-paths.ts';
import { createGate, INBOX_LIMITS, type InboxLimits } from './limits.ts';

export { InboxUnavailable } from './inbox-unavailable.ts';

/** Posts of one commit. At 64 kB each, and a third more when encrypted, one statement takes them easily. */
export const COMMIT_POSTS_MAX = 64;
/** The most posts of a lane held in memory. Further senders get a `Retry-After`. */
export const POSTS_WAITING_MAX = 1_000;
const BYTES_WAITING_MAX = 32 * 1_024 * 1_024;
/** The most paths of one query. */
const QUERIED_PATHS_MAX = 500;
/** No sender waits longer than this for a commit or a query. */
const COMMIT_MS_MAX = 5_000;

export interface Post {
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
   * Resolves once the post is committed. Also resolves for a post to an unknown path that is not kept because the share
   * is used up. Throws `InboxUnavailable` if it may not be committed, or if the path was posted to too often.
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
  /** Called for each post to an unknown path that is not kept. */
  readonly onNotKept?: () => void;
  readonly limits?: Partial<InboxLimits>;
  /** For the shares: ms since any moment, never going back. */
  readonly clock?: () => number;
}

export function createInbox(deps: InboxDeps): Inbox {
  const { db, secretKeys, now, onKept, onNotKept, clock = () => performance.now() } = deps;
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
      // The same answer for every path, so that an unknown sender cannot find out which are known.
      if (secretKeys.length === 0) throw new InboxUnavailable('there is no key to keep it with');
      if (!gate.letsIn(notifyHash, source)) throw new InboxUnavailable('too many posts by one path');
      const seal = (isUnknown: boolean) =>
        sealNotification(secretKeys, { kind, notifyHash, body, source, receivedAt: now(), isUnknown });
      const path = { kind, notifyHash };
      if (paths.has(path) || (await isKnown({ ...path, bytes: body.length }))) {
        await keepKnown(seal(false));
        return;
      }
      if (gate.keepsUnknown(source, storedBytes(body))) await keepUnknown(seal(true));
      else onNotKept?.();
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
