/** Reads a JSON reply that is one object, and tells an error document from a reply that only looks wrong. */
import { PlatformRejected, PlatformReplyInvalid } from './errors.ts';
import type { Excerpt } from './transport.ts';

export type ReplyFields = Readonly<Record<string, unknown>>;

/** Where error documents say what is wrong, as the document does not show their shape (platform-api.md 7). */
const ERROR_FIELDS = ['code', 'respCode', 'errorCode', 'error', 'message', 'msg', 'respMsg', 'respDesc'];

export const cameOf = (text: string, excerpt: Excerpt): string =>
  text.trim() === '' ? '(nothing)' : excerpt(text);

/**
 * The reply's fields. Throws `PlatformRejected` where none of the `expected` ones is there but one of an error
 * document is, and `PlatformReplyInvalid` where it is no JSON object.
 */
export function replyFields(text: string, excerpt: Excerpt, expected: readonly string[]): ReplyFields {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    const kind = /^\s*</.test(text) ? 'HTML' : 'no JSON';
    throw new PlatformReplyInvalid(`answered by ${kind}: ${cameOf(text, excerpt)}`);
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new PlatformReplyInvalid(`answered by something else than an object: ${cameOf(text, excerpt)}`);
  }
  if (!expected.some((field) => field in json) && ERROR_FIELDS.some((field) => field in json)) {
    throw new PlatformRejected(`answered by an error document: ${cameOf(text, excerpt)}`, false, text);
  }
  return json as ReplyFields;
}

/** Text as an identifier or code may be: printable, without spaces at its ends, 1 to `max` characters. */
export const isPrintable = (value: unknown, max: number): value is string =>
  typeof value === 'string' &&
  value.length >= 1 &&
  value.length <= max &&
  value.trim() === value &&
  !/\p{C}/u.test(value);
