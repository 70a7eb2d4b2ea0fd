/** Text in the characters that the fonts of a page have. The others are spelled out, and none is lost: docs/decisions/formats.md. */

/** What the fonts have beyond printable ASCII and Latin-1: the rest of the encoding WinAnsi. */
const WIN_ANSI =
  '\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013\u2014\u2018\u2019\u201a\u201c\u201d\u201e\u2020\u2021\u2022\u2026\u2030\u2039\u203a\u20ac\u2122';
/** Without no-break space and soft hyphen, which resemble others. */
const OTHERS = new RegExp(`[^ -~\u00a1-\u00ac\u00ae-\u00ff${WIN_ANSI}]`, 'g');
/** Spaces that a reader would not see, or count. */
const UNSEEN_SPACE = /^ | $|(?<= ) /g;
/** A backslash that would resemble the start of a spelled-out character. */
const LIKE_SPELLED = /\\(?=u[0-9a-f]{4})/g;

/** Each UTF-16 unit, as JSON spells it. */
const spelled = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** `Größe` stays as it is, `支付` becomes `\u652f\u4ed8`. Different texts stay different. */
export const drawable = (text: string): string =>
  text.replace(LIKE_SPELLED, spelled).replace(OTHERS, spelled).replace(UNSEEN_SPACE, spelled);

/** `-1234567.50` as `-1,234,567.50`: every digit stays. */
export function grouped(amount: string): string {
  const [integer = '', ...fraction] = amount.split('.');
  return [integer.replace(/\B(?=(\d{3})+$)/g, ','), ...fraction].join('.');
}
