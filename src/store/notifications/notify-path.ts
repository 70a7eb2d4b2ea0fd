/**
 * Makes callback addresses that cannot be guessed. The document shows no signature (docs/platform.md 5), so whoever
 * knows the address is taken for the platform.
 */
import { createHash, randomBytes } from 'node:crypto';

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
