/** Makes HTML. Every value is escaped unless it is HTML already, so that no text of the platform's can become markup. */
import { html as tag, type SafeHtml } from '@remix-run/html-template';

export type Html = SafeHtml;

/** What a template takes. A boolean is not among it, as it would show as a word. */
export type Part = Html | string | number | null | undefined | readonly Part[];

/** Templates without their indentation, which would be half of a long table. */
const narrowed = new WeakMap<TemplateStringsArray, TemplateStringsArray>();

/** Tags a template. Attributes that hold a value have to stand in double quotes. */
export function html(words: TemplateStringsArray, ...values: readonly Part[]): Html {
  const known = narrowed.get(words) ?? withoutIndentation(words);
  narrowed.set(words, known);
  return tag(known, ...(values as Parameters<typeof tag>[1][]));
}

const withoutIndentation = (words: TemplateStringsArray): TemplateStringsArray => {
  const texts = words.map((text) => text.replace(/\s*\n\s*/g, '\n'));
  return Object.assign(texts, { raw: texts });
};

/** `content` if the condition holds. */
export const when = (holds: boolean, content: () => Part): Part => (holds ? content() : null);
