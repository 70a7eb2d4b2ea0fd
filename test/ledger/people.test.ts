import { expect, test } from 'vitest';
import { isSamePerson } from '../../src/ledger/people.ts';

test.each([
  ['case and blanks', 'Ada Lovelace', ' ada  LOVELACE '],
  ['a Cyrillic letter', 'Ada', 'Adа'],
  ['a Cyrillic capital', 'ADA', 'АDA'],
  ['Greek capitals', 'Zoe', 'ΖΟΕ'],
  ['a Greek small letter', 'Ivo', 'Ivο'],
  ['one name in Greek, in both cases', 'Νίκος', 'ΝΙΚΟΣ'],
  ['a letter of full width', 'Ada', 'Ａda'],
  ['a mathematical letter', 'Ada', '𝐀da'],
  ['a small capital', 'Ada', 'ᴀda'],
  ['a letter without a dot', 'Ivi', 'ıvı'],
  ['a digit for a letter', 'Olli', '0111'],
  ['a capital I for an l', 'Olli', 'OIIi'],
  ['two letters for one', 'Mona', 'rnona'],
  ['a character without width', 'Ada', 'A\u200bda'],
  ['a soft hyphen', 'Ada', 'A\u00adda'],
  ['an accent', 'José', 'Jose'],
  ['an accent that is combined', 'Jose\u0301', 'Jos\u00e9'],
  ['punctuation', 'ada.lovelace', 'Ada Lovelace'],
  ['an email address', 'ada.lovelace', 'Ada.Lovelace@example.com'],
  ['two email addresses', 'ada@example.com', 'ada@example.org'],
])('two names with %s are of one person', (_, one, other) => {
  expect(isSamePerson(one, other)).toBe(true);
  expect(isSamePerson(other, one)).toBe(true);
});

test.each([
  ['Ada', 'Grace'],
  ['Ada', 'Adam'],
  ['王芳', '王伟'],
  ['Анна', 'Ольга'],
  ['ada@example.com', 'grace@example.com'],
  ['-', '.'],
])('%s and %s are two persons', (one, other) => {
  expect(isSamePerson(one, other)).toBe(false);
});
