import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cutText, storableText } from '../../src/ledger/text.ts';

const anyText = fc.string({ unit: fc.constantFrom('a', '\0', '\ud83d', '\ude00', '\u{1f600}', 'é') });

test('storable text is well-formed, without NUL, and as it was where it could be stored before', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const stored = storableText(text);
      expect(stored.isWellFormed() && !stored.includes('\0')).toBe(true);
      expect(stored).toHaveLength(text.length);
      if (text.isWellFormed() && !text.includes('\0')) expect(stored).toBe(text);
    }),
  );
});

test('a text cut to a length stays well-formed, and loses no character more than it has to', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.nat(30), (text, max) => {
      const cut = cutText(text, max);
      expect(cut.isWellFormed() && text.startsWith(cut) && cut.length <= max).toBe(true);
      expect(cut.length).toBeGreaterThanOrEqual(Math.min(text.length, max) - 1);
    }),
  );
});
