/**
 * The callback addresses that notifications come by: they cannot be guessed, and are known from when daybook issues them
 * until some time after the final result. The document shows no signature (docs/platform.md 5), so whoever
 * knows the address is taken for the platform.
 */
import { createHash, randomBytes } from 'node:crypto';
import { sql, type RawBuilder } from 'kysely';

/** The result of an application (sp3101) or of a registration (sp3401). */
export type NotificationKind = 'onboarding' | 'beneficiary';

/** Longest callbackUrl that the platform takes (docs/platform.md 2.3, 2.5). */
export const CALLBACK_URL_CHARACTERS_MAX = 255;
const SECRET_BYTES = 32;

/** The form of a secret in a path. The server answers no other path. */
export const NOTIFY_SECRET = /^[A-Za-z0-9_-]{43}$/;

/** A new secret for one application or registration: 256 random bits. Only its hash is stored. */
export const newNotifySecret = (): string => randomBytes(SECRET_BYTES).toString('base64url');

/** The hash that is stored of a secret and that finds the row of a post. The hash alone does not allow a post. */
export const notifyHashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');

/**
 * The `callbackUrl` of a request (docs/platform.md 2.3, 2.5). Its length fits, as the settings limit the public
 * address.
 */
export const callbackUrlOf = (publicUrl: string, kind: NotificationKind, secret: string): string =>
  `${publicUrl.replace(/\/+$/, '')}/notify/${kind}/${secret}`;

/** How long a path stays known after its final result. A later post counts as one of an unknown sender. */
export const PATH_LIVES_DAYS = 30;

const DAY_MS = 86_400_000;

/** Whether a row of `application` still waits for its final result, or had it less than `PATH_LIVES_DAYS` ago. */
const applicationPathLives = (now: Date): RawBuilder<boolean> => sql<boolean>`
  (state NOT IN ('approved', 'rejected') OR changed_at > ${endedBefore(now)})`;

/** The same for a row of `beneficiary`. An approval without payeeId is not a final result (docs/platform.md 2.6). */
const beneficiaryPathLives = (now: Date): RawBuilder<boolean> => sql<boolean>`
  (status NOT IN ('03', '04') OR status = '04' AND payee_id IS NULL
    OR coalesce(decided_at, replied_at, recorded_at) > ${endedBefore(now)})`;

const endedBefore = (now: Date): Date => new Date(now.getTime() - PATH_LIVES_DAYS * DAY_MS);

/** Whether a path is known: it was issued for this kind, and its time is not over. */
export const isPathOpen = (
  kind: RawBuilder<unknown>,
  notifyHash: RawBuilder<unknown>,
  now: Date,
): RawBuilder<boolean> => sql<boolean>`(
  EXISTS (SELECT FROM application
    WHERE ${kind} = 'onboarding' AND notify_hash = ${notifyHash} AND ${applicationPathLives(now)})
  OR EXISTS (SELECT FROM beneficiary
    WHERE ${kind} = 'beneficiary' AND notify_hash = ${notifyHash} AND ${beneficiaryPathLives(now)}))`;

/** Whether the path of a post `old` is not known any more. */
export const isPathClosed = (now: Date): RawBuilder<boolean> =>
  sql<boolean>`NOT ${isPathOpen(sql.ref('old.kind'), sql.ref('old.notify_hash'), now)}`;
