/**
 * Checks downloaded statements against their manifests, offline: bytes, sums, chain, and that each day follows from
 * the day before.
 */
import { createCloseCheck, type CloseCheck, type VerifiedClose } from './closes.ts';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import type { PublicKey } from '../ledger/signature.ts';
import { collectedUpTo, digestOf, hashed, sha256Of, type Digest } from './bytes.ts';
import {
  filesUnder,
  unzipped,
  notRead,
  type Unzipped,
  isManifest,
  nameOf,
  type Found,
  expectedFiles,
  type ExpectedFile,
  problemsWithDayBefore,
  type Problem,
  type ReadManifest,
  type VerifiedFile,
} from './days.ts';
import { checkRows } from './rows.ts';
import { JSON_BYTES_MAX, UnreadableZip } from './zip-files.ts';
import { columnsOf, READABLE_FORMATS, type ReadableFormat } from './formats.ts';
import { UnreadableRows } from './csv.ts';
import { isOfAnotherDay, manifestFileNextTo, SIGNATURE_EXTENSION, WITHDRAWN } from './names.ts';
import { parseManifest, type Manifest } from './manifest.ts';
import { unnamedFiles } from './unnamed-files.ts';
import { groupedBy, verifyChains, type VerifiedChain } from './chain.ts';

export interface VerifyReport {
  readonly manifests: number;
  readonly files: readonly VerifiedFile[];
  /** Everything that is wrong, the problems of `files` included. Empty if all is as published. */
  readonly problems: readonly Problem[];
  readonly signed: number | null;
  readonly chains: readonly VerifiedChain[];
  readonly closes: readonly VerifiedClose[];
  /** Files that hold statements in a form that is not read. */
  readonly notChecked: readonly Problem[];
}

/**
 * Checks files and folders, in the layout of the store or all in one folder. For a statement that is given alone, the
 * manifest next to it is used. With public keys, every manifest has to be signed by one of them, and none may be missing
 * of the days between those that are here; with `isComplete`, no manifest of the chain may, from the first one on. Throws
 * `NothingToVerify` for a path that does not exist.
 */
export async function verifyPaths(
  paths: readonly string[],
  formats: readonly ReadableFormat[] = READABLE_FORMATS,
  publicKeys: readonly PublicKey[] = [],
  isComplete = false,
): Promise<VerifyReport> {
  const opened = await unzipped(await filesUnder(paths));
  try {
    return await verifyFiles(opened, paths, formats, publicKeys, isComplete);
  } finally {
    opened.close();
  }
}

async function verifyFiles(
  { found, ...inZips }: Unzipped,
  paths: readonly string[],
  formats: readonly ReadableFormat[],
  publicKeys: readonly PublicKey[],
  isComplete: boolean,
): Promise<VerifyReport> {
  const open = opener(found);
  const closeCheck = createCloseCheck();
  const { manifests, problems, signed } = await readManifests(found, open, publicKeys, closeCheck);
  problems.unshift(...inZips.problems);
  const sheets = found.filter(({ path }) => !isManifest(path)).map(({ path }) => path);
  const sheetsNamed = groupedBy(sheets, nameOf);
  const named = new Set<string>();
  const numbers = createNumbersSeen();
  const files: VerifiedFile[] = [];
  for (const one of manifests) {
    for (const expected of expectedFiles(one.manifest).filter(({ file }) => isFor(one.path, file))) {
      const copies = (sheetsNamed.get(expected.file) ?? []).filter(
        (path) => expected.currency !== null || dirname(path) === dirname(one.path),
      );
      const isMissing = copies.length === 0 && one.isComplete && expected.current;
      if (isMissing && !hasOtherRevision(one, expected, sheetsNamed)) {
        const problem = `${expected.file} is listed in the manifest but is not here`;
        problems.push({ path: one.path, problem });
      }
      for (const path of copies) {
        named.add(path);
        files.push(
          await verifyFile({ path, open: () => open(path) }, one.manifest, expected, formats, numbers),
        );
      }
    }
    for (const problem of problemsWithDayBefore(one.manifest, manifests)) {
      problems.push({ path: one.path, problem });
    }
  }
  const unnamed = unnamedFiles(
    sheets.filter((path) => !named.has(path)),
    manifests,
    formats,
  );
  problems.push(...unnamed.problems);
  const { chains, problems: inChains } = verifyChains(manifests);
  problems.push(...inChains);
  if (publicKeys.length > 0 || isComplete)
    problems.push(
      ...chains.flatMap(({ outdated, missing }) => [...outdated, ...missing]),
      ...(await leftAlone(found)),
    );
  if (isComplete) problems.push(...chains.flatMap(({ outside }) => outside));
  const here = { manifests, files, given: paths, isComplete, open };
  const { closes, problems: inCloses } = await closeCheck.end(here);
  problems.push(...inCloses);
  if (manifests.length === 0 && closes.length === 0)
    problems.push({ path: paths.join(' '), problem: 'there is no manifest.json here' });
  for (const { path, problems: own } of files) for (const problem of own) problems.push({ path, problem });
  const notChecked = [...inZips.notChecked, ...unnamed.notChecked];
  return { manifests: manifests.length, files, problems, signed, chains, closes, notChecked };
}

type Open = (path: string) => AsyncIterable<Uint8Array>;

/** Reads a file that was found, or one next to it. */
function opener(found: readonly Found[]): Open {
  const byPath = new Map(found.map((one) => [one.path, one]));
  return (path) => byPath.get(path)?.open() ?? createReadStream(path);
}

/** Reads manifests and closed months, and checks their signatures where there are keys to check them with. */
async function readManifests(
  found: readonly Found[],
  open: Open,
  keys: readonly PublicKey[],
  closeCheck: CloseCheck,
) {
  const manifests: ReadManifest[] = [];
  const problems: Problem[] = [];
  let signed = 0;
  for (const file of found.filter((one) => isManifest(one.path))) {
    const { path } = file;
    const content = await manifestBytes(file);
    if (typeof content === 'string') {
      problems.push({ path, problem: content });
      continue;
    }
    const manifest = parseManifest(content.toString('utf8'));
    if (manifest !== null) {
      manifests.push({ ...file, manifest, sha256: sha256Of(content) });
      const { merchantNo, day } = manifest;
      const problem = `it is the manifest of ${merchantNo}, ${day}: it was moved here`;
      const place = join(dirname(resolve(path)), nameOf(path)).replaceAll(sep, '/');
      if (isOfAnotherDay(place, merchantNo, day)) problems.push({ path, problem });
    } else if (!closeCheck.take(path, content)) {
      problems.push({ path, problem: 'this is no manifest of daybook' });
      continue;
    }
    const problem =
      keys.length === 0 ? null : await signatureProblem(open(path + SIGNATURE_EXTENSION), content, keys);
    if (problem === null) signed += Number(manifest !== null);
    else problems.push({ path, problem });
  }
  return { manifests, problems, signed: keys.length === 0 ? null : signed };
}

/** The bytes of a manifest; a text, which says why, where they cannot be read or are more than any manifest has. */
async function manifestBytes({ open }: Found): Promise<Buffer | string> {
  try {
    const content = await collectedUpTo(open(), JSON_BYTES_MAX);
    return content ?? `this is no manifest of daybook: it has more than ${JSON_BYTES_MAX} bytes`;
  } catch (error) {
    if (error instanceof UnreadableZip) return notRead(error);
    throw error;
  }
}

async function leftAlone(found: readonly Found[]): Promise<Problem[]> {
  const problems: Problem[] = [];
  const here = new Set(found.map(({ path }) => path));
  for (const { path } of found.filter((one) => nameOf(one.path).endsWith(SIGNATURE_EXTENSION))) {
    const manifest = path.slice(0, -SIGNATURE_EXTENSION.length);
    if (!here.has(manifest) && (await stat(manifest).catch(() => null)) === null)
      problems.push({ path, problem: 'the manifest that it signs is missing here' });
  }
  return problems;
}

/** A manifest covers all files it lists, unless its name says that it came with one statement. */
const isFor = (manifestPath: string, file: string): boolean => {
  const name = nameOf(manifestPath);
  return !name.endsWith('.manifest.json') || manifestFileNextTo(file) === name;
};

/** A manifest that came with one statement covers the revision that was downloaded, current or not. */
const hasOtherRevision = (
  one: ReadManifest,
  { file, currency }: ExpectedFile,
  sheetsNamed: ReadonlyMap<string, readonly string[]>,
) =>
  nameOf(one.path).endsWith('.manifest.json') &&
  expectedFiles(one.manifest).some(
    (other) =>
      other.currency === currency &&
      other.file !== file &&
      sheetsNamed.get(other.file)?.some((path) => dirname(path) === dirname(one.path)),
  );

type Sheet = Pick<Found, 'path' | 'open'>;

async function verifyFile(
  { path, open }: Sheet,
  manifest: Manifest,
  expected: ExpectedFile,
  formats: readonly ReadableFormat[],
  numbers: NumbersSeen,
): Promise<VerifiedFile> {
  const { statement } = expected;
  const problems = await readSheet(open, manifest, expected, formats, numbers).then(
    (read) => problemsIn(read, expected),
    (error: unknown) => {
      if (error instanceof UnreadableZip) return [notRead(error)];
      throw error;
    },
  );
  return {
    ...{ path, merchantNo: manifest.merchantNo, day: manifest.day },
    ...{ currency: expected.currency, revision: expected.revision, current: expected.current },
    ...{ rows: statement?.rows ?? null, verdict: statement?.verdict ?? null },
    ...{ breaks: statement?.breaks ?? null, explained: statement && (statement.explained ?? 0) },
    problems,
  };
}

type ReadSheet = Digest & { readonly problemsInRows: readonly string[] };

const problemsIn = ({ bytes, sha256, problemsInRows }: ReadSheet, expected: ExpectedFile): string[] => [
  ...(expected.bytes !== null && bytes !== expected.bytes
    ? [`the file has ${bytes} bytes, ${expected.bytes} were published`]
    : []),
  ...(sha256 !== expected.sha256
    ? [`its SHA-256 is ${sha256}, ${expected.sha256} was published: it is another file, or was changed`]
    : []),
  ...problemsInRows,
];

/** Reads the file once, unless its rows cannot be read. */
async function readSheet(
  open: Sheet['open'],
  manifest: Manifest,
  { statement, format }: ExpectedFile,
  formats: readonly ReadableFormat[],
  numbers: NumbersSeen,
): Promise<ReadSheet> {
  const reader = formats.find(({ name }) => name === format)?.reader;
  if (statement === null || reader === undefined) return { ...(await digestOf(open())), problemsInRows: [] };
  const source = hashed(open());
  const { merchantNo, day } = manifest;
  const check = checkRows(statement, day, manifest.timeZone, reader, (batchNo) =>
    numbers(merchantNo, batchNo, day),
  );
  try {
    for await (const rows of reader.rows(source.stream, columnsOf(statement.columns)))
      for (const cells of rows) check.take(cells);
    return { ...source.digest(), problemsInRows: check.end() };
  } catch (error) {
    if (!(error instanceof UnreadableRows)) throw error;
    const problem = `it cannot be read as ${format.toUpperCase()}: ${error.message}`;
    return { ...(await digestOf(open())), problemsInRows: [problem] };
  }
}

/** A signature has some hundred. */
const SIGNATURE_BYTES_MAX = 65_536;
/** What is wrong with the signature of a manifest; null if one of the keys made it. */
async function signatureProblem(
  signature: AsyncIterable<Uint8Array>,
  content: Uint8Array,
  keys: readonly PublicKey[],
): Promise<string | null> {
  let text: string;
  try {
    text = (await collectedUpTo(signature, SIGNATURE_BYTES_MAX))?.toString('utf8') ?? '';
  } catch (error) {
    if (error instanceof UnreadableZip) return notRead(error);
    // In a ZIP, its path leads through a file.
    if (!['ENOENT', 'ENOTDIR'].includes(String((error as NodeJS.ErrnoException).code))) throw error;
    return `it is not signed: there is no ${SIGNATURE_EXTENSION} file next to it`;
  }
  if (text === WITHDRAWN) return 'it is not signed: it was published without the key';
  const checked = keys.map((key) => key.check(content, text));
  if (checked.some((one) => one?.isRight)) return null;
  const signer = checked[0]?.keyName;
  if (signer === undefined) return 'its signature cannot be read';
  const names = keys.map(({ name }) => name);
  return names.includes(signer)
    ? 'it is wrongly signed: the manifest or its signature was changed'
    : `it is signed by another key, ${signer}; given ${keys.length === 1 ? 'is' : 'are'} ${names.join(', ')}`;
}

/** Most numbers of one merchant that are remembered, in some hundred megabytes. Beyond them, only earlier ones are recognized. */
const NUMBERS_MAX = 4_000_000;

type NumbersSeen = (merchantNo: string, batchNo: string, day: string) => string | null;

function createNumbersSeen(): NumbersSeen {
  const byMerchant = new Map<string, Map<string, string>>();
  return (merchantNo, batchNo, day) => {
    const days = byMerchant.get(merchantNo) ?? new Map<string, string>();
    byMerchant.set(merchantNo, days);
    const other = days.get(batchNo);
    if (other === undefined && days.size < NUMBERS_MAX) days.set(batchNo, day);
    return other === undefined || other === day ? null : other;
  };
}
