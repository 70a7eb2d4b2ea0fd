/**
 * `npm run without -- NAME FOLDER`: makes a copy of the checkout without an option, in a new folder. The option's folder and its
 * lines in the list are not in it, nor are options that need it, nor tests, benches and scripts that reach them.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OPTIONS } from '../src/options/all.ts';
import { importsIn } from './imports.ts';

const TOP = fileURLToPath(new URL('..', import.meta.url));
const LIST = 'src/options/all.ts';

/** These options, and those that cannot be without them. */
function goneWith(names: readonly string[]): Set<string> {
  const gone = new Set(names);
  for (let size = 0; size < gone.size;) {
    size = gone.size;
    for (const one of OPTIONS) if (one.needs?.some((needed) => gone.has(needed)) === true) gone.add(one.name);
  }
  return gone;
}

/** Without the lines that import and list the options of these folders. */
export function listWithout(text: string, gone: ReadonlySet<string>): string {
  const imported = [...text.matchAll(/^import \{ (\w+) \} from '\.\/([^/]+)\/option\.ts';$/gm)];
  const names = new Set(imported.filter(([, , folder]) => gone.has(folder!)).map(([, name]) => name!));
  return text
    .split('\n')
    .filter((line) => !names.has(/^import \{ (\w+) \}|^ {2}(\w+),$/.exec(line)?.slice(1).find(Boolean) ?? ''))
    .join('\n');
}

export interface Without {
  /** The options that are gone. */
  readonly gone: readonly string[];
  /** Files outside of the options that are gone as well, as they reach one: tests, benches, scripts. */
  readonly reaching: readonly string[];
}

/** The files of the checkout, and for each of them those that import it; the list of options imports nothing here. */
export interface Tree {
  readonly files: readonly string[];
  readonly importers: ReadonlyMap<string, readonly string[]>;
}

/** Makes the copy in `folder`, which is new. Throws if a file of the core would have to go. */
export function copyWithout({ files, importers }: Tree, names: readonly string[], folder: string): Without {
  const gone = goneWith(names);
  const isOf = (file: string): boolean => {
    const [, , option] = /^(src|test)\/options\/([^/]+)\//.exec(file) ?? [];
    return option !== undefined && gone.has(option);
  };
  const reaches = filesReaching(files.filter(isOf), importers);
  const core = [...reaches].filter((file) => /^(src|jobs|bin)\//.test(file) && !isOf(file));
  if (core.length > 0) throw new Error(`the core reaches ${names.join(', ')}: ${core.join(', ')}`);
  for (const file of files) {
    if (reaches.has(file)) continue;
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    if (file === LIST)
      writeFileSync(join(folder, file), listWithout(readFileSync(join(TOP, file), 'utf8'), gone));
    else cpSync(join(TOP, file), join(folder, file), { verbatimSymlinks: true });
  }
  symlinkSync(join(TOP, 'node_modules'), join(folder, 'node_modules'));
  return { gone: [...gone], reaching: [...reaches].filter((file) => !isOf(file)) };
}

export function readTree(): Tree {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: TOP, encoding: 'utf8' })
    .split('\n')
    .filter((file) => file !== '');
  const importers = new Map<string, string[]>();
  for (const file of files) {
    if (!/\.[mt]?[jt]s$/.test(file) || file === LIST) continue;
    for (const { to } of importsIn(file, readFileSync(join(TOP, file), 'utf8')).imports) {
      const known = importers.get(to);
      if (known === undefined) importers.set(to, [file]);
      else known.push(file);
    }
  }
  return { files, importers };
}

/** These files, and those that import one of them, or one that does. */
function filesReaching(starts: readonly string[], importers: Tree['importers']): Set<string> {
  const reached = new Set(starts);
  // Files that are added meanwhile have their turn, too.
  for (const file of reached) for (const importer of importers.get(file) ?? []) reached.add(importer);
  return reached;
}

if (import.meta.main) {
  const [name, folder] = process.argv.slice(2);
  const option = OPTIONS.find((one) => one.name === name);
  if (option === undefined || folder === undefined || existsSync(folder)) {
    const known = OPTIONS.map((one) => `  ${one.name}: ${one.about}`).join('\n');
    process.stderr.write(
      `npm run without -- NAME FOLDER: FOLDER is a new one, and NAME is one of\n${known}\n`,
    );
    process.exitCode = 2;
  } else {
    const { gone, reaching } = copyWithout(readTree(), [option.name], folder);
    process.stdout.write(
      `${folder}: without ${gone.join(', ')}, and without ${reaching.length} tests, benches and scripts that reach them\n`,
    );
  }
}
