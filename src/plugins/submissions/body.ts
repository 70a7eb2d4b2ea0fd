/** The body of a post: stored without loss, and read in whatever envelope and form its fields come. */
import { isUtf8 } from 'node:buffer';
import type { z } from 'zod';
import { openedOrNull } from '../../platform/reply.ts';

const IN_BASE64 = 'base64:';

/** The body as text, without loss. Bytes that are not UTF-8 become `base64:...`, which is no valid JSON either. */
export function storedBody(body: unknown): string {
  if (!Buffer.isBuffer(body)) return '';
  const text = isUtf8(body) ? body.toString('utf8') : null;
  return text === null || text.startsWith(IN_BASE64) ? IN_BASE64 + body.toString('base64') : text;
}

/** What a body says. `written` names how, `AS_DOCUMENTED` or another way, which only a person applies. */
export type Reading<Result> = { readonly written: string } & (
  { readonly result: Result; readonly problem: null } | { readonly result: null; readonly problem: string }
);

export const AS_DOCUMENTED = 'JSON';
const PROBLEMS_SHOWN_MAX = 3;

/**
 * Reads the fields of a payload: the part of the body that has the `expected` fields, so that a `code` of the envelope is
 * not taken for the payload's. The problem repeats nothing of the body.
 */
export function readBody<Result>(
  stored: string,
  schema: z.ZodType<Result>,
  expected: readonly string[],
): Reading<Result> {
  const bytes = stored.startsWith(IN_BASE64)
    ? Buffer.from(stored.slice(IN_BASE64.length), 'base64')
    : Buffer.from(stored);
  const text = decoded(bytes);
  const fields = text === null || /^\uFEFF?\s*(?:[{["]|$)/.test(text) ? [] : fieldsOf(bytes);
  const isUnicode = isUtf8(bytes) && fields.flat().every((part) => part.isUnicode);
  const written =
    text === null
      ? AS_DOCUMENTED
      : (fields.length > 0 ? 'a form' : AS_DOCUMENTED) + (isUnicode ? '' : ' in GB18030');
  const json =
    fields.length > 0
      ? JSON.stringify(Object.fromEntries(fields.map((field) => field.map((part) => part.text))))
      : (text ?? '');
  if (!isJson(json)) return { written, result: null, problem: 'the body is no JSON' };
  const checked = schema.safeParse(openedOrNull(json, expected)?.body ?? null);
  if (checked.success) return { written, result: checked.data, problem: null };
  const problems = checked.error.issues
    .slice(0, PROBLEMS_SHOWN_MAX)
    .map((issue) => `${issue.path.join('.') || 'the body'} ${wordingOf(issue)}`);
  return { written, result: null, problem: problems.join('; ') };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text.replace(/^\uFEFF/, ''));
    return true;
  } catch {
    return false;
  }
}

/** Zod's own messages may quote a value. */
function wordingOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return `is no ${issue.expected}`;
  if (issue.code === 'too_small') return 'is empty';
  if (issue.code === 'invalid_value') return `is none of ${issue.values.join(', ')}`;
  return issue.code === 'custom' ? issue.message : 'is not what the document describes';
}

/** UTF-8, or GB18030, of which GBK and GB 2312 are parts; null if the bytes are neither. */
function decoded(bytes: Uint8Array): string | null {
  if (isUtf8(bytes)) return Buffer.from(bytes).toString('utf8');
  try {
    return new TextDecoder('gb18030', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

interface Part {
  readonly text: string;
  readonly isUnicode: boolean;
}

/** The fields of a form (`application/x-www-form-urlencoded`); empty if it is none. A part that is JSON alone is the value of ''. */
function fieldsOf(bytes: Buffer): (readonly [Part, Part])[] {
  const fields = bytes
    .toString('latin1')
    .trim()
    .split('&')
    .map((field) => {
      const at = field.indexOf('=');
      const [key, value] = at < 0 ? [field, ''] : [field.slice(0, at), field.slice(at + 1)];
      const [name, content] = [partOf(key), partOf(value)];
      return content.text === '' && name.text.startsWith('{')
        ? ([content, name] as const)
        : ([name, content] as const);
    });
  return fields.some(([, { text }]) => text !== '') ? fields : [];
}

/** `latin1`: one character for each byte. What is not written as a form's part is left as it is. */
function partOf(latin1: string): Part {
  const plain = latin1
    .replaceAll('+', ' ')
    .replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  const bytes = Buffer.from(plain, 'latin1');
  return { text: decoded(bytes) ?? plain, isUnicode: isUtf8(bytes) };
}
