/** The rules for a merchant number and a token, the same for settings, commands and notifications. */

/** As the platform's document has it (docs/platform.md 8), in UTF-16 units. */
export const MERCHANT_NO_MAX = 32;

/** Controls, line ends, and what cannot be seen: two numbers with one appearance would be two merchants. */
const NOT_PRINTABLE = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

/**
 * Whether a text can be a merchant's number: printable, without a blank at either end. What becomes part of a name or an
 * address is encoded there (`src/verify/names.ts`, `src/plugins/pages/html/addresses.ts`).
 */
export const isMerchantNo = (text: string): boolean =>
  text !== '' && text.length <= MERCHANT_NO_MAX && text.trim() === text && !NOT_PRINTABLE.test(text);
export const MERCHANT_NO_RULE = `must be 1 to ${MERCHANT_NO_MAX} printable characters, without a blank at either end`;

/** A token is sent in an HTTP header. */
export const TOKEN = /^[\x21-\x7e]{1,512}$/;
export const TOKEN_RULE = 'must be printable ASCII without spaces or line breaks, up to 512 characters';
