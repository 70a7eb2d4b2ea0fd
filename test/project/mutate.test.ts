/** What the mutation score stands on: the mutants of a text, the order of tests, and the survivors that were read. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import {
  cardOf,
  scoreOf,
  shareOf,
  shareOfAll,
  type Accepted,
  type Result,
} from '../../scripts/mutate/card.ts';
import { readCovering } from '../../scripts/mutate/covering.ts';
import { drawMutants, sourcesOf } from '../../scripts/mutate/draw.ts';
import { drawKnown } from '../../scripts/mutate/known.ts';
import { isReal, mutantsOf } from '../../scripts/mutate/mutants.ts';
import { nearestTests, testFiles, type Hints } from '../../scripts/mutate/nearest.ts';
import { bestTests } from '../../scripts/mutate/reach.ts';

/** A tree with these files. */
async function treeOf(files: Readonly<Record<string, string>>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'daybook-mutants-'));
  onTestFinished(() => rm(root, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return root;
}

const SOURCE = `import type { Row } from './row.ts';
/** Not 1 < 2. */
const WAIT_MS = 60_000;
type Side = 'credit' | 'debit side';
export async function keep(rows: readonly Row[], log: Log): Promise<Row[]> {
  if (rows.length < 2 && !log.isOpen) return [...rows];
  const open = rows.filter((row) => row.net - row.fee !== 0);
  if (open.some(isLate)) throw new Error('it is too late');
  log.info('rows are kept', { count: open.length + 1 });
  await store(open);
  return open;
}
export const isLate = (row: Row): boolean => (row.side === 'two words' ? true : (row.late ?? false));
export const none = () => true;
`;

test('the mutants of a text are small faults in what it does, and none in types, imports, comments and logs', () => {
  const found = mutantsOf('src/ledger/keep.ts', SOURCE).filter((one) => isReal(SOURCE, one));
  expect(
    found.map(({ line, start, end, replacement }) => `${line}: ${SOURCE.slice(start, end)} → ${replacement}`),
  ).toEqual([
    '6: rows.length < 2 && !log.isOpen → !(rows.length < 2 && !log.isOpen)',
    '6: < → <=',
    '6: 2 → 3',
    '6: 2 → 1',
    '6: && → ||',
    '6: [...rows] → []',
    '6: rows → []',
    '7: .filter((row) => row.net - row.fee !== 0) → ',
    '7: - → +',
    '7: !== → ===',
    '7: 0 → 1',
    '8: open.some(isLate) → !(open.some(isLate))',
    '8: some → every',
    "8: 'it is too late' → ''",
    '10: await store(open); → ;',
    '13: === → !==',
    '13: ?? → &&',
    '14: true → false',
  ]);
  expect(found[0]).toEqual({
    ...{ file: 'src/ledger/keep.ts', line: 6, within: 'keep', start: 199, end: 229 },
    before: 'if (rows.length < 2 && !log.isOpen) return [...rows];',
    after: 'if (!(rows.length < 2 && !log.isOpen)) return [...rows];',
    replacement: '!(rows.length < 2 && !log.isOpen)',
  });
});

test('what cannot be read, or is the same program, is no mutant', () => {
  const text = 'export const a = (b ?? c) || d; // one\n';
  const change = (from: string, replacement: string) => {
    const start = text.indexOf(from);
    return isReal(text, { ...mutantsOf('src/a.ts', text)[0]!, start, end: start + from.length, replacement });
  };
  expect(change('||', '&&')).toBe(true);
  expect(change('(b ?? c)', 'b ?? c')).toBe(false);
  expect(change('one', 'two')).toBe(false);
});

test('the nearest tests come first: by imports, by the name of what is faulty, by the folder, by their time', async () => {
  // Names of no file of the project, as this test would else count as one that runs it.
  const root = await treeOf({
    'src/coins/sum.ts': 'export const sum = 1;',
    'src/till/till.ts': "import { sum } from '../coins/sum.ts';",
    'src/shop/main.ts': "import '../till/till.ts';",
    'test/till/till.test.ts': "import { till } from '../../src/till/till.ts';",
    'test/till/sum.test.ts': "import { sum } from '../../src/coins/sum.ts';",
    'test/till/types.test.ts': "import type { Coin } from '../../src/coins/sum.ts';",
    'test/coins/long.test.ts': "import { other } from '../../src/coins/sum.ts';",
    'test/coins/sum.test.ts': "import { sum } from '../../src/coins/sum.ts';",
    'test/support/shop.ts': "const MAIN = new URL('../../src/shop/main.ts', import.meta.url);",
    'test/shop/command.test.ts': "import { shop } from '../support/shop.ts';",
    'test/shop/other.test.ts': "import { readFile } from 'node:fs';",
  });
  const seconds = (path: string): number => (path.includes('long') ? 20 : 1);
  const nearest = (hints: Hints, before = '') =>
    nearestTests(testFiles(root), { file: 'src/coins/sum.ts', within: 'sum', before }, seconds, hints);
  expect(nearest({})).toEqual([
    'test/coins/sum.test.ts',
    'test/till/sum.test.ts',
    'test/coins/long.test.ts',
    'test/till/till.test.ts',
    'test/shop/command.test.ts',
  ]);
  // One that runs all of it is as near as one that imports it.
  const best = ['test/shop/command.test.ts'];
  expect(nearest({ best }).slice(0, 4)).toEqual([
    'test/coins/sum.test.ts',
    'test/till/sum.test.ts',
    'test/coins/long.test.ts',
    'test/shop/command.test.ts',
  ]);
  // It has a word that no other has.
  expect(nearest({ best }, "throw new Error('the shop is closed')").slice(0, 2)).toEqual([
    'test/coins/sum.test.ts',
    'test/shop/command.test.ts',
  ]);
  const covering = new Set(['test/shop/command.test.ts', 'test/till/sum.test.ts']);
  expect(nearest({ best, covering })).toEqual(['test/till/sum.test.ts', 'test/shop/command.test.ts']);
});

test('where it is known which tests run a place, it is said; of what runs as a file is loaded, it is not', async () => {
  const folder = await treeOf({});
  const support = new URL('../support/coverage.ts', import.meta.url).href;
  const file = 'src/ledger/money.ts';
  const text = await readFile(file, 'utf8');
  const script = `
    const { beginCoverage, endCoverage } = await import(${JSON.stringify(support)});
    beginCoverage();
    const { plainDecimal } = await import(${JSON.stringify(new URL(`../../${file}`, import.meta.url).href)});
    endCoverage({ folder: ${JSON.stringify(folder)}, test: 'test/none.test.ts' });
    plainDecimal('7');
    endCoverage({ folder: ${JSON.stringify(folder)}, test: 'test/one.test.ts' });`;
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
  const covering = readCovering(folder, new Set([file]));
  const bodyOf = (name: string) => text.indexOf('return', text.indexOf(`function ${name}`));
  expect(covering(file, bodyOf('plainDecimal'))).toEqual(new Set(['test/one.test.ts']));
  expect(covering(file, bodyOf('isWithinDigits'))).toBeNull();
  expect(covering(file, text.indexOf('const'))).toBeNull();
  expect(covering('src/ledger/entry.ts', 300)).toBeNull();
});

test('of the tests that run a file, those are best that run most of it in the shortest time, and then what is left', () => {
  const runs = new Map([
    ['test/half.test.ts', new Set([10, 20, 30])],
    ['test/same.test.ts', new Set([10, 20, 30])],
    ['test/slow.test.ts', new Set([10, 20, 30, 40])],
    ['test/rest.test.ts', new Set([40])],
  ]);
  const seconds = (test: string): number => (test.includes('slow') ? 20 : 1);
  expect(bestTests(runs, seconds)).toEqual([
    'test/half.test.ts',
    'test/rest.test.ts',
    'test/same.test.ts',
    'test/slow.test.ts',
  ]);
});

test('a seed draws the same mutants again, of all sources, of a folder, of what changed, or of a folder at random', async () => {
  const files = [
    'src/run/a.ts',
    'src/run/b.ts',
    'src/runner/c.ts',
    'src/store/engine/schema.ts',
    'test/a.test.ts',
  ];
  const root = await treeOf(
    Object.fromEntries(files.map((file) => [file, 'export const a = b < 5 && c < 6;\n'])),
  );
  const since = (commit: string) =>
    new Set(commit === 'HEAD~1' ? ['src/run/b.ts', 'README.md'] : ['README.md']);
  const wanted = { seed: 7, count: 5 };
  expect(sourcesOf(files, wanted, since)[0]).toEqual(['src/run/a.ts', 'src/run/b.ts', 'src/runner/c.ts']);
  const [sources] = sourcesOf(files, { ...wanted, folder: 'src/run/' }, since);
  expect(sources).toEqual(['src/run/a.ts', 'src/run/b.ts']);
  const drawn = drawMutants(root, sources, wanted);
  expect(new Set(drawn.map(({ file, start, replacement }) => `${file} ${start} ${replacement}`)).size).toBe(
    5,
  );
  expect(drawMutants(root, sources, wanted)).toEqual(drawn);
  expect(drawMutants(root, sources, { ...wanted, seed: 8 })).not.toEqual(drawn);
  expect(drawMutants(root, sources, { ...wanted, count: 99 })).toHaveLength(14);
  expect(sourcesOf(files, { ...wanted, since: 'HEAD~1' }, since)).toEqual([
    ['src/run/b.ts'],
    '1 files changed since HEAD~1',
  ]);
  expect(sourcesOf(files, { ...wanted, since: 'HEAD~2' }, since)).toEqual([
    ['src/run/a.ts', 'src/run/b.ts'],
    'src/run, as nothing changed in src since HEAD~2',
  ]);
});

const result = (more: Partial<Result>): Result => ({
  ...{ file: 'src/run/a.ts', line: 3, before: 'a < b', after: 'a <= b', start: 9, seed: 7 },
  ...{ noticedBy: null, seconds: 1, tried: 4, reaching: 4 },
  ...more,
});
const RESULTS = [
  result({ noticedBy: 'test/run/a.test.ts: is noticed' }),
  result({ line: 8, before: 'wait(5)', after: 'wait(6)' }),
  result({ line: 9, before: 'a || b', after: 'a && b' }),
  result({ file: 'src/store/b.ts', tried: 2 }),
];
const ACCEPTED: readonly Accepted[] = [
  {
    file: 'src/run/a.ts',
    before: 'wait(5)',
    after: 'wait(6)',
    kind: 'equivalent',
    reason: 'It waits anyway.',
  },
  { file: 'src/run/a.ts', before: 'a || b', after: 'a && b', kind: 'unworthy', reason: 'Only a log.' },
  { file: 'src/run/c.ts', before: 'a < b', after: 'a <= b', kind: 'equivalent', reason: 'Another file.' },
];

test('mutants that were noticed once are tried again: those of what changed first, where their lines are now', async () => {
  const root = await treeOf({
    'src/run/a.ts': '\n\nexport const a = b < 5;\n',
    'src/run/b.ts': 'export const a = b < 5;\n',
  });
  const one = {
    before: 'export const a = b < 5;',
    after: 'export const a = b <= 5;',
    test: 'test/a.test.ts',
  };
  const known = [
    { ...one, file: 'src/run/b.ts' },
    { ...one, file: 'src/run/a.ts' },
    { ...one, file: 'src/run/a.ts', before: 'export const a = b < 6;' },
    { ...one, file: 'src/run/gone.ts' },
  ];
  const drawn = (count: number, ...changed: string[]) =>
    drawKnown(root, known, { seed: 3, count }, new Set(changed)).map(
      ({ file, line, noticedBy }) => `${file}:${line} ${noticedBy}`,
    );
  const [a, b] = ['src/run/a.ts:3 test/a.test.ts', 'src/run/b.ts:1 test/a.test.ts'];
  expect(drawn(1, 'src/run/a.ts')).toEqual([a]);
  expect(drawn(1, 'src/run/b.ts')).toEqual([b]);
  expect(drawn(4).sort()).toEqual([a, b]);
});

test('a survivor that was read is known by its file and lines wherever these are; equivalent ones do not count', () => {
  const score = scoreOf(RESULTS, ACCEPTED);
  expect(score).toEqual({ tried: 4, noticed: 1, equivalent: 1 });
  expect([shareOfAll(score), shareOf(score)]).toEqual([1 / 4, 1 / 3]);
  const moved = RESULTS.map((one) => ({ ...one, line: one.line + 40, start: one.start + 900 }));
  expect(scoreOf(moved, ACCEPTED)).toEqual(score);
});

test('the card has both figures of each folder, and every survivor with the reason', () => {
  const card = cardOf(RESULTS, ACCEPTED, '2026-04-01');
  const lines = card.split('\n');
  expect(lines.filter((line) => /^(?:[|]|- |## )/.test(line))).toEqual([
    '| folder | tried | noticed | equivalent | noticed of all | noticed without the equivalent |',
    '|---|---|---|---|---|---|',
    '| src/run | 3 | 1 | 1 | 33.3 % | 50.0 % |',
    '| src/store | 1 | 0 | 0 | 0.0 % | 0.0 % |',
    '| all | 4 | 1 | 1 | 25.0 % | 33.3 % |',
    '## Not noticed',
    '- src/store/b.ts:3: `a < b` → `a <= b`. 2 of the 4 test files that reach it were run.',
    '## Not worth a test',
    '- src/run/a.ts:9: `a || b` → `a && b`. Only a log.',
    '## Equivalent',
    '- src/run/a.ts:8: `wait(5)` → `wait(6)`. It waits anyway.',
    '## Running it',
  ]);
  expect(card).toContain('On 2026-04-01, 4 mutants of seed 7: 33.3 % noticed, without 1 that no\n');
});
