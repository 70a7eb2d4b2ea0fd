/** The rules for a merchant number and a token, the same for settings, commands and notifications. */

/**
 * The number becomes part of the paths of statements, so it must not be able to lead out of their folder
 * (docs/platform.md 8: up to 32).
 */
export const MERCHANT_NO = /^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$/;
export const MERCHANT_NO_RULE =
  'must be 1 to 32 letters, digits, dots, dashes or underscores, the first a letter or digit';

/** A token is sent in an HTTP header. */
export const TOKEN = /^[\x21-\x7e]{1,512}$/;
export const TOKEN_RULE = 'must be printable ASCII without spaces or line breaks, up to 512 characters';
