/** The manifest as the file for auditors reads it, against the schema that daybook itself reads it with. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { Misfit, readAs, type Schema } from '../../../src/cli/standalone/json-schema.ts';
import { manifestSchema } from '../../../src/statements/manifest.ts';

const SCHEMA = z.toJSONSchema(manifestSchema, { io: 'input' }) as Schema;

const SHA = 'a'.repeat(64);
const MANIFEST = {
  format: 'daybook-manifest/1',
  merchantNo: 'M1',
  day: '2026-03-31',
  timeZone: 'Asia/Shanghai',
  checked: ['newest'],
  place: 2,
  previousManifest: { day: '2026-03-30', revision: 1, sha256: SHA },
  earlierManifests: [{ day: '2026-03-29', revision: 1, sha256: SHA }],
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

const byZod = (value: unknown): unknown => {
  const read = manifestSchema.safeParse(value);
  return read.success ? read.data : 'misfit';
};
const bySchema = (value: unknown): unknown => {
  try {
    return readAs(SCHEMA, value);
  } catch (error) {
    if (error instanceof Misfit) return 'misfit';
    throw error;
  }
};

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

test('a manifest is read with what it lacks by default, and without what is unknown', () => {
  const read = bySchema({ ...MANIFEST, unknown: 1 });
  expect(read).toEqual({ ...MANIFEST, revision: 0, epoch: 0 });
  expect(byZod({ ...MANIFEST, unknown: 1 })).toEqual(read);
});

test(
  'with any of its places altered or left out, it is a manifest for both or for none',
  { tags: ['long'] },
  () => {
    const others = [
      ...[undefined, null, '', 'x', 'broken', SHA, '-1.5', '1e3', true, 0, -1, 1.5, 1e300, 2 ** 53, [], {}],
      ...[['x'], [1], { format: 'daybook-manifest/1' }],
    ];
    const altered = fc.record({
      place: fc.constantFrom(...placesIn(MANIFEST)),
      other: fc.constantFrom(...others),
    });
    fc.assert(
      fc.property(fc.array(altered, { minLength: 1, maxLength: 2 }), (changes) => {
        let value: unknown = MANIFEST;
        for (const { place, other } of changes)
          if (placesIn(value).some((one) => one.join() === place.join()))
            value = withOther(value, place, other);
        expect(bySchema(value)).toEqual(byZod(value));
      }),
      { numRuns: 3_000 },
    );
  },
);
