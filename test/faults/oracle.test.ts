/** Tests of the judge of the fault runs. If it missed a spoiled outcome, it would let every fault pass. */
import { describe, expect, test } from 'vitest';
import { judgeClaim, judgeEnd } from './attempt.ts';
import { drawCase } from './case.ts';
import { FAULT_KINDS } from './kinds.ts';
import { comparable, differences, fileDifferences, type Outcome } from './outcome.ts';

const files = new Map([
  ['merchant=M/date=2026-03-02/M_USD_2026-03-02.r1.csv', 'batch_no\r\nB1\r\n'],
  ['merchant=M/date=2026-03-02/manifest.json', '{}'],
]);
const wanted: Outcome = {
  rows: new Map([
    ['ledger_entry', ['(M,B1,5.00)', '(M,B2,7.00)']],
    ['statement', ['(M,USD,1)']],
  ]),
  files,
};
const changed = (
  change: (rows: Map<string, readonly string[]>, files: Map<string, string>) => void,
): Outcome => {
  const found = { rows: new Map(wanted.rows), files: new Map(files) };
  change(found.rows, found.files);
  return found;
};
const [CSV, MANIFEST] = [...files.keys()] as [string, string];
const ended = (code: number | null, reported = '', isHung = false) => ({
  code,
  reported,
  elapsedMs: 1,
  isHung,
});
const kind = { exits: [0, 4], names: /database/ };

describe('what a run leaves behind', () => {
  test('equal outcomes have no difference', () => {
    expect(
      differences(
        changed(() => undefined),
        wanted,
      ),
    ).toEqual([]);
  });

  test.each<[string, Outcome, string]>([
    [
      'a missing row',
      changed((rows) => rows.set('ledger_entry', ['(M,B1,5.00)'])),
      'ledger_entry: 1 rows are missing, 0 should not be there; wanted (M,B2,7.00), found no such row',
    ],
    [
      'a wrong digit in a row',
      changed((rows) => rows.set('ledger_entry', ['(M,B1,5.00)', '(M,B2,7.01)'])),
      'ledger_entry: 1 rows are missing, 1 should not be there; wanted (M,B2,7.00), found (M,B2,7.01)',
    ],
    [
      'a row too many',
      changed((rows) => rows.set('statement', ['(M,USD,1)', '(M,USD,2)'])),
      'statement: 0 rows are missing, 1 should not be there; wanted no such row, found (M,USD,2)',
    ],
    ['a missing file', changed((_, found) => found.delete(MANIFEST)), `${MANIFEST} is missing`],
    ['a file too many', changed((_, found) => found.set('more', '')), 'more should not be there'],
    [
      'a wrong byte',
      changed((_, found) => found.set(CSV, 'batch_no\r\nB2\r\n')),
      `${CSV} is altered: line 2 is "B2\\r", wanted "B1\\r"`,
    ],
  ])('%s is found', (_, found, difference) => {
    expect(differences(found, wanted)).toEqual([difference]);
  });

  test('a file that is missing at the end of a run is found from the files alone', () => {
    expect(fileDifferences(new Map([...files].slice(1)), files)).toEqual([`${CSV} is missing`]);
  });
});

describe('manifests', () => {
  const proof = (beginMs: number, endMs: number, total: number) => ({
    beginMs,
    endMs,
    currency: null,
    total,
    distinct: total,
    quarantined: 0,
  });
  const text = (certificates: readonly object[], more: object = {}) =>
    comparable(JSON.stringify({ epoch: 1, revision: 1, day: '2026-03-02', ...more, certificates }));
  const whole = text([proof(0, 9, 7)]);

  test('are equal if windows were read in halves, or another run wrote them', () => {
    expect(text([proof(0, 4, 3), proof(5, 9, 4)], { epoch: 3, revision: 2 })).toBe(whole);
  });

  test.each([
    ['a span without proof', text([proof(0, 4, 3), proof(6, 9, 4)])],
    ['another total', text([proof(0, 4, 3), proof(5, 9, 5)])],
    ['another day', text([proof(0, 9, 7)], { day: '2026-03-03' })],
  ])('differ by %s', (_, other) => {
    expect(other).not.toBe(whole);
  });
});

describe('a run that ends with 0', () => {
  const lacking = new Map([...files].slice(1));

  test('over a missing file is found', () => {
    expect(judgeClaim(ended(0), lacking, wanted)).toEqual([`it ended with 0, and ${CSV} is missing`]);
  });

  test('over an altered file is found', () => {
    const altered = new Map([...files, [MANIFEST, '{ }']]);
    expect(judgeClaim(ended(0), altered, wanted)).toEqual([
      `it ended with 0, and ${MANIFEST} is altered: line 1 is "{ }", wanted "{}"`,
    ]);
  });

  test('claims that all is there, another code does not, and a true claim is no finding', () => {
    expect(judgeClaim(ended(4), lacking, wanted)).toEqual([]);
    expect(judgeClaim(ended(0), files, wanted)).toEqual([]);
  });
});

describe('how a run ended', () => {
  test.each<[string, Parameters<typeof judgeEnd>[1], RegExp]>([
    ['it hung', ended(null, '', true), /^it waited without end/],
    ['70', ended(70, 'a fault'), /^it calls the fault its own/],
    ['a code that does not fit', ended(2, 'the database'), /^it ended with 2, not 0 or 4/],
    ['a signal', ended(null), /^it ended with null/],
    [
      'a warning of Node',
      ended(4, 'the database is away\n(node:1) MaxListenersExceededWarning: 11 close listeners added'),
      /^Node warns of it/,
    ],
    ['a stack trace', ended(4, 'the database\n    at read (file:///a.ts:3:5)'), /^it shows a stack trace/],
    [
      'a sentence that does not say what failed',
      ended(4, 'something failed'),
      /^it does not name what failed/,
    ],
  ])('%s is found', (_, end, sentence) => {
    expect(judgeEnd(kind, end)).toEqual([expect.stringMatching(sentence)]);
  });

  test.each([ended(0), ended(4, 'the connection to the database was lost')])(
    'a right end is no finding: %o',
    (end) => {
      expect(judgeEnd(kind, end)).toEqual([]);
    },
  );
});

describe('cases', () => {
  test('the same seed draws the same cases, another seed others', () => {
    const drawn = (seed: number) => Array.from({ length: 200 }, (_, nth) => drawCase(FAULT_KINDS, seed, nth));
    expect(drawn(5)).toEqual(drawn(5));
    expect(drawn(5)).not.toEqual(drawn(6));
  });

  test('every kind is drawn, in various places and stories', () => {
    const drawn = Array.from({ length: FAULT_KINDS.length * 6 }, (_, nth) => drawCase(FAULT_KINDS, 5, nth));
    expect(new Set(drawn.map(({ kind: name }) => name))).toEqual(
      new Set(FAULT_KINDS.map(({ name }) => name)),
    );
    for (const { kind: name, place, story, at } of drawn) {
      const found = FAULT_KINDS.find((one) => one.name === name)!;
      expect(found.places).toContain(place);
      expect(found.stories ?? [story]).toContain(story);
      expect(at).toBeLessThan(1);
    }
  });
});
