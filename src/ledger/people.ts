/** Whether two names may be of one person. Pure. */

/**
 * Letters that look like letters of the Latin alphabet, in lower and in upper case: Cyrillic, Greek, Armenian, Cherokee, Lisu, small
 * capitals, strokes, and digits. After Unicode's table of confusable characters (UTS 39), as far as names may be written with them.
 */
const LOOK_ALIKES_LOWER: Readonly<Record<string, string>> = {
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
const LOOK_ALIKES_UPPER: Readonly<Record<string, string>> = {
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

const byLookAlike = (table: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(table).flatMap(([letter, alike]) => Array.from(alike, (one) => [one, letter] as const)),
  );
const LOWER = byLookAlike(LOOK_ALIKES_LOWER);
const UPPER = byLookAlike(LOOK_ALIKES_UPPER);

/** Marks, what does not show, blanks, punctuation and signs, but for the bar, which looks like a letter. */
const NOT_COMPARED = /[^\p{L}\p{N}|]/gu;
const DOMAIN = /@.*$/su;

/** What a name looks like: in each case, without accents, blanks, punctuation and the domain of an email address. */
function skeletons(name: string): readonly [lower: string, upper: string] {
  const plain = name.normalize('NFKD').replace(DOMAIN, '');
  const looksLike = (text: string, table: ReadonlyMap<string, string>): string =>
    Array.from(text.normalize('NFKD').replace(NOT_COMPARED, ''), (one) => table.get(one) ?? one).join('');
  return [
    looksLike(plain.toLowerCase(), LOWER).replaceAll('rn', 'm').replaceAll('vv', 'w'),
    looksLike(plain.toUpperCase(), UPPER),
  ];
}

/**
 * Whether two names may be of one person: they look alike, whatever their case, accents, blanks and punctuation, or are the same but for
 * the domain of an email address. Where in doubt it is one person, as nobody approves their own decision.
 */
export function isSamePerson(one: string, other: string): boolean {
  if (one === other) return true;
  const [first, second] = [skeletons(one), skeletons(other)];
  return first.some((text, at) => text !== '' && text === second[at]);
}
