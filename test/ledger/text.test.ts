import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cutText, showableLines, showableText, storableText } from '../../src/ledger/text.ts';

const anyText = fc.string({ unit: fc.constantFrom('a', '\0', '\ud83d', '\ude00', '\u{1f600}', 'é') });

test('storable text is well-formed and without NUL, and unchanged if it could be stored before', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const stored = storableText(text);
      expect(stored.isWellFormed() && !stored.includes('\0')).toBe(true);
      expect(stored).toHaveLength(text.length);
      if (text.isWellFormed() && !text.includes('\0')) expect(stored).toBe(text);
    }),
  );
});

test('a text cut to a length stays well-formed, and loses no more characters than necessary', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.nat(30), (text, max) => {
      const cut = cutText(text, max);
      expect(cut.isWellFormed() && text.startsWith(cut) && cut.length <= max).toBe(true);
      expect(cut.length).toBeGreaterThanOrEqual(Math.min(text.length, max) - 1);
    }),
  );
});

test('shown text is one line of visible characters, and JSON in it keeps its meaning', () => {
  const unit = fc.constantFrom(
    'a',
    '"',
    '\\',
    '深',
    '\n',
    '\r',
    '\u001b',
    '\u009b',
    '\u202e',
    '\u2066',
    '\u200b',
    '\ud800',
    '\ufeff',
  );
  fc.assert(
    fc.property(fc.string({ unit }), (text) => {
      expect(showableText(text)).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u);
      expect(showableLines(text).replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u);
      expect(JSON.parse(showableLines(JSON.stringify({ text }, null, 2)))).toEqual({ text });
      expect(JSON.parse(showableText(JSON.stringify(text)))).toBe(text);
    }),
  );
});

test.each([
  ['one\r\ntwo\tthree', String.raw`one\r\ntwo\tthree`],
  ['\u001b[2J', String.raw`\u001b[2J`],
  ['abc\u202ecba', String.raw`abc\u202ecba`],
  ['tag\u{e0041}', String.raw`tag\udb40\udc41`],
  ['深圳 Zoë 👍', '深圳 Zoë 👍'],
])('%j is shown as %s', (text, shown) => {
  expect(showableText(text)).toBe(shown);
});
