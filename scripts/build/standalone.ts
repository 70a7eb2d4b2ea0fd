/**
 * Makes `dist/verify.mjs`: the sources of `daybook verify` and of all that it uses, put one after the other into one
 * JavaScript file that needs nothing but Node. What would need a package but yauzl is replaced by a few lines of our own, from
 * `src/cli/standalone`; the tests in `test/cli/standalone` hold both against each other.
 */
import { existsSync, readFileSync } from 'node:fs';
import { isBuiltin, stripTypeScriptTypes } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'oxc-parser';
import prettier from 'prettier';
import { rollup, type Plugin } from '@rollup/wasm-node';
import * as z from 'zod';
import { WORDS_KNOWN } from '../../src/cli/standalone/json-schema.ts';
import { manifestSchema } from '../../src/statements/manifest.ts';

const TOP = fileURLToPath(new URL('../..', import.meta.url));
const pathOf = (file: string): string => join(TOP, file);

/** What stands in for files that need packages. */
const REPLACED: Readonly<Record<string, string>> = {
  [pathOf('src/statements/formats/all.ts')]: pathOf('src/cli/standalone/formats.ts'),
  [pathOf('src/statements/formats/csv.ts')]: pathOf('src/cli/standalone/csv.ts'),
};
/** Packages that are in it, as they are: no one would read a ZIP better. Their licence goes with them. */
const PACKAGES: Readonly<Record<string, string>> = {
  yauzl: pathOf('node_modules/yauzl/index.js'),
  pend: pathOf('node_modules/pend/index.js'),
};
const MANIFEST = pathOf('src/statements/manifest.ts');

/** The text of `verify.mjs`. Throws an `Error` where it would need a package, or a schema says what it cannot check. */
export async function standaloneVerify(): Promise<string> {
  const bundle = await rollup({
    input: pathOf('src/cli/standalone/main.ts'),
    treeshake: { moduleSideEffects: false, manualPureFunctions: ['Object.fromEntries'] },
    plugins: [ownSources],
    onwarn: (warning) => {
      throw new Error(`verify.mjs cannot be made: ${warning.message}`);
    },
  });
  const { output } = await bundle.generate({ format: 'es' });
  await bundle.close();
  const [{ code, imports, dynamicImports }] = output;
  const packages = [...imports, ...dynamicImports].filter((name) => !name.startsWith('node:'));
  if (packages.length > 0 || output.length > 1)
    throw new Error(
      `verify.mjs would need more than Node: ${packages.join(', ')}. See scripts/build/standalone.ts.`,
    );
  const config = await prettier.resolveConfig(pathOf('scripts/build/standalone.ts'));
  return prettier.format(`${HEAD}${LICENCES}\n${code}`, { ...config, parser: 'babel' });
}

const { version } = JSON.parse(readFileSync(pathOf('package.json'), 'utf8')) as { version: string };
const HEAD = `#!/usr/bin/env node
/*
 * daybook verify ${version}, in one file: checks downloaded statements against their manifests, offline.
 *
 *   node verify.mjs FOLDER        exit code 0: all as published; 3: something is not; 2: wrong usage
 *
 * It needs Node 20 or newer and nothing else. It opens the files that it is given for reading, and no connection.
 * It was made of the sources of daybook's own command, which this is the same as; the types are left out. What reads ZIPs is
 * the package yauzl, under the licences below.
 */
`;

const LICENCES = Object.entries(PACKAGES)
  .map(([name, path]) => `\n/*\n${name}:\n\n${readFileSync(join(path, '../LICENSE'), 'utf8')}*/\n`)
  .join('');

const ownSources: Plugin = {
  name: 'own-sources',
  resolveId(source, importer) {
    if (source.startsWith('node:')) return { id: source, external: true };
    if (PACKAGES[source] !== undefined) return PACKAGES[source];
    // Of this package one function is used.
    if (source === '@date-fns/tz') return pathOf('node_modules/@date-fns/tz/tzOffset/index.js');
    if (isBuiltin(source)) return { id: `node:${source}`, external: true };
    if (!source.startsWith('.') && importer !== undefined) return { id: source, external: true };
    const path = importer === undefined ? source : join(importer, '..', source);
    return REPLACED[path] ?? (existsSync(path) ? path : `${path}.js`);
  },
  load(id) {
    const heading = `// ---------- ${relative(TOP, id)}\n\n`;
    if (id === MANIFEST) return heading + manifestModule();
    const source = readFileSync(id, 'utf8');
    if (id.endsWith('.ts')) return heading + withoutTypes(source);
    return (
      heading + (/\brequire\(/.test(source) || source.includes('module.exports') ? asModule(source) : source)
    );
  },
};

/** A CommonJS source as a module: what it requires is imported, and what it exports is the default. */
function asModule(source: string): string {
  const names = [...new Set([...source.matchAll(/\brequire\(['"]([^'"]+)['"]\)/g)].map(([, name]) => name!))];
  const imports = names.map((name, nth) => `import required${nth} from '${name}';`);
  const required = names.reduce(
    (text, name, nth) =>
      text.replaceAll(new RegExp(`\\brequire\\(['"]${name}['"]\\)`, 'g'), `required${nth}`),
    source,
  );
  return `${imports.join('\n')}\nconst module = { exports: {} };\nconst exports = module.exports;\n${required}\nexport default module.exports;`;
}

/** The source without interfaces and types, and without the comments on them. */
function withoutTypes(source: string): string {
  const { body } = parseSync('source.ts', source).program;
  let text = source;
  for (const [index, node] of [...body.entries()].reverse()) {
    const declared = node.type === 'ExportNamedDeclaration' ? node.declaration : node;
    if (!/^TS(?:Interface|TypeAlias)Declaration$/.test(declared?.type ?? '')) continue;
    // Before the first one stands what the file is for.
    const from = index === 0 ? node.start : body[index - 1]!.end;
    text = text.slice(0, from) + text.slice(node.end);
  }
  return stripTypeScriptTypes(text);
}

/** In place of `manifest.ts`: its schema as JSON Schema, and what reads a manifest by that. */
function manifestModule(): string {
  const schema: object = { ...z.toJSONSchema(manifestSchema, { io: 'input' }), $schema: undefined };
  assertReadable(schema);
  return `
    import { readAs } from '../cli/standalone/json-schema.ts';

    /** What a manifest has to be, as JSON Schema. */
    const MANIFEST_SCHEMA = ${JSON.stringify(schema, null, 2)};

    /** Reads a manifest; null if the text is not a manifest. */
    export function parseManifest(text) {
      try {
        return readAs(MANIFEST_SCHEMA, JSON.parse(text));
      } catch {
        return null;
      }
    }`;
}

/** Throws an `Error` for a word that `readAs` would not obey. */
function assertReadable(schema: object): void {
  for (const [word, rule] of Object.entries(schema) as [string, object | readonly object[] | undefined][]) {
    if (rule === undefined) continue;
    if (!WORDS_KNOWN.includes(word))
      throw new Error(
        `the manifest's schema says '${word}', which src/cli/standalone/json-schema.ts does not know`,
      );
    if (word === 'items') assertReadable(rule);
    if (word === 'anyOf') for (const one of rule as readonly object[]) assertReadable(one);
    if (word === 'properties') for (const one of Object.values(rule) as object[]) assertReadable(one);
  }
}
