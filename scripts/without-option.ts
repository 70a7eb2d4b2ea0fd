/**
 * `npm run without -- NAME FOLDER`: makes a copy of the checkout without an option. Its folder and its line are taken away, and those of options
 * that need it; so are the tests, benches and scripts that reach them. What is left has to be whole.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
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
function listWithout(text: string, gone: ReadonlySet<string>): string {
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
  readonly left: readonly string[];
}

/** Makes the copy in `folder`, which is new. Throws if a file of the core would have to go. */
export function copyWithout(names: readonly string[], folder: string): Without {
  const gone = goneWith(names);
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: TOP, encoding: 'utf8' })
    .split('\n')
    .filter((file) => file !== '');
  const isOf = (file: string): boolean => {
    const [, , option] = /^(src|test)\/options\/([^/]+)\//.exec(file) ?? [];
    return option !== undefined && gone.has(option);
  };
  const reaches = filesReaching(files, isOf);
  const core = [...reaches].filter((file) => /^(src|jobs|bin)\//.test(file) && !isOf(file));
  if (core.length > 0) throw new Error(`the core reaches ${names.join(', ')}: ${core.join(', ')}`);
  for (const file of files) {
    if (isOf(file) || reaches.has(file)) continue;
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    if (file === LIST)
      writeFileSync(join(folder, file), listWithout(readFileSync(join(TOP, file), 'utf8'), gone));
    else cpSync(join(TOP, file), join(folder, file), { verbatimSymlinks: true });
  }
  symlinkSync(join(TOP, 'node_modules'), join(folder, 'node_modules'));
  return { gone: [...gone], left: [...reaches].filter((file) => !isOf(file)) };
}

/** The files that import one of these, or one that does; the list of options is no such file. */
function filesReaching(files: readonly string[], isOf: (file: string) => boolean): Set<string> {
  const importers = new Map<string, string[]>();
  for (const file of files) {
    if (!/\.[mt]?[jt]s$/.test(file) || file === LIST) continue;
    for (const { to } of importsIn(file, readFileSync(join(TOP, file), 'utf8')).imports) {
      const known = importers.get(to);
      if (known === undefined) importers.set(to, [file]);
      else known.push(file);
    }
  }
  const reached = new Set<string>();
  const waiting = files.filter(isOf);
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    for (const importer of importers.get(file) ?? []) {
      if (reached.has(importer) || isOf(importer)) continue;
      reached.add(importer);
      waiting.push(importer);
    }
  }
  return reached;
}

if (import.meta.main) {
  const [name, folder] = process.argv.slice(2);
  if (name === undefined || folder === undefined || !OPTIONS.some((one) => one.name === name)) {
    process.stderr.write(
      `npm run without -- NAME FOLDER, where NAME is one of ${OPTIONS.map((one) => one.name).join(', ')}\n`,
    );
    process.exitCode = 2;
  } else {
    rmSync(folder, { recursive: true, force: true });
    const { gone, left } = copyWithout([name], folder);
    process.stdout.write(
      `${folder}: without ${gone.join(', ')}, and without ${left.length} tests, benches and scripts that reach them\n`,
    );
  }
}
