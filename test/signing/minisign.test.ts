/** Keys and signatures are minisign's own: each program checks what the other one made. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  isSecretKey,
  isSignature,
  keyFile,
  keyPairOf,
  readPublicKey,
  readSigningKey,
} from '../../src/signing.ts';
import { minisign } from './minisign.ts';

const run = promisify(execFile);
const PAIR = keyPairOf(Buffer.alloc(32, 7), Buffer.from('0102030405060708', 'hex'));
const KEY = signingKey(PAIR.secretKey);
const PUBLIC = readPublicKey(PAIR.publicKey)!;
const OTHER = keyPairOf(Buffer.alloc(32, 8), Buffer.from('0807060504030201', 'hex'));
const CONTENT = Buffer.from('{ "day": "2026-03-31" }\n');

function signingKey(text: string) {
  const key = readSigningKey(text);
  if (typeof key === 'string') throw new Error(key);
  return key;
}

const changed = (text: string, at: number): string => {
  const bytes = Buffer.from(text, 'base64');
  bytes[at]! ^= 1;
  return bytes.toString('base64');
};

describe('keys', () => {
  test('a pair is known by the name of its key, and the secret half knows the public one', () => {
    expect(PAIR).toMatchObject({ id: '0807060504030201', publicKey: expect.stringMatching(/^RW[^ ]{54}$/) });
    for (const key of [KEY, PUBLIC]) expect(key).toMatchObject({ name: PAIR.id, text: PAIR.publicKey });
  });

  test('both are read from their line or from their whole file', () => {
    expect(isSecretKey(PAIR.secretKey)).toBe(true);
    expect(signingKey(keyFile('secret', PAIR)).text).toBe(PAIR.publicKey);
    expect(readPublicKey(keyFile('public', PAIR).replaceAll('\n', '\r\n'))?.text).toBe(PAIR.publicKey);
  });

  test.each([
    ['text that is no key', 'correct horse battery staple', /^is no secret key of minisign/],
    ['a public key', PAIR.publicKey, /^is a public key/],
    ['a changed byte', changed(PAIR.secretKey, 80), /^is damaged/],
    ['a key with a password', changed(PAIR.secretKey, 2), /^is encrypted with a password/],
  ])('%s is refused, and not repeated', (_, text, problem) => {
    const reported = readSigningKey(text);
    expect(reported).toMatch(problem);
    expect(reported).not.toContain(text);
    expect(isSecretKey(text)).toBe(false);
  });

  test('what is no public key is none', () => {
    expect(readPublicKey(PAIR.secretKey)).toBeNull();
    expect(readPublicKey('RW')).toBeNull();
    expect(readPublicKey('')).toBeNull();
  });
});

describe('signatures', () => {
  const text = KEY.sign(CONTENT, 'a comment');
  const right = { keyName: PAIR.id, isRight: true };
  const wrong = { keyName: PAIR.id, isRight: false };

  test('are checked together with their trusted comment', () => {
    expect(text).toContain('\ntrusted comment: a comment\n');
    for (const key of [KEY, PUBLIC]) expect(key.check(CONTENT, text)).toEqual(right);
    expect(PUBLIC.check(Buffer.from('other'), text)).toEqual(wrong);
    expect(PUBLIC.check(CONTENT, text.replace('a comment', 'another'))).toEqual(wrong);
    expect(readPublicKey(OTHER.publicKey)!.check(CONTENT, text)).toEqual(wrong);
  });

  test('of a key with the same name are wrong', () => {
    const same = keyPairOf(Buffer.alloc(32, 8), Buffer.from('0102030405060708', 'hex'));
    expect(readPublicKey(same.publicKey)!.check(CONTENT, text)).toEqual(wrong);
  });

  test('are one signature whatever the comment holds', () => {
    const hostile = KEY.sign(CONTENT, 'M-1\nRWfake\r\u2028trusted comment: paid');
    expect(hostile.split('\n')).toHaveLength(5);
    expect(hostile).toContain('\ntrusted comment: M-1\\nRWfake\\r\\u2028trusted comment: paid\n');
    expect(PUBLIC.check(CONTENT, hostile)).toEqual(right);
  });

  test.each(['', 'x', text.replace('trusted comment: a', 'comment: a'), `${text}more\n`, text.slice(0, -9)])(
    'are none where a line is missing or too many: %#',
    (none) => {
      expect(isSignature(none)).toBe(false);
      expect(PUBLIC.check(CONTENT, none)).toBeNull();
    },
  );
});

describe.skipIf(minisign === null)('with minisign', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'daybook-minisign-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  test('minisign checks what daybook signed, and refuses what was changed', async () => {
    const file = join(folder, 'manifest.json');
    await writeFile(file, CONTENT);
    await writeFile(`${file}.minisig`, KEY.sign(CONTENT, 'of a test'));
    const { stdout } = await run(minisign!, ['-V', '-m', file, '-P', PAIR.publicKey]);
    expect(stdout).toBe('Signature and comment signature verified\nTrusted comment: of a test\n');
    await writeFile(file, 'changed');
    await expect(run(minisign!, ['-V', '-m', file, '-P', PAIR.publicKey])).rejects.toMatchObject({ code: 1 });
  });

  test.each([
    ['hashed', ['-H']],
    ['the older way', ['-l']],
  ])('daybook checks what minisign signed with its key, %s', async (_, flags) => {
    const file = join(folder, 'file');
    await writeFile(file, CONTENT);
    await writeFile(join(folder, 'key'), keyFile('secret', PAIR), { mode: 0o600 });
    await run(minisign!, ['-S', ...flags, '-s', join(folder, 'key'), '-m', file, '-t', 'by hand']);
    const signature = await readFile(`${file}.minisig`, 'utf8');
    expect(signature).toContain('\ntrusted comment: by hand\n');
    expect(PUBLIC.check(CONTENT, signature)).toEqual({ keyName: PAIR.id, isRight: true });
  });

  test('daybook signs with a key that minisign made without a password', async () => {
    await run(minisign!, ['-G', '-W', '-p', join(folder, 'pub'), '-s', join(folder, 'key')]);
    const key = signingKey(await readFile(join(folder, 'key'), 'utf8'));
    const file = join(folder, 'file');
    await writeFile(file, CONTENT);
    await writeFile(`${file}.minisig`, key.sign(CONTENT, 'x'));
    await run(minisign!, ['-V', '-m', file, '-p', join(folder, 'pub')]);
  });
});
