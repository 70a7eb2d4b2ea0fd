/** Lint rule: no circle of imports. Imports of types, re-exports and dynamic imports count like any other. */
import type { Rule } from 'eslint';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import ts from 'typescript';

interface Import {
  readonly to: string;
  /** Where the text names it. */
  readonly at: number;
}

/** Kept while the process lives; a linted file brings its present text. */
const known = new Map<string, readonly Import[]>();

const importsIn = (file: string, text: string): readonly Import[] =>
  ts
    .preProcessFile(text, true, true)
    .importedFiles.filter(({ fileName }) => fileName.startsWith('.'))
    .map(({ fileName, pos }) => ({ to: resolve(dirname(file), fileName), at: pos }));

function importsOf(file: string): readonly Import[] {
  const imports = known.get(file) ?? (existsSync(file) ? importsIn(file, readFileSync(file, 'utf8')) : []);
  known.set(file, imports);
  return imports;
}

/** The shortest way of imports from one file to another; null if there is none. */
function wayTo(goal: string, from: string): readonly string[] | null {
  const reached = new Set([from]);
  let ways: (readonly string[])[] = [[from]];
  while (ways.length > 0) {
    const done = ways.find((way) => way.at(-1) === goal);
    if (done !== undefined) return done;
    ways = ways.flatMap((way) =>
      importsOf(way.at(-1)!).flatMap(({ to }) => {
        if (reached.has(to)) return [];
        reached.add(to);
        return [[...way, to]];
      }),
    );
  }
  return null;
}

export const noImportCircle: Rule.RuleModule = {
  meta: { type: 'problem', schema: [], messages: { circle: 'circle of imports: {{way}}' } },
  create: ({ filename, cwd, sourceCode, report }) => ({
    Program: () => {
      const imports = importsIn(filename, sourceCode.text);
      known.set(filename, imports);
      for (const { to, at } of imports) {
        const way = wayTo(filename, to);
        if (way === null) continue;
        const names = [filename, ...way].map((file) => relative(cwd, file));
        report({
          ...{ loc: sourceCode.getLocFromIndex(at), messageId: 'circle' },
          data: { way: names.join(' → ') },
        });
      }
    },
  }),
};
