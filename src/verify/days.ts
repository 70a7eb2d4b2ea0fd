/** The files that somebody asks to have checked, and each day against the day before it. */
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import { downloadedName, manifestFileNextTo, STORE_MARK_KEY } from './names.ts';
import { CSV } from './formats.ts';
import { openZip, UnreadableZip, type ZippedFiles } from './zip-files.ts';
import type { Manifest, ManifestStatement, OtherFormat } from './manifest.ts';
import { addDays, dayBefore, zoneDays } from '../ledger/business-day.ts';
import { compareAmounts, moneyText } from '../ledger/money.ts';
import { counted } from '../ledger/text.ts';

export class NothingToVerify extends ExpectedError {
  override readonly name = 'NothingToVerify';
  readonly exitCode = EXIT.usage;
}

export interface Found {
  readonly path: string;
  /** Found in a folder, or a manifest that was named, or next to one: all current files that such a manifest lists have to be there. */
  readonly isComplete: boolean;
  readonly open: () => AsyncIterable<Uint8Array>;
}

/** The file's name, however its ending is written. */
export const nameOf = (path: string): string => downloadedName(basename(path));

const isZip = (path: string): boolean => nameOf(path).endsWith('.zip');

export const isManifest = (path: string): boolean => nameOf(path).endsWith('.json');

/** For a file that is named alone also the manifest next to it; for a manifest also the files next to it. Throws `NothingToVerify`. */
export async function filesUnder(paths: readonly string[]): Promise<Found[]> {
  const found = new Map<string, Found>();
  const add = (path: string, isComplete: boolean): void => {
    if (basename(path) === STORE_MARK_KEY) return;
    if (!found.has(path)) found.set(path, { path, isComplete, open: () => createReadStream(path) });
  };
  for (const path of paths) {
    const kind = await stat(path).catch(() => null);
    if (kind === null) throw new NothingToVerify(`${path} does not exist`);
    if (kind.isDirectory()) {
      const entries = await readdir(path, { recursive: true, withFileTypes: true });
      for (const entry of entries.filter((one) => one.isFile() && !one.name.startsWith('.'))) {
        add(join(entry.parentPath, entry.name), true);
      }
    } else if (isManifest(path)) {
      add(path, true);
      for (const name of await readdir(dirname(path))) {
        if (!isManifest(name)) add(join(dirname(path), name), true);
      }
    } else if (isZip(path)) {
      add(path, true);
    } else {
      add(path, false);
      const names = ['manifest.json', manifestFileNextTo(nameOf(path))];
      for (const name of await readdir(dirname(path)))
        if (names.includes(nameOf(name))) add(join(dirname(path), name), false);
    }
  }
  return [...found.values()].sort(byPath);
}

const byPath = (a: Found, b: Found): number => (a.path < b.path ? -1 : 1);

export interface Unzipped {
  /** The files with those in ZIPs in place of these. */
  readonly found: readonly Found[];
  readonly problems: readonly Problem[];
  readonly notChecked: readonly Problem[];
  readonly close: () => void;
}

/** Opens each ZIP, but none that lies in another. */
export async function unzipped(given: readonly Found[]): Promise<Unzipped> {
  const found = given.filter(({ path }) => !isZip(path));
  const opened: ZippedFiles[] = [];
  const problems: Problem[] = [];
  const notChecked: Problem[] = [];
  for (const { path } of given.filter((one) => isZip(one.path))) {
    try {
      const zip = await openZip(path);
      opened.push(zip);
      if (zip.encrypted > 0)
        problems.push({
          path,
          problem: `${counted(zip.encrypted, 'file')} in it cannot be read: ${ENCRYPTED}`,
        });
      for (const file of zip.files) {
        if (basename(file.path).startsWith('.') || basename(file.path) === STORE_MARK_KEY) continue;
        if (isZip(file.path)) notChecked.push({ path: file.path, problem: NESTED });
        else found.push({ ...file, isComplete: true });
      }
    } catch (error) {
      if (!(error instanceof UnreadableZip)) throw error;
      problems.push({ path, problem: `the ZIP cannot be read: ${error.message}. Download it again` });
    }
  }
  return {
    found: found.sort(byPath),
    problems,
    notChecked,
    close: () => opened.forEach((zip) => zip.close()),
  };
}

const ENCRYPTED = 'the ZIP is encrypted. Unpack it, and verify the folder';
const NESTED = 'a ZIP in a ZIP is not checked: unpack it, and verify the folder';

/** What is said of a file in a ZIP. */
export const notRead = ({ message }: UnreadableZip): string =>
  `it cannot be read from the ZIP: ${message}. Download the ZIP again`;

export interface ExpectedFile {
  readonly file: string;
  readonly sha256: string;
  readonly bytes: number | null;
  readonly revision: number;
  readonly currency: string | null;
  readonly current: boolean;
  readonly statement: ManifestStatement | null;
  /** Name of its format. Summaries have `csv` as well, but their rows are not checked. */
  readonly format: string;
}

/** Statements with their superseded revisions, in every format, then summaries. */
export function expectedFiles({ statements, summary }: Manifest): ExpectedFile[] {
  return [
    ...statements.flatMap((statement) => [
      ...inEveryFormat({ ...statement, current: true, statement, format: CSV.name }, statement),
      ...statement.superseded.flatMap((old) => {
        const { currency } = statement;
        return inEveryFormat({ ...old, currency, current: false, statement: null, format: CSV.name }, old);
      }),
    ]),
    ...(summary === null
      ? []
      : [summary, ...summary.superseded].map((one, index) => ({
          ...{ ...one, bytes: null, currency: null, current: index === 0, statement: null },
          format: CSV.name,
        }))),
  ];
}

const inEveryFormat = (
  file: ExpectedFile,
  { otherFormats = [] }: { readonly otherFormats?: readonly OtherFormat[] | undefined },
): ExpectedFile[] => [file, ...otherFormats.map((other) => ({ ...file, ...other }))];

export interface ReadManifest extends Omit<Found, 'open'> {
  readonly manifest: Manifest;
  readonly sha256: string;
}

export interface VerifiedFile {
  readonly path: string;
  readonly merchantNo: string;
  readonly day: string;
  readonly currency: string | null;
  readonly revision: number;
  /** False for a superseded revision, of which only the bytes are checked. */
  readonly current: boolean;
  readonly rows: number | null;
  readonly verdict: ManifestStatement['verdict'] | null;
  /** How many breaks it was published with, and how many of them a person resolved; null where `verdict` is null. */
  readonly breaks: number | null;
  readonly explained: number | null;
  readonly problems: readonly string[];
}

export interface Problem {
  readonly path: string;
  readonly problem: string;
}

/** What does not fit the account's statement before, if that one is among the manifests. */
export function problemsWithDayBefore(manifest: Manifest, manifests: readonly ReadManifest[]): string[] {
  return manifest.statements.flatMap((statement) => {
    const { currency, previousDay, previousSha256 } = statement;
    const leftOut = daysLeftOut(manifest, statement);
    if (leftOut !== null) return [leftOut];
    const before = manifests
      .filter(({ manifest: other }) => other.merchantNo === manifest.merchantNo && other.day === previousDay)
      .flatMap(({ manifest: other }) => other.statements.filter((one) => one.currency === currency))[0];
    if (before === undefined) {
      // The statement before is not here. If the account has one of yesterday here, the manifest should have named
      // that.
      return skippedDays(manifest, statement, manifests);
    }
    const problems: string[] = [];
    if (before.sha256 !== previousSha256) {
      problems.push(
        `${currency}: the statement of ${previousDay ?? ''} here is not the one that this day's manifest names: ` +
          `download both days again`,
      );
    }
    if (!statement.openingDerived && compareAmounts(before.closing, statement.opening) !== 0) {
      problems.push(
        `${currency}: the opening is ${moneyText(statement.opening, currency)}, but ${previousDay ?? ''} closed on ${moneyText(before.closing, currency)}`,
      );
    }
    return problems;
  });
}

/** Days without a statement before a day that takes up the balance before them: they are proven then, and have one or wait for it. */
function daysLeftOut(
  { day, timeZone }: Pick<Manifest, 'day' | 'timeZone'>,
  { currency, previousDay, openingDerived, waitingBetween }: ManifestStatement,
): string | null {
  if (previousDay === null || openingDerived || waitingBetween !== undefined) return null;
  const lacking = zoneDays(addDays(previousDay, 1), addDays(day, -1), timeZone);
  const [from, to] = [lacking[0], lacking.at(-1)];
  if (from === undefined || to === undefined) return null;
  const days = from === to ? `${from} has` : `${from} to ${to} have`;
  return `${currency}: ${days} no statement, though ${day} takes up the closing of ${previousDay}: run \`daybook run\`, then download again`;
}

function skippedDays(
  manifest: Manifest,
  { currency, previousDay }: ManifestStatement,
  manifests: readonly ReadManifest[],
): string[] {
  const yesterday = dayBefore(manifest.day, manifest.timeZone);
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
