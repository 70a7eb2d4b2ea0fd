/** What is kept of a text next to a manifest: a signature, which is withdrawn when its manifest is replaced. */
import { expect, test } from 'vitest';
import { keyPairOf, readSigningKey } from '../../src/signing.ts';
import { WITHDRAWN } from '../../src/verify/names.ts';
import { signatureIn, signed } from '../../src/statements/write-manifest.ts';
import type { ManifestRow } from '../../src/store/statements/stored-files.ts';

const key = readSigningKey(keyPairOf(Buffer.alloc(32, 7), Buffer.alloc(8, 1)).secretKey);
if (typeof key === 'string') throw new Error(key);
const signature = key.sign(Buffer.from('{}'), 'a comment');

test('a signature is kept, and a text that is none is not', () => {
  const given = [signature, 'signed by ada', `${signature}\0`, WITHDRAWN, '', null];
  expect(given.map((text) => signatureIn(text))).toEqual([signature, null, null, null, null, null]);
});

test('a signature that is kept is withdrawn once its manifest is replaced', () => {
  const row = { content: '{}' } as ManifestRow;
  const now = () => new Date(0);
  expect([signature, null].map((before) => signed(row, before, { now }).signature)).toEqual([
    WITHDRAWN,
    null,
  ]);
});
