/** What can be a merchant number and a token, alike wherever one is given: settings, commands, pushed results. */

/**
 * Goes into the paths of statements, so it must not be able to climb out of them (docs/platform.md 8: up to
 * 32).
 */
export const MERCHANT_NO = /^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$/;
export const MERCHANT_NO_RULE =
  'must be 1 to 32 letters, digits, dots, dashes or underscores, the first a letter or digit';

/** Stands in a header. */
export const TOKEN = /^[\x21-\x7e]{1,512}$/;
export const TOKEN_RULE = 'must be printable ASCII without spaces or line breaks, up to 512 characters';
