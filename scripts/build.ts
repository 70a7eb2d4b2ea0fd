/**
 * `npm run build`, which `npm pack` and `npm publish` run first: makes `dist` anew. It holds the program as JavaScript, the
 * types of what other programs import, `verify.mjs`, and the list of packages that this version was tested with (SBOM).
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { standaloneVerify } from './build/standalone.ts';
import { sbom } from './sbom.ts';

const TOP = fileURLToPath(new URL('..', import.meta.url));
const DIST = join(TOP, 'dist');
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

/** Leaves only the types that other programs can see. */
function dropInnerTypes(): void {
  const library = join(DIST, 'src/library');
  const filesIn = (folder: string): string[] =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.d.ts'))
      .map((name) => join(folder, name));
  const needed = reachedFrom(filesIn(library));
  for (const file of filesIn(DIST)) if (!needed.has(file)) rmSync(file);
}

rmSync(DIST, { recursive: true, force: true });
const tsc = [join(TOP, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json'];
execFileSync(process.execPath, tsc, { cwd: TOP, stdio: 'inherit' });
dropInnerTypes();
writeFileSync(join(DIST, 'verify.mjs'), await standaloneVerify(), { mode: 0o755 });
writeFileSync(join(DIST, 'sbom.cdx.json'), sbom());
