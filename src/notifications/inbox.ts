/**
 * Takes posts in, in two lanes: by paths that daybook told, many at once become one commit, and none is acknowledged
 * that is not in the database; by paths nobody was told, which wait for nothing but themselves and are kept as far as
 * their share goes. To the sender both look the same.
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

/** Posts of one commit: at 64 kB each and a third more encrypted, well within what one statement carries. */
export const COMMIT_POSTS_MAX = 64;
/** Posts of a lane held in memory at a time; the sender of one more is told to come again. */
export const POSTS_WAITING_MAX = 1_000;
const BYTES_WAITING_MAX = 32 * 1_024 * 1_024;
/** Paths of one look-up. */
const LOOK_UP_PATHS_MAX = 500;
/** Longer than this no sender waits for a commit or a look-up. */
const COMMIT_MS_MAX = 5_000;

export interface Post {
  readonly kind: NotificationKind;
  /** The last part of the path. */
  readonly secret: string;
  /** As it came: nobody has looked at it yet. */
  readonly body: string;
  /** The address it came from, where that can be told. */
  readonly source?: string;
}

export interface Inbox {
  /**
   * Resolves once the post is committed, or is one by an unknown path beyond what is kept of them. Rejects with
   * `InboxUnavailable` where that cannot be said, or the path was posted to too often.
   */
  readonly keep: (post: Post) => Promise<void>;
  /** Reads the known paths ahead, so that the first push waits for no look-up. Never rejects. */
  readonly readPaths: () => Promise<void>;
}

export interface InboxDeps {
  readonly db: Kysely<DB>;
  readonly secretKeys: readonly SecretKey[];
  readonly now: () => Date;
  /** Called after each commit of posts by known paths, to look at what came. */
  readonly onKept?: () => void;
  /** Told of each post by an unknown path that was not kept. */
  readonly onNotKept?: () => void;
  readonly limits?: Partial<InboxLimits>;
  /** For the shares: ms from anywhere, never going back. */
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
    itemsMax: LOOK_UP_PATHS_MAX,
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
      // The same for every path, so that what it says tells nobody which are known.
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

/** About what its ciphertext takes: base64, with a nonce and a tag before it. */
const storedBytes = (body: string): number => Math.ceil((Buffer.byteLength(body) * 4) / 3) + 64;

/** A connection that died idle, as after the server's restart, says so only when used: once more, on another. */
const keepTwice = (db: Kysely<DB>, sealed: readonly SealedNotification[]): Promise<void> =>
  retry(() => keepNotifications(db, sealed), { delaysMs: [0], atEnd: lastError });
