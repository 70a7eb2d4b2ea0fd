/**
 * The unguessable address a result is pushed to: the document shows no signature (docs/platform.md 5), so the
 * path is the proof.
 */
import { createHash, randomBytes } from 'node:crypto';

/** sp3101 and sp3401: the result of an application, and of a registration. */
export type NotificationKind = 'onboarding' | 'beneficiary';

/** As long as the platform lets a callbackUrl be (docs/platform.md 2.3, 2.5). */
export const CALLBACK_URL_CHARACTERS_MAX = 255;
const SECRET_BYTES = 32;

/** How a path's secret is spelt: what the server takes for one at all. */
export const NOTIFY_SECRET = /^[A-Za-z0-9_-]{43}$/;

/** A new secret for one application or registration: 256 random bits. Only its hash is stored. */
export const newNotifySecret = (): string => randomBytes(SECRET_BYTES).toString('base64url');

/** What is stored of a secret, and what a push is matched by. Without the secret it opens nothing. */
export const notifyHashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');

/**
 * `callbackUrl` of a request (docs/platform.md 2.3, 2.5). The public address is short enough where the
 * settings took it.
 */
export const callbackUrlOf = (publicUrl: string, kind: NotificationKind, secret: string): string =>
  `${publicUrl.replace(/\/+$/, '')}/notify/${kind}/${secret}`;
