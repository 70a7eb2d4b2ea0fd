/** Text in the characters of SWIFT (set X), cut into lines as a field wants them. */
import anyAscii from 'any-ascii';

/** Set X without line ends. */
const ALLOWED = /^[A-Za-z0-9/\-?:().,'+ ]*$/;
const OTHERS = /[^A-Za-z0-9/\-?:().,'+ ]/g;
/** The most similar characters in set X. */
const LIKE: Readonly<Record<string, string>> = {
  ...{ _: '-', '"': "'", '`': "'", '&': '+', '@': '(at)', '[': '(', ']': ')', '{': '(', '}': ')' },
  ...{ ';': ',', '!': '.', '=': '-', '|': '/', '\\': '/' },
};

/** A character in others; without a similar one it becomes a dot. */
const spelled = (character: string): string =>
  (anyAscii(character) || '.').replace(OTHERS, (one) => LIKE[one] ?? '.');

/** The text in SWIFT's characters: Größe becomes Grosse, 支付 becomes ZhiFu. */
export const swiftText = (text: string): string =>
  ALLOWED.test(text) ? text : Array.from(text, spelled).join('');

const LINE_CHARACTERS_MAX = 65;
const LINES_MAX = 6;
/** Some readers take 390 characters with the ends of lines, and cut the rest. */
const TEXT_CHARACTERS_MAX = LINES_MAX * LINE_CHARACTERS_MAX - (LINES_MAX - 1);
const CUT = '...';
/** A line that begins so would be read as a field or as the end of the message. */
const STARTS_NO_LINE = /^[:-]/;

/** The lines of a field 86. What does not fit is cut, and ends with dots. */
export function linesOf(text: string): string[] {
  const lines: string[] = [];
  let rest = text.length <= TEXT_CHARACTERS_MAX ? text : cut(text, TEXT_CHARACTERS_MAX);
  while (rest !== '' && lines.length < LINES_MAX) {
    let end = LINE_CHARACTERS_MAX;
    while (end > 1 && STARTS_NO_LINE.test(rest.slice(end))) end -= 1;
    if (end === 1) end = LINE_CHARACTERS_MAX;
    lines.push(rest.slice(0, end));
    rest = rest.slice(end).replace(STARTS_NO_LINE, '.');
  }
  // Lines that had to end early leave too little space.
  if (rest !== '') lines.push(cut(lines.pop()!, LINE_CHARACTERS_MAX));
  return lines;
}

const cut = (text: string, length: number): string => text.slice(0, length - CUT.length) + CUT;
