/** `DAYBOOK_SIGNING_KEY`: what it may be, and that no message repeats it. */
import { expect, test } from 'vitest';
import { keyFile, keyPairOf } from '../../src/signing.ts';
import { loadSettings } from '../../src/settings/load.ts';

const PAIR = keyPairOf(Buffer.alloc(32, 7), Buffer.alloc(8, 1));

const load = (key: string) =>
  loadSettings({ env: { DAYBOOK_SIGNING_KEY: key }, readFile: () => '', needs: [] }).signingKey;

test('it is a secret key, as its line or as its file', () => {
  for (const key of [PAIR.secretKey, keyFile('secret', PAIR)])
    expect(load(key)).toMatchObject({ name: PAIR.id, text: PAIR.publicKey });
});

test.each([
  [PAIR.publicKey, 'DAYBOOK_SIGNING_KEY is a public key, where the secret one is needed'],
  ['correct horse battery staple', 'DAYBOOK_SIGNING_KEY is no secret key of minisign'],
])('what is none is refused, and not shown: %#', (key, problem) => {
  const refused = (): unknown => load(key);
  expect(refused).toThrow(problem);
  expect(refused).not.toThrow(key);
});
