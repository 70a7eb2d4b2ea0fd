import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { elementTexts, parseExactJson, type ExactJson } from '../../src/platform/exact-json.ts';

/** What an exact reading should give, told by the language itself: numbers as {digits}. */
const byReviver = (text: string): unknown => {
  const reveal = (_key: string, value: unknown, context?: { readonly source: string }): unknown =>
    typeof value === 'number' ? { digits: context!.source } : value;
  return JSON.parse(text, reveal);
};
const revealed = (
  { value, digitsOf }: ExactJson,
  told: (digits: string) => unknown = (digits) => ({ digits }),
): unknown => {
  const reveal = (part: unknown): unknown => {
    const digits = digitsOf(part);
    if (digits !== null) return told(digits);
    if (Array.isArray(part)) return part.map(reveal);
    if (typeof part !== 'object' || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([key, inner]) => [key, reveal(inner)]));
  };
  return reveal(value);
};

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('1', '"', '\\', '\\"', ': 12', '\u007f1', '\u0080', '{"a":1}', '[-1e5]', '\\u007f', '列'),
);
const digits = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(fc.constant('0'), fc.stringMatching(/^[1-9]\d{0,25}$/)),
    fc.option(fc.stringMatching(/^\d{1,20}$/), { nil: null }),
    fc.option(fc.stringMatching(/^[eE][+-]?\d{1,3}$/), { nil: null }),
  )
  .map(
    ([sign, whole, fraction, exponent]) =>
      `${sign}${whole}${fraction === null ? '' : `.${fraction}`}${exponent ?? ''}`,
  );
const space = fc.constantFrom('', ' ', '\n', '\t', '\r\n ');
/** Spells a text in JSON, now and then with needless escapes. */
const spelled = fc
  .tuple(anyText, fc.boolean())
  .map(([text, escaped]) =>
    escaped
      ? `"${Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`
      : JSON.stringify(text),
  );
const { json } = fc.letrec<{ json: string; list: string; mapping: string }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small' },
    digits,
    spelled,
    fc.constantFrom('null', 'true', 'false'),
    tie('list'),
    tie('mapping'),
  ),
  list: fc
    .tuple(fc.array(tie('json'), { maxLength: 4 }), space)
    .map(([parts, gap]) => `[${gap}${parts.join(`${gap},`)}${gap}]`),
  mapping: fc
    .tuple(
      // Of a key given twice the language's parser keeps the last value and forgets its source text.
      fc.uniqueArray(fc.tuple(spelled, tie('json')), {
        maxLength: 4,
        selector: ([key]) => JSON.parse(key) as string,
      }),
      space,
    )
    .map(
      ([parts, gap]) =>
        `{${parts.map(([key, value]) => `${gap}${key}${gap}:${gap}${value}`).join(',')}${gap}}`,
    ),
}));

describe('exact JSON', () => {
  test('keeps digits that a JS number would lose', () => {
    const { value, digitsOf } = parseExactJson(
      '{"a":12345678901234567.89,"b":1E+3,"c":0.10,"d":"1.5","e":-0,"f":null}',
    );
    const fields = value as Record<string, unknown>;
    expect(Object.values(fields).map(digitsOf)).toEqual([
      '12345678901234567.89',
      '1E+3',
      '0.10',
      null,
      '-0',
      null,
    ]);
    expect(fields).toMatchObject({ d: '1.5', f: null });
  });

  test('gives any JSON as the language’s own parser with its source text does', () => {
    fc.assert(
      fc.property(json, (text) => {
        expect(revealed(parseExactJson(text))).toEqual(byReviver(text));
      }),
      { numRuns: 1_000 },
    );
  });

  test('refuses exactly what the language refuses', () => {
    const broken = fc
      .tuple(
        json,
        fc.nat(),
        fc.nat({ max: 3 }),
        fc.constantFrom('', '1', '-', '.', '"', ',', ':', '0', 'e', '{', ']', '1:', ' '),
      )
      .map(
        ([text, at, drop, put]) =>
          text.slice(0, at % (text.length + 1)) + put + text.slice((at % (text.length + 1)) + drop),
      );
    const reading = (read: (text: string) => unknown, text: string): unknown => {
      try {
        return read(text);
      } catch (error) {
        return (error as Error).name;
      }
    };
    fc.assert(
      fc.property(broken, (text) => {
        expect(reading((given) => revealed(parseExactJson(given), Number), text)).toEqual(
          reading(JSON.parse, text),
        );
      }),
      { numRuns: 3_000 },
    );
  });

  test.each([
    '{1:2}',
    '{"a":1 2}',
    '01',
    '1.',
    '.5',
    '-',
    '+1',
    '1e',
    'NaN',
    '[1,]',
    '"a',
    '',
    '{"a":-"b"}',
    '0x1',
    '1_0',
  ])('refuses %s', (text) => expect(() => parseExactJson(text)).toThrow(SyntaxError));
});

describe('the texts of a list’s elements', () => {
  test('come exactly as sent, however they are spelled', () => {
    fc.assert(
      fc.property(fc.array(json, { maxLength: 5 }), json, space, (elements, other, gap) => {
        const list = `[${gap}${elements.join(`${gap},${gap}`)}${gap}]`;
        const text = `${gap}{"other":${other},"l\\u0069st"${gap}:${gap}${list}${gap},"after":${other}}`;
        expect(elementTexts(text, 'list')).toEqual(elements);
      }),
      { numRuns: 500 },
    );
  });

  test('the last of two lists counts, one deeper down does not', () => {
    expect(elementTexts('{"a":{"list":[1]},"list":[2,3],"list":[4]}', 'list')).toEqual(['4']);
    expect(elementTexts('{"a":{"list":[1]},"b":"list"}', 'list')).toEqual([]);
  });
});
