/** Fills header templates, and removes their secrets from messages. */
import { cutText } from '../ledger/text.ts';
import { holdsDisguised } from './disguises.ts';

/** A fixed header value shorter than this is an ordinary word, not a secret. */
const FIXED_SECRET_CHARACTERS_MIN = 8;
/**
 * Finding a piece of a fixed header value counts from this length on. Shorter pieces are words, as in
 * `application/json`.
 */
const FIXED_PIECE_CHARACTERS = 16;
const NOT_SHOWN = '(it repeats a secret in another form and is not shown)';
/** How much of a reply a message quotes. */
const EXCERPT_CHARACTERS_MAX = 120;
/** How much of a reply is searched for secrets. It is searched before it is cut, so that no cut hides half a secret. */
const SEARCHED_CHARACTERS_MAX = 4_096;

/** Replaces each `{name}` in the templates by its value. If a value contains `{name}` itself, that is not replaced. */
export function fillTemplates(
  templates: Readonly<Record<string, string>>,
  values: Readonly<Record<string, string>>,
): Record<string, string> {
  const fill = (template: string): string =>
    template.replaceAll(/\{(\w+)\}/g, (placeholder, name: string) => values[name] ?? placeholder);
  return Object.fromEntries(Object.entries(templates).map(([name, template]) => [name, fill(template)]));
}

/** The forms in which a secret may come back in a reply. */
const spellings = (secret: string): string[] => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  secret.replaceAll('/', '\\/'),
  encodeURIComponent(secret),
  Buffer.from(secret).toString('base64'),
];

/**
 * Replaces secrets by `***`, and so all other fixed header values that are not in `known`. If a text holds one of
 * them in a disguised form, it is not shown at all, as its other parts may be disguised as well.
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

/** The beginning of a reply on one line, printable, without secrets. */
export function excerptOf(text: string, redact: (text: string) => string): string {
  const printable = redact(cutText(text, SEARCHED_CHARACTERS_MAX)).replaceAll(/[\p{C}\s]+/gu, ' ');
  const line = redact(printable).trim();
  return line.length <= EXCERPT_CHARACTERS_MAX ? line : `${cutText(line, EXCERPT_CHARACTERS_MAX)}...`;
}
