/** Fills header templates, and keeps what is in them out of every message. */
import { cutText } from '../ledger/text.ts';
import { holdsDisguised } from './disguises.ts';

/** A fixed header value shorter than this is taken for a word, not for a secret. */
const FIXED_SECRET_CHARACTERS_MIN = 8;
/** A piece of a fixed header value this long gives it away; shorter ones are words, as in `application/json`. */
const FIXED_PIECE_CHARACTERS = 16;
const NOT_SHOWN = '(it repeats a secret in another form and is not shown)';
/** How much of a reply a message repeats. */
const EXCERPT_CHARACTERS_MAX = 120;
/** How much of a reply is searched for secrets before it is cut, so that none is cut in half and missed. */
const SEARCHED_CHARACTERS_MAX = 4_096;

/** Puts values into `{name}` of each template, once: a value that reads like a template is not filled again. */
export function fillTemplates(
  templates: Readonly<Record<string, string>>,
  values: Readonly<Record<string, string>>,
): Record<string, string> {
  const fill = (template: string): string =>
    template.replaceAll(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
  return Object.fromEntries(Object.entries(templates).map(([name, template]) => [name, fill(template)]));
}

/** Spellings in which a secret may come back in a reply. */
const spellings = (secret: string): string[] => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  secret.replaceAll('/', '\\/'),
  encodeURIComponent(secret),
  Buffer.from(secret).toString('base64'),
];

/**
 * Replaces the secrets, and whatever else stands in the headers and is not `known`, by `***`. A text that holds one of
 * them in another form is not shown at all, as its other pieces may be more of it.
 */
export function createRedactor({
  headers,
  secrets,
  known,
}: {
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
  readonly known: readonly string[];
}): (text: string) => string {
  const fixed = Object.values(headers).filter(
    (value) => !known.includes(value) && value.length >= FIXED_SECRET_CHARACTERS_MIN,
  );
  const kept = [...new Set([...fixed, ...secrets].flatMap(spellings))]
    .filter((secret) => secret !== '')
    .sort((a, b) => b.length - a.length);
  return (text) => {
    const shown = kept.reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
    const isDisguised =
      holdsDisguised(shown, secrets) || holdsDisguised(shown, fixed, FIXED_PIECE_CHARACTERS);
    return isDisguised ? NOT_SHOWN : shown;
  };
}

/** The beginning of what came, on one line, printable, without secrets. */
export function excerptOf(text: string, redact: (text: string) => string): string {
  const printable = redact(cutText(text, SEARCHED_CHARACTERS_MAX)).replaceAll(/[\p{C}\s]+/gu, ' ');
  const line = redact(printable).trim();
  return line.length <= EXCERPT_CHARACTERS_MAX ? line : `${cutText(line, EXCERPT_CHARACTERS_MAX)}...`;
}
