/** Which tests could notice a fault in a file, and in which order they are best asked. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Mutant } from './mutants.ts';

/** All paths are from the root of the tree. */
export interface TestFile {
  readonly path: string;
  readonly text: string;
  /** The files it runs, each with the number of imports from the test to there. */
  readonly reach: ReadonlyMap<string, number>;
}

/** Names of files in a text: imports, and what is started as a process of its own. */
const NAMED = /(?:\bimport\s+type\b[^;]*?)?'([^'\n]+\.ts)'/g;

/** What a file names that is there. Types alone are not run. */
function filesNamed(root: string, path: string, text: string): string[] {
  return [...text.matchAll(NAMED)]
    .filter(([all]) => !/^import\s+type\b/.test(all))
    .map(([, name]) => join(dirname(path), name!))
    .filter((named) => existsSync(join(root, named)));
}

/** A browser for each mutant takes too long, and most machines have none. */
const LEFT_OUT = 'test/plugins/pages/browser/';

/** All test files of a tree, with what they reach. */
export function testFiles(root: string): TestFile[] {
  const texts = new Map<string, string>();
  const named = new Map<string, readonly string[]>();
  const textOf = (path: string): string => {
    const text = texts.get(path) ?? readFileSync(join(root, path), 'utf8');
    texts.set(path, text);
    return text;
  };
  const next = (path: string): readonly string[] => {
    const found = named.get(path) ?? filesNamed(root, path, textOf(path));
    named.set(path, found);
    return found;
  };
  const paths = globSync('test/**/*.test.ts', { cwd: root }).filter((path) => !path.startsWith(LEFT_OUT));
  return paths.map((path) => {
    const reach = new Map([[path, 0]]);
    // A map gives what is added while it is walked through, so the nearest files come first.
    for (const [file, steps] of reach) {
      for (const one of next(file)) if (!reach.has(one)) reach.set(one, steps + 1);
    }
    return { path, text: textOf(path), reach };
  });
}

/** How much less likely a test is to notice a fault with each import in between. */
const PER_STEP = 3;
/** How much more, if it is in the folder of the faulty file's name. */
const IN_FOLDER = 4;
/** How much more, if it has a word of what is faulty that no other test has; with every other test that has it, less. */
const RARE_WORD = 30;

/** What is known of a file or a place in it beyond its imports. */
export interface Hints {
  /** The tests that together run all of the file: as good as those that import it. */
  readonly best?: readonly string[] | undefined;
  /** The tests that run the place: no other is asked. */
  readonly covering?: ReadonlySet<string> | null;
}

/** How much more likely a test is to notice a fault for the words that it shares with what is faulty. */
function wordsShared(tests: readonly TestFile[], fault: string): (test: TestFile) => number {
  const words = [...new Set(fault.match(/\p{L}{3,}/gu))].map((word) => new RegExp(`\\b${word}\\b`, 'u'));
  const rare = words
    .map((word) => new Set(tests.filter(({ text }) => word.test(text))))
    .filter((having) => having.size > 0);
  return (test) => rare.reduce((sum, having) => sum + (having.has(test) ? RARE_WORD / having.size : 0), 1);
}

/**
 * The tests that reach `file`, those first that will most likely notice something soon: near ones, short ones, and those
 * that have words of the lines `before` in them. `within` is the name of what is faulty.
 */
export function nearestTests(
  tests: readonly TestFile[],
  { file, within, before }: Pick<Mutant, 'file' | 'within' | 'before'>,
  secondsOf: (test: string) => number,
  { best = [], covering = null }: Hints,
): string[] {
  const folder = `test/${file.split('/')[1]!}/`;
  const words = wordsShared(tests, `${within} ${before}`);
  const costOf = (test: TestFile): number => {
    const steps = best.includes(test.path) ? 1 : test.reach.get(file)!;
    const distance = covering === null ? PER_STEP ** steps : 1;
    const related = words(test) * (test.path.startsWith(folder) ? IN_FOLDER : 1);
    return ((1 + secondsOf(test.path)) * distance) / related;
  };
  return tests
    .filter(({ path, reach }) => reach.has(file) && covering?.has(path) !== false)
    .map((test) => ({ path: test.path, cost: costOf(test) }))
    .sort((a, b) => a.cost - b.cost || (a.path < b.path ? -1 : 1))
    .map(({ path }) => path);
}
