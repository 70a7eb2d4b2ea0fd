/** Files that no manifest lists: what was made for a download has no published checksum, and any other statement is wrong. */
import type { ReadableFormat } from './formats.ts';
import { expectedFiles, nameOf, type Problem, type ReadManifest } from './days.ts';

/** `10001_USD_2026-03-31.r2.csv`: the account day, the revision and the extension. */
const STATEMENT = /^(.+)\.r(\d+)\.([a-z0-9.]+)$/;
const CHANGES = /\.r\d+-r\d+\.[a-z0-9.]+$/;
/** Files of a month: what its ZIP adds to its statements, and those of an account. */
const OF_MONTH = /^(?:month|changes)-\d{4}-\d\d(?:-.+)?\.[a-z0-9]+$/;

const MADE = 'it was made for a download, so no manifest has its checksum: it is not checked';
const SUMS = 'it sums up the files of a download, and was not published: it is not checked';
const ONLY_CHANGES = 'it has the changes between two revisions, and was not published: it is not checked';

/**
 * Of files that no manifest lists (`paths`), those that are a statement to be reported, and those that cannot be checked. A statement in
 * another format than the CSV cannot be, unless a manifest of its account day is here that does not know its revision.
 */
export function unnamedFiles(
  paths: readonly string[],
  manifests: readonly ReadManifest[],
  formats: readonly Pick<ReadableFormat, 'extension'>[],
): { readonly problems: readonly Problem[]; readonly notChecked: readonly Problem[] } {
  const problems: Problem[] = [];
  const notChecked: Problem[] = [];
  const known = revisionsIn(manifests);
  const extensions = new Set([...formats.map(({ extension }) => extension), 'spreadsheet.csv']);
  extensions.delete('csv');
  for (const path of paths) {
    const name = nameOf(path);
    const [, accountDay = '', revision = '', extension = ''] = STATEMENT.exec(name) ?? [];
    if (OF_MONTH.test(name)) notChecked.push({ path, problem: SUMS });
    else if (CHANGES.test(name)) notChecked.push({ path, problem: ONLY_CHANGES });
    else if (extensions.has(extension)) {
      if (known.get(accountDay)?.has(revision) === false)
        problems.push({ path, problem: 'the manifest here names no such revision' });
      else notChecked.push({ path, problem: MADE });
    } else if (name.endsWith('.csv')) problems.push({ path, problem: 'no manifest here names this file' });
  }
  return { problems, notChecked };
}

/** By account day as the names of files spell it. */
function revisionsIn(manifests: readonly ReadManifest[]): ReadonlyMap<string, ReadonlySet<string>> {
  const known = new Map<string, Set<string>>();
  for (const { manifest } of manifests)
    for (const { file } of expectedFiles(manifest)) {
      const [, accountDay, revision] = STATEMENT.exec(file) ?? [];
      if (accountDay !== undefined)
        known.set(accountDay, (known.get(accountDay) ?? new Set()).add(revision!));
    }
  return known;
}
