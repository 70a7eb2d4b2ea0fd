/** Makes HTML. Every value is escaped unless it is HTML already, so that no text of the platform's can become markup. */
import { html as tag, type SafeHtml } from '@remix-run/html-template';

export type Html = SafeHtml;

/** What a template takes. A boolean is not among it, as it would show as a word. */
export type Part = Html | string | number | null | undefined | readonly Part[];

/** Tags a template. Attributes that hold a value have to stand in double quotes. */
export const html = (words: TemplateStringsArray, ...values: readonly Part[]): Html =>
  tag(words, ...(values as Parameters<typeof tag>[1][]));

/** `content` if the condition holds. */
export const when = (holds: boolean, content: () => Part): Part => (holds ? content() : null);
