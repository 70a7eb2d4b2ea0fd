/** Whether two names may be of one person. Pure. */
import { showableText } from './text.ts';

/**
 * Characters that read as letters of the Latin alphabet, in lower and in upper case: Cyrillic, Greek, Armenian, Cherokee, Lisu, small
 * capitals, strokes, and digits. After Unicode's table of confusable characters (UTS 39), as far as names may be written with them.
 */
const CONFUSABLES_LOWER: Readonly<Record<string, string>> = {
  a: 'аαɑᴀⲁ',
  b: 'вьβʙƀɓþ',
  c: 'сϲᴄⲥꮯ',
  d: 'ԁᴅđɗ',
  e: 'еєεᴇҽɛ',
  f: 'ғſƒꞙẝ',
  g: 'ցɡɢǥԍ',
  h: 'һнհʜħ',
  i: 'lіıιɪӏ1|ɩʟłⅰǀ',
  j: 'јϳյᴊȷ',
  k: 'кκᴋⲕ',
  m: 'мᴍ',
  n: 'пηոռɴ',
  o: '0оοσօᴏøⲟ๐໐०ഠ೦',
  p: 'рρᴘⲣϱ',
  q: 'ԛզɋ',
  r: 'гʀⲅɼ',
  s: 'ѕꜱʂ',
  t: 'тτᴛŧ',
  u: 'μυսᴜʋ',
  v: 'ѵνᴠ',
  w: 'ԝωաᴡɯѡ',
  x: 'хχᶍⲭ',
  y: 'уγүʏуỿყ',
  z: 'ᴢʐƶ',
};
const CONFUSABLES_UPPER: Readonly<Record<string, string>> = {
  A: 'АΑᎪꓮ',
  B: 'ВΒᏴꓐ',
  C: 'СϹᏟꓚ',
  D: 'ᎠꓓĐ',
  E: 'ЕΕᎬꓰ',
  F: 'ϜꓝҒ',
  G: 'ᏀꓖԌ',
  H: 'НΗᎻꓧҺĦ',
  I: 'LІΙӀᏆꓲꓡᏞ1|ŁꙆ',
  J: 'ЈᎫꓙͿ',
  K: 'КΚᏦꓗ',
  M: 'МΜᎷꓟϺ',
  N: 'Νꓠ',
  O: '0ОΟՕꓳØ',
  P: 'РΡᏢꓑ',
  Q: 'Ԛ',
  R: 'ᎡꓣƦ',
  S: 'ЅՏᏚꓢ',
  T: 'ТΤᎢꓔŦ',
  U: 'Սꓴ',
  V: 'ѴᏙꓦ',
  W: 'ԜᎳꓪ',
  X: 'ХΧꓫ',
  Y: 'УΥҮꓬ',
  Z: 'ΖᏃꓜ',
};

const byConfusable = (table: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(table).flatMap(([letter, alike]) => Array.from(alike, (one) => [one, letter] as const)),
  );
const LOWER = byConfusable(CONFUSABLES_LOWER);
const UPPER = byConfusable(CONFUSABLES_UPPER);

/** Marks, what does not show, blanks, punctuation and signs, but for the bar, which reads as a letter. */
const NOT_COMPARED = /[^\p{L}\p{N}|]/gu;
const DOMAIN = /@.*$/su;

/** How a name reads: in each case, without accents, blanks, punctuation and the domain of an email address. */
function skeletons(name: string): readonly [lower: string, upper: string] {
  const plain = name.normalize('NFKD').replace(DOMAIN, '');
  const readAs = (text: string, table: ReadonlyMap<string, string>): string =>
    Array.from(text.normalize('NFKD').replace(NOT_COMPARED, ''), (one) => table.get(one) ?? one).join('');
  return [
    readAs(plain.toLowerCase(), LOWER).replaceAll('rn', 'm').replaceAll('vv', 'w'),
    readAs(plain.toUpperCase(), UPPER),
  ];
}

/**
 * Whether two names may be of one person: they read alike, whatever their case, accents, blanks and punctuation, or are the same but for
 * the domain of an email address. Where in doubt it is one person, as no one approves their own decision.
 */
export function isSamePerson(one: string, other: string): boolean {
  if (one === other) return true;
  const [first, second] = [skeletons(one), skeletons(other)];
  return first.some((text, at) => text !== '' && text === second[at]);
}

/** The ways in which people log in. */
export interface LoginWays {
  /** Who logs in by password. */
  readonly users?: ReadonlyMap<string, unknown>;
  readonly oidc?: object | null;
  readonly proxy?: object | null;
}

/**
 * Why two names may be of one person, as the end of a sentence; null if they are two persons. Where some people log in by password and
 * others by a provider or a proxy, one of each may be the same person under two names.
 */
export function onePersonReason(
  one: string,
  other: string,
  { users, oidc, proxy }: LoginWays,
): string | null {
  if (isSamePerson(one, other)) return 'no one may approve their own decision';
  const hasTwoWays =
    users !== undefined && users.size > 0 && ((oidc ?? null) !== null || (proxy ?? null) !== null);
  if (!hasTwoWays || users.has(one) === users.has(other)) return null;
  return `${showableText(one)} and ${showableText(other)} log in in different ways, so they may be one person`;
}

const NAME_CHARACTERS_MAX = 100;
/** Characters that cannot be seen or end a line, and the comma, which would make two headers resemble one name. */
const NOT_IN_NAMES = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point},]/u;

/** Whether it can be a person's name, or a group's. One name is written in one way: composed, as Unicode's NFC has it. */
export const isPersonName = (text: string): boolean =>
  text.length >= 1 &&
  text.length <= NAME_CHARACTERS_MAX &&
  text.trim() === text &&
  text === text.normalize('NFC') &&
  !NOT_IN_NAMES.test(text);

/** What a person may see and do at the pages. */
export interface Grant {
  readonly role: 'viewer' | 'operator';
  /** Null: all. */
  readonly merchants: readonly string[] | null;
}
