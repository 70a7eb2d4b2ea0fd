/** What is kept of a text next to a manifest: a signature, which is withdrawn when its manifest is replaced. */
import { expect, test } from 'vitest';
import { WITHDRAWN } from '../../src/statements/keys.ts';
import { signatureIn, signed } from '../../src/statements/write-manifest.ts';
import type { ManifestRow } from '../../src/store/statements/stored-files.ts';

const known = { isSignature: (text: string) => text.startsWith('signed') };

test('where signatures can be read, a text that is none is not kept', () => {
  const read = (text: string | null) => signatureIn(text, known as Parameters<typeof signatureIn>[1]);
  expect(['signed by ada', 'unsigned', 'signed\0', '', null].map(read)).toEqual([
    'signed by ada',
    ...[null, null, null, null],
  ]);
});

test('where no option reads them, any text is kept, so that it does not stay next to another manifest', () => {
  const kept = ['signed by ada', 'unsigned', WITHDRAWN, '', null].map((text) => signatureIn(text, null));
  expect(kept).toEqual(['signed by ada', 'unsigned', null, null, null]);
  const row = { content: '{}' } as ManifestRow;
  const now = () => new Date(0);
  expect(kept.map((before) => signed(row, before, { now }).signature)).toEqual([
    ...[WITHDRAWN, WITHDRAWN],
    ...[null, null, null],
  ]);
});
