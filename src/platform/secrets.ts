/** Fills a merchant's headers, and keeps what is in them out of every message. */
import { PlatformRejected } from './errors.ts';
import type { MerchantAccess } from './ledger-reader.ts';

/** A fixed header value shorter than this is taken for a word, not for a secret. */
const FIXED_SECRET_CHARACTERS_MIN = 8;
/** How much of a reply a message repeats. */
const EXCERPT_CHARACTERS_MAX = 120;
/** How much of a reply is searched for secrets before it is cut, so that none is cut in half and missed. */
const SEARCHED_CHARACTERS_MAX = 4_096;

/** The headers of a merchant's calls. Throws `PlatformRejected` where a value cannot stand in a header. */
export function fillHeaders(
  templates: Readonly<Record<string, string>>,
  { merchantNo, token }: MerchantAccess,
): Record<string, string> {
  const filled = Object.entries(templates).map(([name, template]) => {
    const value = template.replaceAll(/\{(token|merchantNo)\}/g, (_, key) =>
      key === 'token' ? token : merchantNo,
    );
    if (!/^[\x20-\x7e]*$/.test(value)) {
      throw new PlatformRejected(
        `merchant ${merchantNo}: the token or number cannot stand in header ${name}, as it holds a line break or ` +
          'something else than printable ASCII; add the merchant again with the token as it was delivered.',
      );
    }
    return [name, value];
  });
  return Object.fromEntries(filled) as Record<string, string>;
}

/** Spellings in which a secret may come back in a reply. */
const spellings = (secret: string): string[] => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  secret.replaceAll('/', '\\/'),
  encodeURIComponent(secret),
  Buffer.from(secret).toString('base64'),
];

/** Replaces the merchant's token, and whatever else stands in its headers, by `***`. */
export function createRedactor(
  headers: Readonly<Record<string, string>>,
  { merchantNo, token }: MerchantAccess,
): (text: string) => string {
  const fixed = Object.values(headers).filter(
    (value) => value !== merchantNo && value.length >= FIXED_SECRET_CHARACTERS_MIN,
  );
  const secrets = [...new Set([...fixed, token].flatMap(spellings))]
    .filter((secret) => secret !== '')
    .sort((a, b) => b.length - a.length);
  return (text) => secrets.reduce((kept, secret) => kept.replaceAll(secret, '***'), text);
}

/** The beginning of what came, on one line, printable, without secrets. */
export function excerptOf(text: string, redact: (text: string) => string): string {
  const printable = redact(text.slice(0, SEARCHED_CHARACTERS_MAX)).replaceAll(/[\p{C}\s]+/gu, ' ');
  const line = redact(printable).trim();
  return line.length <= EXCERPT_CHARACTERS_MAX ? line : `${line.slice(0, EXCERPT_CHARACTERS_MAX)}...`;
}
