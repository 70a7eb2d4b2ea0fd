/**
 * Joins the program's modules that are loaded together into one file, as opening and linking files is much of a start. The text of a
 * function stays as it is, below the name of its source, so that an error can be read.
 */
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { rollup } from '@rollup/wasm-node';

/**
 * Writes the modules that `entries` reach to `target`. Entries keep their path below `source`; the files that they share are in
 * `parts`. What is imported late stays apart, and packages are imported as before. Throws an `Error` for a warning.
 */
export async function joinModules(source: string, entries: readonly string[], target: string): Promise<void> {
  const nameOf = (file: string): string => relative(source, file).replace(/\.js$/, '');
  const bundle = await rollup({
    input: Object.fromEntries(entries.map((file) => [nameOf(file), file])),
    plugins: [
      {
        name: 'own-modules',
        resolveId: (id, importer) => {
          if (importer === undefined) return id;
          return id.startsWith('.') ? join(importer, '..', id) : { id, external: true };
        },
        load: (id) => `// ---------- ${nameOf(id)}\n\n${readFileSync(id, 'utf8').replace(/^#!.*\n/, '')}`,
      },
    ],
    onwarn: ({ message }) => {
      throw new Error(`the program cannot be joined: ${message}`);
    },
  });
  await bundle.write({
    dir: target,
    format: 'es',
    entryFileNames: '[name].js',
    chunkFileNames: 'src/parts/[name].js',
    minifyInternalExports: false,
  });
  await bundle.close();
}
