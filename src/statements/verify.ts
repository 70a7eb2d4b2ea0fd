/** Checks downloaded statements against their manifests, offline: bytes, sums, chain, and day after day. */
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parse } from 'csv-parse';
import { addDays } from '../ledger/business-day.ts';
import { compareAmounts } from '../ledger/money.ts';
import { digestOf, metered } from '../objects/object-store.ts';
import { manifestFileBeside, STORE_MARK_KEY } from './keys.ts';
import { parseManifest, type Manifest, type ManifestStatement } from './manifest.ts';
import { checkRows } from './verify-rows.ts';

/** A path that is not there. */
class NothingToVerify extends ExpectedError {
  override readonly name = 'NothingToVerify';
  readonly exitCode = EXIT.usage;
}

/** One file that a manifest names, and what does not hold of it. */
export interface VerifiedFile {
  readonly path: string;
  readonly merchantNo: string;
  readonly day: string;
  /** Null for a summary. */
  readonly currency: string | null;
  readonly revision: number;
  /** False where a later revision replaced it: then only its bytes are checked. */
  readonly current: boolean;
  readonly rows: number | null;
  readonly verdict: ManifestStatement['verdict'] | null;
  /** Breaks it was published with, and how many of them a person has explained; null where `verdict` is. */
  readonly breaks: number | null;
  readonly explained: number | null;
  readonly problems: readonly string[];
}

export interface VerifyReport {
  readonly manifests: number;
  readonly files: readonly VerifiedFile[];
  /** Everything that does not hold, those of `files` included. Empty: all is as published. */
  readonly problems: readonly { readonly path: string; readonly problem: string }[];
}

interface Found {
  readonly path: string;
  /** By way of a folder, or a manifest that was named: then what it lists must be there. */
  readonly whole: boolean;
}

interface ReadManifest extends Found {
  readonly manifest: Manifest;
}

/**
 * Checks files and folders, in the layout of the store or all in one folder. A statement named alone is checked by the
 * manifest beside it. Throws `NothingToVerify` for a path that does not exist.
 */
export async function verifyPaths(paths: readonly string[]): Promise<VerifyReport> {
  const found = await filesUnder(paths);
  const problems: { path: string; problem: string }[] = [];
  const manifests: ReadManifest[] = [];
  for (const file of found.filter(({ path }) => path.endsWith('.json'))) {
    const manifest = parseManifest(await readFile(file.path, 'utf8'));
    if (manifest !== null) manifests.push({ ...file, manifest });
    else problems.push({ path: file.path, problem: 'this is no manifest of daybook' });
  }
  const sheets = found.filter(({ path }) => path.endsWith('.csv')).map(({ path }) => path);
  const named = new Set<string>();
  const files: VerifiedFile[] = [];
  for (const one of manifests) {
    for (const expected of expectedFiles(one.manifest).filter(({ file }) => isFor(one.path, file))) {
      const copies = sheets.filter(
        (path) =>
          basename(path) === expected.file &&
          (expected.currency !== null || dirname(path) === dirname(one.path)),
      );
      if (copies.length === 0 && one.whole && expected.current && !hasOtherRevision(one, expected, sheets)) {
        problems.push({ path: one.path, problem: `${expected.file} is listed and not here` });
      }
      for (const path of copies) {
        named.add(path);
        files.push(await verifyFile(path, one.manifest, expected));
      }
    }
    for (const problem of problemsWithDayBefore(one.manifest, manifests)) {
      problems.push({ path: one.path, problem });
    }
  }
  for (const path of sheets) {
    if (!named.has(path)) problems.push({ path, problem: 'no manifest here names this file' });
  }
  if (manifests.length === 0)
    problems.push({ path: paths.join(' '), problem: 'there is no manifest.json here' });
  for (const { path, problems: own } of files) for (const problem of own) problems.push({ path, problem });
  return { manifests: manifests.length, files, problems };
}

/** Every CSV and JSON file under the paths; beside a file named alone, its manifest; beside a manifest, what it lists. */
async function filesUnder(paths: readonly string[]): Promise<Found[]> {
  const found = new Map<string, Found>();
  const add = (path: string, whole: boolean): void => {
    if (basename(path) === STORE_MARK_KEY) return;
    if (/\.(csv|json)$/.test(path) && !found.has(path)) found.set(path, { path, whole });
  };
  for (const path of paths) {
    const kind = await stat(path).catch(() => null);
    if (kind === null) throw new NothingToVerify(`${path} does not exist`);
    if (kind.isDirectory()) {
      const entries = await readdir(path, { recursive: true, withFileTypes: true });
      for (const entry of entries.filter((one) => one.isFile() && !one.name.startsWith('.'))) {
        add(join(entry.parentPath, entry.name), true);
      }
    } else if (path.endsWith('.json')) {
      add(path, true);
      for (const name of await readdir(dirname(path))) {
        if (name.endsWith('.csv')) add(join(dirname(path), name), true);
      }
    } else {
      add(path, false);
      for (const name of ['manifest.json', manifestFileBeside(basename(path))]) {
        const beside = join(dirname(path), name);
        if ((await stat(beside).catch(() => null)) !== null) add(beside, false);
      }
    }
  }
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Whether a manifest answers for a file: for all it lists, unless its name says it came with one statement only. */
const isFor = (manifestPath: string, file: string): boolean => {
  const name = basename(manifestPath);
  return !name.endsWith('.manifest.json') || manifestFileBeside(file) === name;
};

/** A manifest that came with one statement answers for the revision that was asked for, current or not. */
const hasOtherRevision = (one: ReadManifest, { file, currency }: ExpectedFile, sheets: readonly string[]) =>
  basename(one.path).endsWith('.manifest.json') &&
  expectedFiles(one.manifest).some(
    (other) =>
      other.currency === currency &&
      other.file !== file &&
      sheets.includes(join(dirname(one.path), other.file)),
  );

interface ExpectedFile {
  readonly file: string;
  readonly sha256: string;
  /** Null where the manifest does not say. */
  readonly bytes: number | null;
  readonly revision: number;
  readonly currency: string | null;
  readonly current: boolean;
  /** Set for current statements. */
  readonly statement: ManifestStatement | null;
}

function expectedFiles({ statements, summary }: Manifest): ExpectedFile[] {
  return [
    ...statements.flatMap((statement): ExpectedFile[] => [
      { ...statement, current: true, statement },
      ...statement.superseded.map((old) => ({
        ...old,
        currency: statement.currency,
        current: false,
        statement: null,
      })),
    ]),
    ...(summary === null
      ? []
      : [summary, ...summary.superseded].map((one, index) => ({
          ...one,
          bytes: null,
          currency: null,
          current: index === 0,
          statement: null,
        }))),
  ];
}

async function verifyFile(path: string, manifest: Manifest, expected: ExpectedFile): Promise<VerifiedFile> {
  const { statement } = expected;
  const rows = statement === null ? null : checkRows(statement, manifest.day, manifest.timeZone);
  const { bytes, sha256, unreadable } = await readSheet(path, rows?.take ?? null);
  const problems: string[] = [];
  if (expected.bytes !== null && bytes !== expected.bytes) {
    problems.push(`the file has ${bytes} bytes, ${expected.bytes} were published`);
  }
  if (sha256 !== expected.sha256) {
    problems.push(
      `its SHA-256 is ${sha256}, ${expected.sha256} was published: it is another file, or was changed`,
    );
  }
  if (unreadable !== null) problems.push(`it cannot be read as CSV: ${unreadable}`);
  if (rows !== null && unreadable === null) problems.push(...rows.end());
  return {
    path,
    merchantNo: manifest.merchantNo,
    day: manifest.day,
    currency: expected.currency,
    revision: expected.revision,
    current: expected.current,
    rows: statement?.rows ?? null,
    verdict: statement?.verdict ?? null,
    breaks: statement?.breaks ?? null,
    explained: statement === null ? null : (statement.explained ?? 0),
    problems,
  };
}

/** Digest and rows of a file in one reading. */
async function readSheet(path: string, take: ((cells: readonly string[]) => void) | null) {
  if (take === null) return { ...(await digestOf(createReadStream(path))), unreadable: null };
  const source = metered(() => createReadStream(path));
  const rows = parse({ relax_column_count: true, record_delimiter: '\r\n' });
  try {
    await pipeline(source.stream, rows, async (parsed: AsyncIterable<string[]>) => {
      for await (const cells of parsed) take(cells);
    });
    return { ...source.digest(), unreadable: null };
  } catch (error) {
    if (source.sourceError() !== undefined) throw error;
    const unreadable = error instanceof Error ? error.message : String(error);
    return { ...(await digestOf(createReadStream(path))), unreadable };
  }
}

/** What does not fit the account's statement before, where that one is among the manifests. */
function problemsWithDayBefore(manifest: Manifest, manifests: readonly ReadManifest[]): string[] {
  return manifest.statements.flatMap((statement) => {
    const { currency, previousDay, previousSha256 } = statement;
    const before = manifests
      .filter(({ manifest: other }) => other.merchantNo === manifest.merchantNo && other.day === previousDay)
      .flatMap(({ manifest: other }) => other.statements.filter((one) => one.currency === currency))[0];
    if (before === undefined) {
      // A later statement among those here contradicts what this one was written after.
      return skippedDays(manifest, statement, manifests);
    }
    const problems: string[] = [];
    if (before.sha256 !== previousSha256) {
      problems.push(
        `${currency}: the statement of ${previousDay ?? ''} here is not the one this day was published after: ` +
          `download both days again`,
      );
    }
    if (!statement.openingDerived && compareAmounts(before.closing, statement.opening) !== 0) {
      problems.push(
        `${currency}: the opening is ${statement.opening}, but ${previousDay ?? ''} closed on ${before.closing}`,
      );
    }
    return problems;
  });
}

function skippedDays(
  manifest: Manifest,
  { currency, previousDay }: ManifestStatement,
  manifests: readonly ReadManifest[],
): string[] {
  const yesterday = addDays(manifest.day, -1);
  const skipped = manifests.some(
    ({ manifest: other }) =>
      other.merchantNo === manifest.merchantNo &&
      other.day === yesterday &&
      yesterday !== previousDay &&
      other.statements.some((one) => one.currency === currency),
  );
  return skipped
    ? [`${currency}: ${yesterday} is not named as the statement before: download ${manifest.day} again`]
    : [];
}
