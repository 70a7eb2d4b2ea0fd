/** Whether a password is one that many people have, or a simple variation of one: guessers try these first. */
import { readFileSync } from 'node:fs';
import { packageFile } from '../../../host/files.ts';

/** A password that repeats so few characters is one of few. */
const REPEATED_CHARACTERS_MAX = 4;
/** Words that a guesser tries here. */
const OF_THIS_PLACE = [
  'daybook',
  'finance',
  'ledger',
  'merchant',
  'operator',
  'payment',
  'payments',
  'statement',
  'statements',
  'viewer',
];
const ROW_CHARACTERS_MIN = 6;
/** So few characters around a row are quickly tried. */
const AROUND_ROW_MAX = 4;
const ROWS = [
  '1234567890',
  'abcdefghijklmnopqrstuvwxyz',
  'qwertyuiopasdfghjklzxcvbnm',
  'qazwsxedcrfvtgbyhnujmikolp',
];
/** Each row twice, so that it may be begun anew, and backwards too. */
const KEYS = ROWS.map((row) => row + row).flatMap((row) => [row, row.split('').reverse().join('')]);
const LETTER_OF: Readonly<Record<string, string>> = {
  ...{ '@': 'a', '4': 'a', '3': 'e', '1': 'i', '!': 'i', '0': 'o', '5': 's', $: 's', '7': 't' },
};

const readCommon = (): ReadonlySet<string> =>
  new Set(
    readFileSync(packageFile('src/plugins/pages/access/common-passwords.txt'), 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#')),
  );

/**
 * True for a password of the list (`common-passwords.txt`) in whatever case, with digits and signs around it, with digits in place
 * of letters, or repeated; for words of this trade; and for keys in a row with little else.
 */
export function isCommonPassword(password: string): boolean {
  const common = new Set([...readCommon(), ...OF_THIS_PLACE]);
  const text = password.normalize('NFKC').toLowerCase();
  const bare = text.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, '');
  const spelled = (given: string): string => given.replace(/[@431!05$7]/g, (sign) => LETTER_OF[sign]!);
  return [text, bare, spelled(text), spelled(bare), bare.replace(/[^\p{L}\p{N}]/gu, '')].some((one) => {
    const unit = /^(.+?)\1+$/u.exec(one)?.[1] ?? one;
    const isRepeated = unit !== one && unit.length <= REPEATED_CHARACTERS_MAX;
    return common.has(one) || common.has(unit) || isRepeated || isRow(one) || isRow(unit) || isMostlyRow(one);
  });
}

/** Keys in a row with little else, or two rows in turns: `1234567890ab`, `a1b2c3d4e5f6`. */
function isMostlyRow(text: string): boolean {
  const letters = Array.from(text);
  const [even, odd] = [0, 1].map((rest) => letters.filter((_, at) => at % 2 === rest).join(''));
  if (isRow(even!) && isRow(odd!)) return true;
  for (let at = 0; at + ROW_CHARACTERS_MIN <= letters.length; at += 1)
    for (let end = letters.length; end - at >= ROW_CHARACTERS_MIN; end -= 1)
      if (isRow(letters.slice(at, end).join(''))) return letters.length - (end - at) <= AROUND_ROW_MAX;
  return false;
}

const isRow = (text: string): boolean => text.length > 3 && KEYS.some((row) => row.includes(text));
