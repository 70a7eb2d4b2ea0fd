/** The body of a post: how it is stored without loss, and how its JSON is found where it was written in another way. */
import { isUtf8 } from 'node:buffer';

const IN_BASE64 = 'base64:';

/** The body as text, without loss. Bytes that are not UTF-8 become `base64:...`, which is no valid JSON either. */
export function storedBody(body: unknown): string {
  if (!Buffer.isBuffer(body)) return '';
  const text = isUtf8(body) ? body.toString('utf8') : null;
  return text === null || text.startsWith(IN_BASE64) ? IN_BASE64 + body.toString('base64') : text;
}

/** A body's JSON, and in which way it was written. */
interface WrittenJson {
  readonly json: string;
  /** `JSON`, or for a person what it is instead: `a form`, `JSON in GB18030`, `a form in GB18030`. */
  readonly written: string;
}

export const AS_DOCUMENTED = 'JSON';

/** The JSON of a stored body; null if its bytes are no text. Text that is neither JSON nor a form is returned as it is. */
export function writtenIn(stored: string): WrittenJson | null {
  const bytes = stored.startsWith(IN_BASE64)
    ? Buffer.from(stored.slice(IN_BASE64.length), 'base64')
    : Buffer.from(stored);
  const text = decoded(bytes);
  if (text === null) return null;
  const fields = /^[^\s{["]/.test(text.replace(/^\uFEFF?\s*/, '')) ? fieldsOf(bytes) : null;
  const isForm = fields !== null && fields.length > 0;
  const isUnicode = isUtf8(bytes) && (fields ?? []).flat().every(({ isUnicode: is }) => is);
  return {
    json: isForm
      ? JSON.stringify(Object.fromEntries(fields.map((field) => field.map((part) => part.text))))
      : text,
    written: (isForm ? 'a form' : AS_DOCUMENTED) + (isUnicode ? '' : ' in GB18030'),
  };
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
      const [name, value] = at < 0 ? [field, ''] : [field.slice(0, at), field.slice(at + 1)];
      const [key, content] = [partOf(name), partOf(value)];
      return content.text === '' && key.text.startsWith('{')
        ? ([content, key] as const)
        : ([key, content] as const);
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
