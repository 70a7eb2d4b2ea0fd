/** Which mutants are tried: drawn from a seed, of all sources, a folder, or what changed. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isReal, mutantsOf, type Mutant } from './mutants.ts';
import { randomOf } from '../../test/support/random.ts';

/** Made by a generator. */
const GENERATED = 'src/store/engine/schema.ts';

export interface Wanted {
  readonly seed: number;
  readonly count: number;
  readonly folder?: string | undefined;
  /** Files that are as they were at this commit are left out. */
  readonly since?: string | undefined;
}

/** `src/sync` of `src/sync/plan.ts`. */
export const folderOf = (file: string): string => file.split('/').slice(0, 2).join('/');

/**
 * The sources that mutants are drawn of, and why these. Where nothing changed, or that is not known, it is a folder at
 * random.
 */
export function sourcesOf(
  files: readonly string[],
  wanted: Wanted,
  changedSince: (commit: string) => ReadonlySet<string>,
): [string[], string] {
  const sources = files.filter((file) => /^src\/.*\.ts$/.test(file) && file !== GENERATED).sort();
  const below = (folder: string): string[] => sources.filter((file) => file.startsWith(`${folder}/`));
  if (wanted.folder !== undefined) return [below(wanted.folder.replace(/\/$/, '')), wanted.folder];
  if (wanted.since === undefined) return [sources, 'src'];
  const changed = changedSince(wanted.since);
  const touched = sources.filter((file) => changed.has(file));
  if (touched.length > 0) return [touched, `${touched.length} files changed since ${wanted.since}`];
  const folders = [...new Set(sources.map(folderOf))];
  const folder = folders[Math.floor(randomOf(wanted.seed)() * folders.length)]!;
  return [below(folder), `${folder}, as nothing changed in src since ${wanted.since}`];
}

/** Draws mutants of these sources. The same seed and the same texts give the same ones. */
export function drawMutants(root: string, sources: readonly string[], { seed, count }: Wanted): Mutant[] {
  const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');
  const left = sources.flatMap((file) => mutantsOf(file, textOf(file)));
  const random = randomOf(seed);
  const drawn: Mutant[] = [];
  while (drawn.length < count && left.length > 0) {
    const at = Math.floor(random() * left.length);
    const one = left[at]!;
    left[at] = left.at(-1)!;
    left.pop();
    if (isReal(textOf(one.file), one)) drawn.push(one);
  }
  return drawn;
}
