/** A manifest is read exactly, and what is wrong with one is said by the name of its field. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { manifestShape, parseManifest } from '../../src/verify/manifest.ts';
import { Misfit, readAs } from '../../src/verify/shape.ts';

const SHA = 'a'.repeat(64);
const MANIFEST = {
  format: 'daybook-manifest/1',
  merchantNo: 'M1',
  day: '2026-03-31',
  ...{ revision: 3, epoch: 4 },
  timeZone: 'Asia/Shanghai',
  checked: ['newest'],
  place: 2,
  previousManifest: { day: '2026-03-30', revision: 1, sha256: SHA },
  supersededManifests: [{ revision: 1, sha256: SHA, place: 1, previousManifest: null }],
  final: { share: 0.999, confidence: 0.95, by: '2026-04-09', watchedEntries: 10_000, laterEntries: 0 },
  statements: [
    {
      ...{ currency: 'USD', file: 'M1_USD_2026-03-31.r2.csv', revision: 2, sha256: SHA, bytes: 10, rows: 1 },
      columns: ['batch_no'],
      otherFormats: [{ format: 'lines', file: 'x.lines', sha256: SHA, bytes: 3 }],
      ...{ opening: '1.00', openingDerived: false, creditTotal: '1.00', creditCount: 1, debitTotal: '0' },
      ...{ debitCount: 0, closing: '-2.00', verdict: 'broken', breaks: 1, explained: 1 },
      explanations: [
        {
          ...{ id: 1, afterBatchNo: null, beforeBatchNo: 'B', missingNet: '-4.00', note: 'n', by: null },
          at: '2026-04-01T00:00:00Z',
        },
      ],
      ...{ publishedAt: '2026-04-01T00:00:00Z', previousDay: null, previousSha256: null },
      superseded: [
        {
          ...{ revision: 1, file: 'M1_USD_2026-03-31.r1.csv', sha256: SHA, bytes: 9, supersededBy: 2 },
          ...{ publishedAt: '2026-04-01T00:00:00Z', reason: 'late' },
        },
      ],
    },
  ],
  summary: { revision: 1, file: 'summary.r1.csv', sha256: SHA, superseded: [] },
  certificates: [
    {
      ...{ beginMs: 0, endMs: 0.5, currency: null, total: 1, distinct: 1, quarantined: 0 },
      certifiedAt: '2026-04-01T00:00:00Z',
    },
  ],
};

const read = (value: unknown) => readAs(manifestShape, JSON.stringify(value));

/** Every place in the value, as the keys that lead there. */
const placesIn = (value: unknown): string[][] =>
  typeof value !== 'object' || value === null
    ? [[]]
    : [[], ...Object.entries(value).flatMap(([key, inner]) => placesIn(inner).map((rest) => [key, ...rest]))];

/** A copy of the value with another one at the place; without the place if `other` is undefined. */
function withOther(value: unknown, place: readonly string[], other: unknown): unknown {
  const [key, ...rest] = place;
  if (key === undefined) return other;
  const copy = structuredClone(value) as Record<string, unknown>;
  const inner = withOther(copy[key], rest, other);
  if (inner !== undefined) copy[key] = inner;
  else if (Array.isArray(copy)) copy.splice(Number(key), 1);
  else Reflect.deleteProperty(copy, key);
  return copy;
}

const problemOf = (value: unknown): string | null => {
  try {
    read(value);
    return null;
  } catch (error) {
    if (error instanceof Misfit) return error.message;
    throw error;
  }
};

test('a manifest is read without what is unknown, whatever the order of its fields', () => {
  const given = { ...MANIFEST, unknown: 1, summary: { ...MANIFEST.summary, unknown: 1 } };
  const turned = Object.fromEntries(Object.entries(given).reverse());
  expect(Object.keys(turned)).not.toEqual(Object.keys(given));
  expect(JSON.stringify(read(turned))).toBe(JSON.stringify(read(MANIFEST)));
  expect(read(given)).toEqual(MANIFEST);
});

test.each<[place: string, other: unknown, problem: string]>([
  ['format', 'daybook-manifest/2', 'format has to be daybook-manifest/1, and is "daybook-manifest/2"'],
  ['day', undefined, 'day is missing'],
  ['place', 0, 'place has to be an integer from 1 to 2147483647, and is 0'],
  ['revision', 2 ** 31, 'revision has to be an integer from 0 to 2147483647, and is 2147483648'],
  ['epoch', 1.5, 'epoch has to be an integer from 0 to 9007199254740991, and is 1.5'],
  ['timeZoneProof', null, 'timeZoneProof has to be trusted, and is null'],
  ['final.share', 1, 'final.share has to be a number above 0 and below 1, and is 1'],
  ['place', undefined, 'place is missing'],
  ['revision', undefined, 'revision is missing'],
  ['epoch', undefined, 'epoch is missing'],
  ['supersededManifests', [], 'supersededManifests has to be a list of 1 or more, and is []'],
  ['statements', {}, 'statements has to be a list, and is {}'],
  ['statements.0.opening', '1e3', 'statements[0].opening has to be an amount, and is "1e3"'],
  ['statements.0.openingDerived', 0, 'statements[0].openingDerived has to be true or false, and is 0'],
  [
    'statements.0.verdict',
    'x',
    'statements[0].verdict has to be continuous or reordered or broken, and is "x"',
  ],
  ['statements.0.superseded.0', [], 'statements[0].superseded[0] has to be an object, and is []'],
  ['summary.sha256', 'A'.repeat(64), `summary.sha256 has to be a SHA-256 in hex, and is "${'A'.repeat(64)}"`],
  ['certificates.0.beginMs', '0', 'certificates[0].beginMs has to be a number, and is "0"'],
])('%s cannot be %j', (place, other, problem) => {
  const value = withOther(MANIFEST, place.split('.'), other);
  expect(problemOf(value)).toBe(problem);
  expect(parseManifest(JSON.stringify(value))).toBeNull();
});

test('what is no JSON, or no object, is no manifest', () => {
  for (const text of ['', '{', 'null', '[]', '"x"', '1e999']) expect(parseManifest(text)).toBeNull();
});

test('with any of its places altered or left out, it is a manifest, or the place is named', () => {
  const others = [
    ...[undefined, null, '', 'x', 'broken', SHA, '-1.5', '1e3', true, 0, -1, 1.5, 1e300, 2 ** 53, [], {}],
    ...[['x'], [1], { format: 'daybook-manifest/1' }],
  ];
  fc.assert(
    fc.property(
      fc.constantFrom(...placesIn(MANIFEST).filter(({ length }) => length > 0)),
      fc.constantFrom(...others),
      (place, other) => {
        const problem = problemOf(withOther(MANIFEST, place, other));
        if (problem === null) return;
        const named = problem.split(' ')[0]!.replaceAll(/\[(\d+)\]/g, '.$1');
        const altered = place.join('.');
        expect(named.startsWith(altered) || altered.startsWith(named)).toBe(true);
      },
    ),
    { numRuns: 1_000 },
  );
});
