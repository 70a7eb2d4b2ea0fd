/**
 * Makes HTML. Every value is escaped unless it is HTML already, so that no text of the platform's can become markup, and
 * characters that turn the direction of writing or do not show are spelled out, so that none can change what a person reads.
 */
import { html as tag, type SafeHtml } from '@remix-run/html-template';
import { showableMarkup } from '../../../ledger/text.ts';

export type Html = SafeHtml;

/** What a template takes. A boolean is not among it, as it would show as a word. */
export type Part = Html | string | number | null | undefined | readonly Part[];

/** Templates without their indentation, which would be half of a long table. */
const narrowed = new WeakMap<TemplateStringsArray, TemplateStringsArray>();

/** Tags a template. Attributes that hold a value have to stand in double quotes. */
export function html(words: TemplateStringsArray, ...values: readonly Part[]): Html {
  const known = narrowed.get(words) ?? withoutIndentation(words);
  narrowed.set(words, known);
  return tag(known, ...(values.map(shown) as Parameters<typeof tag>[1][]));
}

function shown(value: Part): Part {
  if (typeof value === 'string') return showableMarkup(value);
  return Array.isArray(value) ? (value as readonly Part[]).map(shown) : value;
}

const withoutIndentation = (words: TemplateStringsArray): TemplateStringsArray => {
  const texts = words.map((text) => text.replace(/\s*\n\s*/g, '\n'));
  return Object.assign(texts, { raw: texts });
};

/** A text of our own, or one that a language's rules made: escaped, but with the marks of direction that it needs. */
export const ownText = (text: string): Html => tag`${text}`;

/** `content` if the condition holds. */
export const when = (holds: boolean, content: () => Part): Part => (holds ? content() : null);
