/**
 * Which module may import which, and no circle of imports between files. Imports of types and re-exports count like any other; a dynamic
 * import counts for the layers alone, and so does one of the list of options: what the list loads is bounded instead. Exits with 1 if it
 * finds anything. `node scripts/imports.ts`
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OPTIONS } from '../src/main.ts';
import { parseSync, Visitor, type Span } from 'oxc-parser';

/** The list of options, which is all that the core knows of them, and the type of one. */
const LIST = 'options/all.ts';
const TYPE = 'options/option.ts';

const core = ['ledger', 'host'];
const edges = [...core, 'platform', 'store', 'objects'];
/** Anything that is not on top. */
const ANYTHING = null;

/** What each module of the core may import, in addition to itself. A module is a folder of src, or the folder jobs. */
const MAY_IMPORT: Readonly<Record<string, readonly string[] | typeof ANYTHING>> = {
  // How a command ends is known everywhere.
  host: ['ledger/ending.ts'],
  ledger: [],
  platform: core,
  store: [...core, LIST],
  objects: core,
  settings: [...core, LIST],
  forms: [...core, 'settings'],
  sync: edges,
  reconcile: edges,
  statements: [...edges, LIST],
  run: [...edges, 'sync', 'reconcile', 'statements', 'settings', LIST],
  library: ['ledger', 'statements', LIST],
  jobs: ['run', 'settings', LIST],
  web: ANYTHING,
  cli: ANYTHING,
};

/** What is on top, with the modules that may import it. */
const ON_TOP: Readonly<Record<string, readonly string[]>> = {
  jobs: ['cli'],
  web: ['cli'],
  cli: [],
  library: [],
};

export interface Problem {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

interface Import {
  readonly to: string;
  /** Loaded when it is asked for: such an import closes no circle. */
  readonly isLate: boolean;
  /** Of types alone: nothing is loaded. */
  readonly isType: boolean;
  readonly line: number;
}

/** All imports of files of ours in a text, and the types that are imported in the middle of it. */
export function importsIn(file: string, text: string): { imports: Import[]; inMiddle: number[] } {
  const imports: Import[] = [];
  const inMiddle: number[] = [];
  const lineOf = ({ start }: Span): number => text.slice(0, start).split('\n').length;
  const add = (
    source: (Span & { readonly value?: unknown }) | null,
    { isLate = false, isType = false } = {},
  ): void => {
    if (typeof source?.value === 'string' && source.value.startsWith('.'))
      imports.push({ to: join(dirname(file), source.value), line: lineOf(source), isLate, isType });
  };
  new Visitor({
    ImportDeclaration: ({ source, importKind }) => add(source, { isType: importKind === 'type' }),
    ExportNamedDeclaration: ({ source, exportKind }) => add(source, { isType: exportKind === 'type' }),
    ExportAllDeclaration: ({ source, exportKind }) => add(source, { isType: exportKind === 'type' }),
    ImportExpression: ({ source }) => add(source, { isLate: true }),
    TSImportType: (node) => {
      add(node.source, { isType: true });
      inMiddle.push(lineOf(node));
    },
  }).visit(parseSync(file, text).program);
  return { imports, inMiddle };
}

/** `ledger/entry.ts` of `src/ledger/entry.ts`; files of jobs keep their path. Null for what is in neither. */
const placeOf = (file: string): string | null =>
  file.startsWith('src/') ? file.slice('src/'.length) : file.startsWith('jobs/') ? file : null;

/** The option that a file belongs to; null for the core, and for the list of options and their type. */
const optionOf = (place: string): string | null => /^options\/([^/]+)\//.exec(place)?.[1] ?? null;

/** The simulated platform itself shares the words on the wire with the client, and nothing else: it is there to contradict it. */
const APART = { files: /^options\/sandbox\/(?!command|demo|option)/, may: [...core, 'platform/wire.ts'] };

/** What is wrong with an import by the layers; null if nothing is. `needs`: which options each option may import. */
function layerProblem(from: string, to: string, needs: Needs): string | null {
  const [place, target] = [placeOf(from), placeOf(to)];
  if (place === null || target === null || place === LIST) return null;
  const [option, otherOption] = [optionOf(place), optionOf(target)];
  if (option !== null) {
    if (
      APART.files.test(place) &&
      otherOption !== option &&
      !APART.may.some((one) => `${target}/`.startsWith(`${one}/`))
    )
      return `the simulated platform may only import ${APART.may.join(', ')}`;
    if (otherOption === null || otherOption === option || needs.get(option)?.includes(otherOption) === true)
      return target.startsWith('library/') ? 'library is on top: no option may import it' : null;
    return `the option ${option} may not import ${otherOption}, which its value does not name in \`needs\``;
  }
  if (otherOption !== null) return `the core knows no option: only ${LIST} may import ${otherOption}`;
  if (place === TYPE) return null;
  const [module, other] = [place, target].map((path) => path.split('/')[0]!) as [string, string];
  if (module === other) return null;
  const allowed = MAY_IMPORT[module];
  if (allowed === undefined) return `${module} has no line in scripts/imports.ts`;
  if (ON_TOP[other]?.includes(module) === false) return `${other} is on top: ${module} may not import it`;
  if (allowed === ANYTHING || allowed.some((one) => `${target}/`.startsWith(`${one}/`))) return null;
  return `${module} may only import ${allowed.length === 0 ? 'nothing of ours' : allowed.join(', ')}`;
}

/** What importing the list of options may load: their values, and what knows nothing of the rest. */
const LOADED_WITH_LIST = ['options', ...core];

/** The imports by which the list of options would load more than that. */
function* loadedWithList(files: Imports): Generator<Problem> {
  const loaded = new Set([`src/${LIST}`]);
  // Files that are added meanwhile have their turn, too.
  for (const file of loaded)
    for (const { to, line, isType } of files.get(file) ?? []) {
      const place = placeOf(to);
      if (isType || place === null) continue;
      if (LOADED_WITH_LIST.includes(place.split('/')[0]!)) loaded.add(to);
      else
        yield {
          file,
          line,
          message: `each command would load ${to} with the list of options: import its types, or import() it`,
        };
    }
}

type Needs = ReadonlyMap<string, readonly string[]>;
type Imports = ReadonlyMap<string, readonly Import[]>;

/** Without the files that import none of the others, again and again: what stays leads to a circle or is in one. */
function withoutEnds(files: Imports): Imports {
  const left = new Map([...files].filter(([, imports]) => imports.some(({ to }) => files.has(to))));
  return left.size === files.size ? left : withoutEnds(left);
}

/** The shortest way of imports from one file to another; null if there is none. */
function wayTo(goal: string, from: string, files: Imports): readonly string[] | null {
  const reached = new Set([from]);
  let ways: (readonly string[])[] = [[from]];
  while (ways.length > 0) {
    const done = ways.find((way) => way.at(-1) === goal);
    if (done !== undefined) return done;
    ways = ways.flatMap((way) =>
      (files.get(way.at(-1)!) ?? []).flatMap(({ to }) => {
        if (reached.has(to)) return [];
        reached.add(to);
        return [[...way, to]];
      }),
    );
  }
  return null;
}

/** What is wrong with the imports of these files. Paths are from the root of the tree. */
export function importProblems(texts: ReadonlyMap<string, string>, needs: Needs = new Map()): Problem[] {
  const found: Problem[] = [];
  const files = new Map<string, readonly Import[]>();
  for (const [file, text] of texts) {
    const { imports, inMiddle } = importsIn(file, text);
    files.set(
      file,
      imports.filter(({ isLate, to }) => !isLate && to !== `src/${LIST}`),
    );
    for (const line of inMiddle) found.push({ file, line, message: 'import the type at the top' });
    for (const { to, line } of imports) {
      const message = layerProblem(file, to, needs);
      if (message !== null) found.push({ file, line, message });
    }
  }
  found.push(...loadedWithList(files));
  const left = withoutEnds(files);
  for (const [file, imports] of left) {
    for (const { to, line } of imports) {
      const way = wayTo(file, to, left);
      if (way !== null)
        found.push({ file, line, message: `circle of imports: ${[file, ...way].join(' → ')}` });
    }
  }
  return found;
}

if (import.meta.main) {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const paths = globSync('{*.ts,{bin,src,jobs,bench,scripts,test}/**/*.{ts,js}}', { cwd: root });
  const texts = new Map(paths.sort().map((path) => [path, readFileSync(join(root, path), 'utf8')]));
  const problems = importProblems(texts, new Map(OPTIONS.map(({ name, needs = [] }) => [name, needs])));
  for (const { file, line, message } of problems) process.stdout.write(`${file}:${line}: ${message}\n`);
  process.stdout.write(`${problems.length} wrong imports in ${texts.size} files\n`);
  if (problems.length > 0) process.exitCode = 1;
}
