import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRedactor } from '../../src/platform/secrets.ts';

const TOKEN = 'tok/3f9B1c-Very=Secret';
const redactorOf = (token: string) =>
  createRedactor({
    headers: { Authorization: `Bearer ${token}`, merchantNo: 'M1' },
    secrets: [token],
    known: ['M1'],
  });
const redact = redactorOf(TOKEN);
const NOT_SHOWN = '(it repeats a secret in another form and is not shown)';

const hex = (text: string) => Buffer.from(text).toString('hex');
const base64 = (text: string) => Buffer.from(text).toString('base64');
const reversed = (text: string) => Array.from(text).reverse().join('');
const swapped = (text: string) =>
  Array.from(text)
    .map((one) => (one === one.toLowerCase() ? one.toUpperCase() : one.toLowerCase()))
    .join('');
const escaped = (text: string, as: (code: number) => string) => [...Buffer.from(text)].map(as).join('');

const DISGUISES: Readonly<Record<string, (token: string) => string>> = {
  hex,
  'hex in capitals': (token) => hex(token).toUpperCase(),
  'hex with colons': (token) => hex(token).replaceAll(/(..)(?!$)/g, '$1:'),
  'hex bytes': (token) => escaped(token, (code) => `0x${code.toString(16)}, `),
  reversed,
  'base64 of more': (token) => base64(`Bearer ${token}`),
  'base64 of even more': (token) => base64(`my ${token}, and so on`),
  'base64 for URLs': (token) => Buffer.from(token).toString('base64url'),
  'base64 of it reversed': (token) => base64(reversed(token)),
  'base64 in lines': (token) => base64(token).replaceAll(/(.{8})/g, '$1\n'),
  'every character of a URL': (token) => escaped(token, (code) => `%${code.toString(16)}`),
  'URL-encoded twice': (token) => escaped(token, (code) => `%25${code.toString(16)}`),
  'escapes of JSON': (token) => escaped(token, (code) => String.raw`\u00${code.toString(16)}`),
  'entities of HTML': (token) => escaped(token, (code) => `&#${code};`),
  'decimal bytes': (token) => JSON.stringify([...Buffer.from(token)]),
  'small letters': (token) => token.toLowerCase(),
  capitals: (token) => token.toUpperCase(),
  'the other case': swapped,
  'letter by letter': (token) => Array.from(token).join(' '),
  'in two': (token) => `${token.slice(0, 9)} and then ${token.slice(9)}`,
};

describe('a token that a reply repeats', () => {
  test.each(Object.keys(DISGUISES))('as %s is not shown', (name) => {
    const shown = redact(`{"message":"no such token: ${DISGUISES[name]!(TOKEN)}"}`);
    expect([NOT_SHOWN, '{"message":"no such token: ***"}']).toContain(shown);
  });

  test('in any of these forms is not shown, whatever the token and the text around it', () => {
    const printable = fc.string({
      unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
      minLength: 16,
      maxLength: 80,
    });
    const worth = printable.filter((token) => token.replaceAll(/[^a-z0-9]/gi, '').length >= 12);
    fc.assert(
      fc.property(
        worth,
        fc.constantFrom(...Object.keys(DISGUISES).filter((name) => name !== 'in two')),
        fc.string(),
        (token, name, around) => {
          const disguised = DISGUISES[name]!(token);
          const shown = redactorOf(token)(`${around} ${disguised} ${around}`);
          return !shown.includes(disguised);
        },
      ),
    );
  });

  test.each(['a-1B2c3D', 'q7Zk1x'])('is not shown in base64 either where it is short: %s', (token) => {
    for (const before of ['', 'x', 'xy']) {
      const disguised = base64(`${before}${token}, and so on`);
      expect(redactorOf(token)(`no such token: ${disguised}`)).not.toContain(disguised);
    }
  });

  test('unchanged is replaced, and the rest of the reply is shown', () => {
    expect(redact(`signature of ${TOKEN} wrong`)).toBe('signature of *** wrong');
    expect(redact('E401: the signature is wrong for merchant M1')).toBe(
      'E401: the signature is wrong for merchant M1',
    );
  });
});

test('a long reply without a secret is shown', () => {
  const letters = fc.string({
    unit: fc.constantFrom(...Array.from('abcdefghij ')),
    minLength: 0,
    maxLength: 300,
  });
  fc.assert(fc.property(letters, (text) => redact(text) === text));
});
