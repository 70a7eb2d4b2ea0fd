/**
 * Makes `dist/verify.mjs`: `src/verify/main.ts` and all that it imports as one JavaScript file that needs nothing but Node. The packages that
 * are in it are there as they are, and their licences go with them.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import prettier from 'prettier';
import { build } from 'rolldown';
import { wrapped } from '../../src/ledger/wrapped.ts';

const TOP = fileURLToPath(new URL('../..', import.meta.url));
const MAIN = join(TOP, 'src/verify/main.ts');
const WIDTH = 120;
/** The folder of the package that a module is of. */
const PACKAGE = /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)(?=\/)/;

/** The text of `verify.mjs`. Throws an `Error` where it would need a package that is not in it. */
export async function standaloneVerify(): Promise<string> {
  const { output } = await build({
    cwd: TOP,
    input: MAIN,
    platform: 'node',
    treeshake: { moduleSideEffects: false },
    optimization: { inlineConst: false },
    output: { format: 'es', codeSplitting: false, minify: false },
    write: false,
    onLog: (_, { message }) => {
      throw new Error(`verify.mjs cannot be made: ${message}`);
    },
  });
  const [{ code, imports, moduleIds }] = output;
  const needed = imports.filter((name) => !isBuiltin(name));
  if (needed.length > 0) throw new Error(`verify.mjs would need more than Node: ${needed.join(', ')}`);
  const config = await prettier.resolveConfig(MAIN);
  return prettier.format(`${HEAD}${licencesOf(moduleIds)}\n${code}`, { ...config, parser: 'babel' });
}

const { version } = JSON.parse(readFileSync(join(TOP, 'package.json'), 'utf8')) as { version: string };
const HEAD = `#!/usr/bin/env node
/*
 * daybook verify ${version}, in one file: checks downloaded statements against their manifests, offline.
 *
 *   node verify.mjs FOLDER        exit code 0: all as published; 3: something is not; 2: wrong usage
 *
 * It needs Node 20 or newer and nothing else. It opens the files that it is given for reading, and no connection.
 * It was made of the sources of daybook's own command, which this is the same as; the types are left out. What is of other
 * packages is in it under the licences below.
 */
`;

function licencesOf(modules: readonly string[]): string {
  const folders = new Map(
    modules.flatMap((id) => {
      const [folder, name] = PACKAGE.exec(id) ?? [];
      return folder === undefined ? [] : [[name!, folder] as const];
    }),
  );
  return [...folders]
    .map(([name, folder]) => {
      const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
      if (file === undefined) throw new Error(`verify.mjs: ${name} has no licence to go with it`);
      const text = wrapped(readFileSync(join(folder, file), 'utf8'), WIDTH);
      return `\n/*\n${name}:\n\n${text}*/\n`;
    })
    .join('');
}
