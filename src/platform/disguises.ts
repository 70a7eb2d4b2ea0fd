/**
 * Finds a secret in a reply even if it is disguised: reversed, in hex, in base64, escaped, in other case, or with
 * characters inserted. Used only for replies that an error quotes.
 */

/** A piece of this many characters, in any form, counts as the secret. Shorter secrets are searched for in full. */
const PIECE_CHARACTERS = 8;
/** Shorter secrets are not searched for, as they occur in any text by chance. */
const SECRET_CHARACTERS_MIN = 6;
/** Only this much of a text is searched; a message quotes far less. */
const SEARCHED_CHARACTERS_MAX = 16_384;

/** Letters and digits only, in lower case. So case and inserted characters make no difference. */
const bare = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

const reversed = (text: string): string => Array.from(text).reverse().join('');

/**
 * The base64 forms of the text at the three positions it can have in a longer text, without the characters that
 * depend on what is around it.
 */
const base64Forms = (text: string): string[] =>
  [0, 1, 2].map((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]);
    const encoded = bytes.toString('base64').replace(/=+$/, '');
    return encoded.slice(before === 0 ? 0 : before + 1, bytes.length % 3 === 0 ? undefined : -1);
  });

const decimals = (text: string): string => [...Buffer.from(text)].join('');

/** Every form that a secret may have, each reduced by `bare`. */
function formsOf(secret: string): string[] {
  const cases = [secret, secret.toLowerCase(), secret.toUpperCase()];
  const both = [...cases, ...cases.map(reversed)];
  const encoded = both.flatMap((text) => {
    const hex = Buffer.from(text).toString('hex');
    const base64 = base64Forms(text);
    return [hex, reversed(hex), decimals(text), ...base64, ...base64.map(reversed)];
  });
  return [...both, ...encoded].map(bare);
}

/** All pieces of that many characters, or the complete form if it is shorter. */
function* piecesOf(form: string, characters: number): Generator<string> {
  if (form.length < SECRET_CHARACTERS_MIN) return;
  for (let at = 0; at === 0 || at + characters <= form.length; at += 1) {
    yield form.slice(at, at + characters);
  }
}

const character = (code: string, base: number): string => {
  const point = Number.parseInt(code, base);
  return point <= 0x10_ff_ff ? String.fromCodePoint(point) : '';
};

/** Replaces the escapes of URLs, JSON and HTML by the characters they mean. */
const unescaped = (text: string): string =>
  text
    .replaceAll(/(?:%|\\x|\\u00|\\u\{|&#x)([0-9a-f]{2})[};]?/gi, (_, code: string) => character(code, 16))
    .replaceAll(/&#(\d{1,7});?/g, (_, code: string) => character(code, 10));

/** Whether the text holds one of the secrets, or a piece of one, in another form. */
export function holdsDisguised(
  text: string,
  secrets: readonly string[],
  pieceCharacters = PIECE_CHARACTERS,
): boolean {
  const searched = text.slice(0, SEARCHED_CHARACTERS_MAX);
  const once = unescaped(searched);
  const views = [searched, searched.replaceAll(/0x|\\x/gi, ''), once, unescaped(once)].map(bare);
  return secrets
    .filter((secret) => bare(secret).length >= SECRET_CHARACTERS_MIN)
    .some((secret) =>
      formsOf(secret).some((form) =>
        [...piecesOf(form, pieceCharacters)].some((piece) => views.some((view) => view.includes(piece))),
      ),
    );
}
