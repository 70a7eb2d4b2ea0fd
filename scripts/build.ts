/**
 * `npm run build`, which `npm pack` and `npm publish` run first: makes `dist` anew. It holds the program as JavaScript, the
 * types of what other programs import, `verify.mjs`, and the list of packages that this version was tested with (SBOM).
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { joinModules } from './build/modules.ts';
import { standaloneVerify } from './build/standalone.ts';
import { sbom } from './sbom.ts';

const TOP = fileURLToPath(new URL('..', import.meta.url));
const DIST = join(TOP, 'dist');
/** Each source file by itself, until they are joined. */
const COMPILED = join(DIST, 'compiled');
const LIBRARY = 'src/library';
/** What is started, and what other programs import: these files keep their names. */
const COMMANDS = ['main.js', 'cli/health-check.js'].map((file) => join(COMPILED, 'src', file));
/** What a process of its own runs is started by its name, too. */
const PROCESS = '-process.js';
const DECLARATION_IMPORT = /(?:from |import\()["'](\.[^"']+)\.ts["']/g;

/** The declarations that are reached from those in `entries`: what the types of the exports are made of. */
function reachedFrom(entries: readonly string[]): Set<string> {
  const reached = new Set<string>();
  const visit = (file: string): void => {
    if (reached.has(file)) return;
    reached.add(file);
    for (const [, path] of readFileSync(file, 'utf8').matchAll(DECLARATION_IMPORT))
      visit(resolve(dirname(file), `${path!}.d.ts`));
  };
  for (const entry of entries) visit(entry);
  return reached;
}

const filesIn = (folder: string, extension: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(extension))
    .map((name) => join(folder, name));

/** Puts the types that other programs can see where they are published. */
function keepOuterTypes(): void {
  for (const file of reachedFrom(filesIn(join(COMPILED, LIBRARY), '.d.ts'))) {
    const target = join(DIST, relative(COMPILED, file));
    mkdirSync(dirname(target), { recursive: true });
    renameSync(file, target);
  }
}

rmSync(DIST, { recursive: true, force: true });
const tsc = [join(TOP, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json', '--outDir', COMPILED];
execFileSync(process.execPath, tsc, { cwd: TOP, stdio: 'inherit' });
const processes = filesIn(join(COMPILED, 'src'), PROCESS);
await joinModules(COMPILED, [...COMMANDS, ...processes, ...filesIn(join(COMPILED, LIBRARY), '.js')], DIST);
keepOuterTypes();
rmSync(COMPILED, { recursive: true });
writeFileSync(join(DIST, 'verify.mjs'), await standaloneVerify(), { mode: 0o755 });
writeFileSync(join(DIST, 'sbom.cdx.json'), sbom());
