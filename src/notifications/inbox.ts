/** Takes posts in: many at once become one commit, and none is acknowledged that is not in the database. */
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import type { Kysely } from 'kysely';
import { isConnectionError } from '../store/errors.ts';
import { keepNotifications, sealNotification, type SealedNotification } from '../store/notifications.ts';
import { notifyHashOf, type NotificationKind } from '../store/notify-path.ts';
import type { DB } from '../store/schema.ts';
import type { SecretKey } from '../store/secrets.ts';

/** Posts of one commit: at 64 kB each and a third more encrypted, well within what one statement carries. */
export const COMMIT_POSTS_MAX = 64;
/** Posts held in memory at a time; the sender of one more is told to come again. */
export const POSTS_WAITING_MAX = 1_000;
/** Longer than this no sender waits for an answer. */
export const COMMIT_MS_MAX = 5_000;

/** The post is not known to be kept: the sender has to send it again. */
export class InboxUnavailable extends ExpectedError {
  override readonly name = 'InboxUnavailable';
  readonly exitCode = EXIT.incomplete;
  /** What the server answers with. */
  readonly statusCode = 503;
}

export interface Post {
  readonly kind: NotificationKind;
  /** The last part of the path. */
  readonly secret: string;
  /** As it came: nobody has looked at it yet. */
  readonly body: string;
}

export interface Inbox {
  /** Resolves once the post is committed. Rejects with `InboxUnavailable` where that cannot be said. */
  readonly keep: (post: Post) => Promise<void>;
}

export interface InboxDeps {
  readonly db: Kysely<DB>;
  readonly secretKeys: readonly SecretKey[];
  readonly now: () => Date;
  /** Called after each commit, to look at what came. */
  readonly onKept?: () => void;
}

interface WaitingPost {
  readonly sealed: SealedNotification;
  readonly kept: () => void;
  readonly refused: (error: InboxUnavailable) => void;
}

export function createInbox({ db, secretKeys, now, onKept }: InboxDeps): Inbox {
  const waiting: WaitingPost[] = [];
  let held = 0;
  let isCommitting = false;

  const commitWaiting = async (): Promise<void> => {
    if (isCommitting) return;
    isCommitting = true;
    while (waiting.length > 0) {
      const posts = waiting.splice(0, COMMIT_POSTS_MAX);
      try {
        await withinTime(keepTwice(db, posts));
        for (const post of posts) post.kept();
        onKept?.();
      } catch (error) {
        const unavailable = new InboxUnavailable('the post could not be kept', { cause: error });
        for (const post of posts) post.refused(unavailable);
      }
    }
    isCommitting = false;
  };

  return {
    keep: async ({ kind, secret, body }) => {
      if (held >= POSTS_WAITING_MAX) throw new InboxUnavailable(`${held} posts wait to be kept already`);
      const sealed = sealNotification(secretKeys, {
        kind,
        notifyHash: notifyHashOf(secret),
        body,
        receivedAt: now(),
      });
      const { promise, resolve, reject } = Promise.withResolvers<undefined>();
      held += 1;
      waiting.push({ sealed, kept: () => resolve(undefined), refused: reject });
      void commitWaiting();
      try {
        await promise;
      } finally {
        held -= 1;
      }
    },
  };
}

/** A connection that died idle, as after the server's restart, says so only when used: once more, on another. */
async function keepTwice(db: Kysely<DB>, posts: readonly WaitingPost[]): Promise<void> {
  const sealed = posts.map((post) => post.sealed);
  try {
    await keepNotifications(db, sealed);
  } catch (error) {
    if (!isConnectionError(error)) throw error;
    await keepNotifications(db, sealed);
  }
}

/** Whatever still comes of `work` afterwards: at worst the post is kept twice, which processing tells. */
async function withinTime(work: Promise<void>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`no commit within ${COMMIT_MS_MAX / 1_000} s`)),
    COMMIT_MS_MAX,
  );
  try {
    await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
