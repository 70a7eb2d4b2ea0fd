/** The names in braces that templates of requests may have, next to those of whose call it is (docs/platform.md 5). */

/** Of one try of a call. `signature` is hexadecimal, and so is `bodySha256`; `timestamp` is Unix ms, `timestampS` seconds. */
export const TRY_PLACEHOLDERS = [
  ...['timestamp', 'timestampS', 'nonce', 'bodySha256'],
  ...['signature', 'signatureBase64'],
];

/** What the signed text may have, too: it has all but the signature itself. */
export const SIGNED_PLACEHOLDERS = [
  'timestamp',
  'timestampS',
  'nonce',
  'bodySha256',
  'method',
  'path',
  'body',
];

const PLACEHOLDER = /\{(\w+)\}/g;

/** The names that templates have in braces. */
export const placeholdersIn = (templates: readonly string[]): ReadonlySet<string> =>
  new Set(templates.flatMap((template) => [...template.matchAll(PLACEHOLDER)].map(([, name]) => name!)));

/** Whether one of the headers has the request's signature. */
export function areSigned(headers: Readonly<Record<string, string>>): boolean {
  const names = placeholdersIn(Object.values(headers));
  return names.has('signature') || names.has('signatureBase64');
}

/** Replaces each `{name}` by its value. If a value contains `{name}` itself, that is not replaced. */
export const fillTemplate = (template: string, values: Readonly<Record<string, string>>): string =>
  template.replaceAll(PLACEHOLDER, (placeholder, name: string) => values[name] ?? placeholder);
