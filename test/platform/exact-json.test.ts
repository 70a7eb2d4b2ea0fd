import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { elementTexts, parseExactJson, type ExactJson } from '../../src/platform/exact-json.ts';

/** The document, with each number as `{digits}`. */
const revealed = ({ value, digitsOf }: ExactJson): unknown => {
  const reveal = (part: unknown): unknown => {
    const digits = digitsOf(part);
    if (digits !== null) return { digits };
    if (Array.isArray(part)) return part.map(reveal);
    if (typeof part !== 'object' || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([name, inner]) => [name, reveal(inner)]));
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
/** JSON text as it may be sent, and its value; `digits` stands for a number. */
interface Sent {
  readonly text: string;
  readonly value: unknown;
}

/** Writes a text as JSON, sometimes with needless escapes. */
const spelled = fc.tuple(anyText, fc.boolean()).map(([value, escaped]) => {
  const units = Array.from({ length: value.length }, (_, at) =>
    value.charCodeAt(at).toString(16).padStart(4, '0'),
  );
  return { text: escaped ? `"${units.map((unit) => `\\u${unit}`).join('')}"` : JSON.stringify(value), value };
});
/** Keys are written without escapes, because V8 confuses keys such as `"\\""` and `"\\\\"` once it has seen both. */
const key = fc.oneof(
  fc.stringMatching(/^[^"\\\p{C}]{0,8}$/u),
  fc.constantFrom('batchNo', '1', ': 1', '\u007f'),
);
const { sent } = fc.letrec<{ sent: Sent; list: Sent; mapping: Sent }>((tie) => ({
  sent: fc.oneof(
    { depthSize: 'small' },
    digits.map((text) => ({ text, value: { digits: text } })),
    spelled,
    fc.constantFrom(null, true, false).map((value) => ({ text: String(value), value })),
    tie('list'),
    tie('mapping'),
  ),
  list: fc.tuple(fc.array(tie('sent'), { maxLength: 4 }), space).map(([parts, gap]) => ({
    text: `[${gap}${parts.map(({ text }) => text).join(`${gap},`)}${gap}]`,
    value: parts.map(({ value }) => value),
  })),
  mapping: fc.tuple(fc.array(fc.tuple(key, tie('sent')), { maxLength: 4 }), space).map(([parts, gap]) => ({
    text: `{${parts.map(([name, { text }]) => `${gap}"${name}"${gap}:${gap}${text}`).join(',')}${gap}}`,
    value: Object.fromEntries(parts.map(([name, { value }]) => [name, value])),
  })),
}));
const json = sent.map(({ text }) => text);

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

  test('reads any JSON as the value that was sent', () => {
    fc.assert(
      fc.property(sent, ({ text, value }) => {
        expect(revealed(parseExactJson(text))).toEqual(value);
      }),
      { numRuns: 1_000 },
    );
  });

  test('refuses exactly what JSON.parse refuses', () => {
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
    const refusal = (read: (text: string) => unknown, text: string): string | null => {
      try {
        read(text);
        return null;
      } catch (error) {
        return (error as Error).name;
      }
    };
    fc.assert(
      fc.property(broken, (text) => {
        expect(refusal(parseExactJson, text)).toBe(refusal(JSON.parse, text));
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
  test('are exactly as sent, however they are written', () => {
    fc.assert(
      fc.property(fc.array(json, { maxLength: 5 }), json, space, (elements, other, gap) => {
        const list = `[${gap}${elements.join(`${gap},${gap}`)}${gap}]`;
        const text = `${gap}{"other":${other},"l\\u0069st"${gap}:${gap}${list}${gap},"after":${other}}`;
        expect(elementTexts(text, ['list'])).toEqual(elements);
      }),
      { numRuns: 500 },
    );
  });

  test('of two lists the last one counts, and a list deeper down does not', () => {
    expect(elementTexts('{"a":{"list":[1]},"list":[2,3],"list":[4]}', ['list'])).toEqual(['4']);
    expect(elementTexts('{"a":{"list":[1]},"b":"list"}', ['list'])).toEqual([]);
  });

  test('are those of the list that the path leads to, whatever lies next to it', () => {
    const page = (list: string): string => `{"list":${list},"note":{"list":[0]}}`;
    const text = `{"list":[9],"rows":[${page('[8]')}],"data":[${page('[{"list":[7]}, 1.0]')}],"last":[${page('[6]')}]}`;
    expect(elementTexts(text, ['data', '0', 'list'])).toEqual(['{"list":[7]}', '1.0']);
    expect(elementTexts(text, ['list'])).toEqual(['9']);
    expect(elementTexts(`[${page('[5]')}]`, ['0', 'list'])).toEqual(['5']);
    expect(elementTexts(text, ['data', 'list'])).toEqual([]);
  });
});
