/** What a name may hold, and which identifiers are IBANs. */
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { describedText, isIban, isMistypedIban, nameProblem, storedName } from '../../src/ledger/names.ts';

/** Examples of the registry of IBANs (SWIFT), the shortest and the longest among them. */
const IBANS = [
  ...[
    'NO9386011117947',
    'DE89370400440532013000',
    'GB29NWBK60161331926819',
    'MT84MALT011000012345MTLCAST001S',
  ],
  ...['LC55HEMM000100010012001200023015', 'RU0304452522540817810538091310419'],
];

it.each(IBANS)('%s is an IBAN, and with any one character changed it is none', (iban) => {
  expect([isIban(iban), isMistypedIban(iban)]).toEqual([true, false]);
  const position = fc.integer({ min: 2, max: iban.length - 1 });
  fc.assert(
    fc.property(position, fc.constantFrom(...'0123456789'.split('')), (at, digit) => {
      fc.pre(/\d/.test(iban[at]!) && iban[at] !== digit);
      const wrong = iban.slice(0, at) + digit + iban.slice(at + 1);
      expect([isIban(wrong), isMistypedIban(wrong)]).toEqual([false, true]);
    }),
  );
});

it.each([
  '',
  '10001USD',
  'ACC-7',
  'de89370400440532013000',
  'DE00',
  'DE8937040044053201300012345678901234567',
])('“%s” is no IBAN, and is not taken for a mistyped one', (text) =>
  expect([isIban(text), isMistypedIban(text)]).toEqual([false, false]),
);

it('check digits of 00, 01 and 99 are none, though the remainder may hold', () => {
  // 98 and 01 have one remainder by 97.
  const account = '370400440532013';
  const found = Array.from({ length: 1_000 }, (_, nth) => String(nth).padStart(3, '0')).find((end) =>
    isIban(`DE98${account}${end}`),
  );
  expect(found).toBeDefined();
  expect(isIban(`DE01${account}${found!}`)).toBe(false);
});

describe('a name', () => {
  test('is stored without blanks around it and composed, an identifier without any blanks and in capitals', () => {
    expect(storedName('name', '  Cafe\u0301 & Söhne ')).toBe('Caf\u00e9 & Söhne');
    expect(storedName('iban', ' de89 3704\u00a00044 0532 0130 00 ')).toBe('DE89370400440532013000');
    expect(storedName('ledgerAccount', ' 12 10 ')).toBe('12 10');
  });

  test.each([
    'Acme & Söhne <GmbH>',
    '支付宝（中国）网络技术有限公司',
    'שלום בע״מ',
    '=1+1',
    'a'.repeat(140),
    '𝄞'.repeat(140),
  ])('may be %s', (text) => expect(nameProblem('name', text)).toBeNull());

  test.each(['two\nlines', 'turned\u202e', 'hidden\u200b', 'nul\0', 'half\ud83d'])('may not be %j', (text) =>
    expect(nameProblem('name', text)).toBe(
      'holds a line break or a character that does not show; leave it out',
    ),
  );

  test('may have so many characters, and a reference fewer', () => {
    expect(nameProblem('name', 'a'.repeat(141))).toBe('has 141 characters; it may have 140');
    expect(nameProblem('reference', '支'.repeat(36))).toBe('has 36 characters; it may have 35');
  });

  test('is described with its references, and nothing where there is none', () => {
    const account = { name: 'Settlement', iban: 'DE89370400440532013000', ledgerAccount: '1210' };
    expect(describedText(account)).toBe('Settlement, IBAN DE89370400440532013000, ledger account 1210');
    expect(describedText({ iban: 'ACC-7' })).toBe('identifier ACC-7');
    expect([describedText({}), describedText()]).toEqual(['', '']);
  });
});
