/**
 * Finds a secret that a reply repeats in another form: reversed, in hex, in base64, escaped, in other case, with
 * something between its letters. Asked only of replies that an error quotes.
 */

/** A piece of a secret this long, in any form, is taken for the secret; shorter secrets are looked for whole. */
const PIECE_CHARACTERS = 8;
/** Below this, chance alone finds it in any text. */
const SECRET_CHARACTERS_MIN = 6;
/** Of a text no more is searched: a message repeats far less. */
const SEARCHED_CHARACTERS_MAX = 16_384;

/** Letters and digits alone, small: what stands between them and their case do not matter. */
const bare = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

const reversed = (text: string): string => Array.from(text).reverse().join('');

/** Base64 of the text wherever in a longer one it begins, without the characters that depend on its neighbours. */
const base64Forms = (text: string): string[] =>
  [0, 1, 2].map((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]);
    const whole = bytes.toString('base64').replace(/=+$/, '');
    return whole.slice(before === 0 ? 0 : before + 1, bytes.length % 3 === 0 ? undefined : -1);
  });

const decimals = (text: string): string => [...Buffer.from(text)].join('');

/** Every form a secret may take, each bare. */
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

/** Runs of a form that are so long, or a short form whole. */
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

/** Escapes of URLs, JSON and HTML read as the characters they stand for. */
const unescaped = (text: string): string =>
  text
    .replaceAll(/(?:%|\\x|\\u00|\\u\{|&#x)([0-9a-f]{2})[};]?/gi, (_, code: string) => character(code, 16))
    .replaceAll(/&#(\d{1,7});?/g, (_, code: string) => character(code, 10));

/** Whether the text holds one of the secrets, or a good piece of it, in a form other than its own. */
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
