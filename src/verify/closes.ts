/** Checks closed months: each file in itself, and against the manifests that are here: the frozen revisions, what came after them, and the close before. */
import { basename, dirname, relative, sep } from 'node:path';
import { sha256Of } from './bytes.ts';
import { isSamePerson } from '../ledger/people.ts';
import { counted, firstNamed } from '../ledger/text.ts';
import { countDays, closedAccount, parseClose, type CloseFile, type ClosedStatement } from './close-file.ts';
import { CSV } from './formats.ts';
import { closeKey, downloadedName, fileOf, isCloseFile } from './names.ts';
import type { Manifest, ManifestStatement } from './manifest.ts';
import { groupedBy } from './chain.ts';
import type { Problem, ReadManifest, VerifiedFile } from './days.ts';
import { checkedByRows, type ReplacedFile } from './close-rows.ts';

/** A day whose current statement is not the one that a close froze; `frozenRevision` is null if it had none then. */
interface AdjustedDay {
  readonly currency: string;
  readonly day: string;
  readonly frozenRevision: number | null;
  readonly revision: number;
}

/** A file of a close, as `verify` reports it. */
export interface VerifiedClose extends Pick<CloseFile, 'merchantNo' | 'month' | 'number' | 'despite'> {
  readonly path: string;
  readonly openDays: number;
  /** How many statements it froze, and of how many the day's manifest is here. */
  readonly statements: number;
  readonly compared: number;
  /** How many of these were replaced since and have no file here: their SHA-256 alone was compared, and no figure. */
  readonly byHash: number;
  /** What changed since, as far as the manifests here tell; empty where a later close is here. */
  readonly adjusted: readonly AdjustedDay[];
  /** Frozen statements of which no file is here; empty for a close that was given alone. */
  readonly missing: readonly Pick<AdjustedDay, 'currency' | 'day' | 'frozenRevision'>[];
}

/** What is here next to the closes. */
interface FilesHere {
  readonly manifests: readonly ReadManifest[];
  readonly files: readonly VerifiedFile[];
  /** The paths of what was asked to be verified. */
  readonly given: readonly string[];
  /** Every close before the last one of a month has to be here. */
  readonly isComplete: boolean;
  /** Reads one of them. */
  readonly open: (path: string) => AsyncIterable<Uint8Array>;
}

/** What is wrong in the file under this path (its parts separated by `/`); nothing if it is as daybook makes it. */
export const problemsInClose = (path: string, close: CloseFile): string[] => [
  ...problemsWithPlace(path, close),
  ...problemsWithDays(close),
  ...problemsWithTotals(close),
  ...(close.prepared !== undefined && isSamePerson(close.prepared.by, close.by)
    ? [`${close.by} prepared and approved it, which takes two persons`]
    : []),
];

const IN_STORE = /(^|\/)merchant=[^/]*\/close=[^/]*\/[^/]*$/;

function problemsWithPlace(path: string, { merchantNo, month, number, previous }: CloseFile): string[] {
  const key = closeKey(merchantNo, month, number);
  const wasMoved = IN_STORE.test(path)
    ? !downloadedName(`/${path}`).endsWith(`/${key}`)
    : isCloseFile(downloadedName(path)) && downloadedName(fileOf(path)) !== fileOf(key);
  return [
    ...(wasMoved ? [`it is close ${number} of ${merchantNo}, ${month}: it was moved here, or changed`] : []),
    ...((previous?.number ?? 0) === number - 1
      ? []
      : [
          `close ${number} has to name close ${number - 1} as the one before, and names ${previous === null ? 'none' : `close ${previous.number}`}`,
        ]),
  ];
}

function problemsWithDays({ month, statements, openDays, despite }: CloseFile): string[] {
  const seen = new Set<string>();
  const problems: string[] = [];
  for (const { currency, day, verdict, breaks, explained } of statements) {
    const name = `${currency} ${day}`;
    if ((verdict === 'broken') !== breaks > 0)
      problems.push(`${name}: it is ${verdict}, with ${counted(breaks, 'break')}`);
    if (explained.length > breaks)
      problems.push(`${name}: more breaks are explained than there are, which are ${breaks}`);
    if (!day.startsWith(`${month}-`)) problems.push(`${name}: the day is not in ${month}`);
    if (seen.has(name)) problems.push(`${name}: it is frozen twice`);
    seen.add(name);
  }
  for (const { currency, day } of openDays)
    if (!day.startsWith(`${month}-`)) problems.push(`${currency} ${day}: the open day is not in ${month}`);
  if ((despite === null) !== (openDays.length === 0))
    problems.push(
      despite === null
        ? 'it names open days, and no reason why it was closed despite them'
        : 'it says why it was closed despite open days, and names none',
    );
  return problems;
}

function problemsWithTotals({ accounts, statements }: CloseFile): string[] {
  const ofAccount = groupedBy(statements, ({ currency }) => currency);
  const named = new Set(accounts.map(({ currency }) => currency));
  return [
    ...accounts.flatMap((stated) => {
      const { currency } = stated;
      const own = [...(ofAccount.get(currency) ?? [])].sort((a, b) => (a.day < b.day ? -1 : 1));
      const found = closedAccount(currency, own);
      const differing = (Object.keys(found) as (keyof typeof found)[]).filter(
        (name) => stated[name] !== found[name],
      );
      return differing.map(
        (name) =>
          `${currency}: ${name} is stated as ${String(stated[name])}, its statements make ${String(found[name])}`,
      );
    }),
    ...[...ofAccount.keys()]
      .filter((currency) => !named.has(currency))
      .map((currency) => `${currency}: it has statements, and no account`),
    ...(named.size === accounts.length ? [] : ['an account is named twice']),
  ];
}

export interface ReadCloseFile {
  readonly path: string;
  readonly close: CloseFile;
  readonly sha256: string;
  /** It was given with what lies around it, so that its days have to be here. */
  readonly isInFolder?: boolean;
}

export type CloseCheck = ReturnType<typeof createCloseCheck>;

/** Checks the closes among files that are verified: takes one after the other, then compares them with all the rest. */
export function createCloseCheck() {
  const read: Omit<ReadCloseFile, 'isInFolder'>[] = [];
  return {
    /** Whether this is a close. One that is none is left to others. */
    take: (path: string, content: Buffer): boolean => {
      const close = parseClose(content.toString('utf8'));
      if (close !== null) read.push({ path, close, sha256: sha256Of(content) });
      return close !== null;
    },
    end: async ({ manifests, files, given, isComplete, open }: FilesHere) => {
      const byRows = await checkedByRows(
        read.map(({ close }) => close),
        replacedIn(files, manifests),
        open,
      );
      const closes = read.map((one) => ({ ...one, isInFolder: isInFolder(one.path, given) }));
      return verifyCloses(closes, manifests, isComplete, byRows, revisionsHere(files));
    },
  };
}

/** Whether a close was given with what lies around it: a folder or a ZIP that has it, other than the folder of closes itself. */
function isInFolder(path: string, given: readonly string[]): boolean {
  const own = dirname(path);
  const around = basename(own).startsWith('close=') ? dirname(own) : own;
  return given.some((one) => relative(one, around).split(sep)[0] !== '..');
}

/** By merchant, currency and day the revisions whose files are here, in any format. */
type RevisionsHere = ReadonlyMap<string, ReadonlySet<number>>;

function revisionsHere(files: readonly VerifiedFile[]): RevisionsHere {
  const here = new Map<string, Set<number>>();
  for (const { merchantNo, currency, day, revision } of files) {
    const name = `${merchantNo} ${currency ?? ''} ${day}`;
    here.set(name, (here.get(name) ?? new Set()).add(revision));
  }
  return here;
}

function replacedIn(files: readonly VerifiedFile[], manifests: readonly ReadManifest[]): ReplacedFile[] {
  const zones = new Map(manifests.map(({ manifest }) => [manifest.merchantNo, manifest.timeZone]));
  return files
    .filter(
      ({ path, current, currency, problems }) =>
        !current &&
        currency !== null &&
        downloadedName(path).endsWith(`.${CSV.extension}`) &&
        problems.length === 0,
    )
    .map(({ path, merchantNo }) => ({ path, merchantNo, timeZone: zones.get(merchantNo)! }));
}

/** What the rows of replaced statements contradict, as far as their files are here. */
type ByRows = ReadonlyMap<ClosedStatement, readonly string[]>;

/** With `isComplete`, every close before the last one of a month has to be here. Without `here`, files are not asked for. */
export function verifyCloses(
  closes: readonly ReadCloseFile[],
  manifests: readonly ReadManifest[],
  isComplete = false,
  byRows: ByRows = new Map(),
  here: RevisionsHere | null = null,
): { readonly closes: readonly VerifiedClose[]; readonly problems: readonly Problem[] } {
  const byDay = newestByDay(manifests);
  const problems: Problem[] = [];
  const verified = closes.map((one) => {
    const { path, close } = one;
    const others = closes.filter(
      (other) => other.close.merchantNo === close.merchantNo && other.close.month === close.month,
    );
    const isLast = others.every((other) => other.close.number <= close.number);
    problems.push(
      ...[
        ...problemsInClose(path.replaceAll('\\', '/'), close),
        ...problemsWithBefore(one, others),
        ...(isComplete && isLast ? missingBefore(one, others) : []),
      ].map((problem) => ({ path, problem })),
    );
    const { compared, byHash, adjusted, wrong, notHere } = comparedDays(close, byDay, byRows, here);
    problems.push(...wrong.map((problem) => ({ path, problem })));
    // A close that was given without its merchant's folder or any of its days is checked in itself alone.
    const isAlone =
      one.isInFolder !== true && manifests.every(({ manifest }) => manifest.merchantNo !== close.merchantNo);
    const missing = isComplete || !isAlone ? notHere : [];
    if (missing.length > 0) problems.push({ path, problem: frozenNotHere(missing) });
    const { merchantNo, month, number, despite, openDays, statements } = close;
    return {
      ...{ path, merchantNo, month, number, despite, openDays: countDays(openDays) },
      ...{ statements: statements.length, compared, byHash },
      adjusted: isLast ? adjusted : [],
      missing: missing.map(({ currency, day, revision: frozenRevision }) => ({
        currency,
        day,
        frozenRevision,
      })),
    };
  });
  return { closes: verified, problems };
}

/** Of each merchant's day the newest manifest that is here: an older one may lie next to it. */
function newestByDay(manifests: readonly ReadManifest[]): ReadonlyMap<string, Manifest> {
  const newest = new Map<string, Manifest>();
  for (const { manifest } of manifests) {
    const name = `${manifest.merchantNo} ${manifest.day}`;
    if ((newest.get(name)?.revision ?? -1) < manifest.revision) newest.set(name, manifest);
  }
  return newest;
}

const missingBefore = ({ close }: ReadCloseFile, others: readonly ReadCloseFile[]): string[] =>
  Array.from({ length: close.number - 1 }, (_, at) => at + 1)
    .filter((number) => !others.some((other) => other.close.number === number))
    .map(
      (number) =>
        `close ${number} of ${close.merchantNo}, ${close.month}, which comes before it, is not here`,
    );

/** The close before, if it is here, has to be the one that this close names. */
function problemsWithBefore({ close, sha256 }: ReadCloseFile, others: readonly ReadCloseFile[]): string[] {
  const { previous, number } = close;
  const before = others.find((other) => other.close.number === previous?.number);
  return [
    ...(before !== undefined && before.sha256 !== previous?.sha256
      ? [`close ${before.close.number} here is not the one that this close names: one of both was changed`]
      : []),
    ...(others.some((other) => other.close.number === number && other.sha256 !== sha256)
      ? [`there is another close ${number} of the month here`]
      : []),
  ];
}

const FIGURES = [
  ...(['opening', 'creditTotal', 'creditCount', 'debitTotal', 'debitCount', 'closing'] as const),
  ...(['verdict', 'breaks'] as const),
];

/** Figures that the close states otherwise than the manifest of the same revision. */
const otherFigures = (frozen: ClosedStatement, current: ManifestStatement): string[] =>
  FIGURES.filter((name) => frozen[name] !== current[name]).map(
    (name) =>
      `${frozen.currency} ${frozen.day}: the close says ${name} ${frozen[name]}, the manifest here ${current[name]}`,
  );

const FROZEN_NAMED_MAX = 20;

function frozenNotHere(statements: readonly ClosedStatement[]): string {
  const names = statements.map(({ currency, day }) => `${currency} ${day}`);
  return (
    `${counted(statements.length, 'statement')} that the close froze ${statements.length === 1 ? 'is' : 'are'} not here: ` +
    `${firstNamed(names, FROZEN_NAMED_MAX)}: download the days again`
  );
}

/** A close does not see what is published while it is made. */
const PUBLISHING_MS_MAX = 3_600_000;

type Published = Pick<ManifestStatement, 'revision' | 'publishedAt'>;

const firstOf = (revisions: readonly Published[]): Published =>
  revisions.reduce((first, one) => (one.revision < first.revision ? one : first));

const isLongBefore = ({ publishedAt }: Published, closedAt: string): boolean =>
  Date.parse(publishedAt) + PUBLISHING_MS_MAX < Date.parse(closedAt);

function comparedDays(
  { merchantNo, month, closedAt, statements }: CloseFile,
  byDay: ReadonlyMap<string, Manifest>,
  byRows: ByRows,
  here: RevisionsHere | null,
) {
  const adjusted: VerifiedClose['adjusted'][number][] = [];
  const wrong: string[] = [];
  const notHere: ClosedStatement[] = [];
  let [compared, byHash] = [0, 0];
  const frozen = new Set(statements.map(({ currency, day }) => `${currency} ${day}`));
  for (const statement of statements) {
    const { currency, day, revision, sha256 } = statement;
    const manifest = byDay.get(`${merchantNo} ${day}`);
    if (manifest === undefined) {
      notHere.push(statement);
      continue;
    }
    const current = manifest.statements.find((one) => one.currency === currency);
    const revisions = current === undefined ? [] : [current, ...current.superseded];
    const files = here?.get(`${merchantNo} ${currency} ${day}`);
    if (here !== null && files?.has(revision) !== true && files?.has(current?.revision ?? 0) !== true) {
      notHere.push(statement);
      continue;
    }
    compared += 1;
    const own = revisions.find((one) => one.revision === revision);
    if (current === undefined || own === undefined)
      wrong.push(
        `${currency} ${day}: the close froze revision ${revision}, which the manifest here does not name`,
      );
    else if (own.sha256 !== sha256)
      wrong.push(
        `${currency} ${day}: the close froze revision ${revision} with SHA-256 ${sha256}, the manifest here says ${own.sha256}`,
      );
    else if (own === current) wrong.push(...otherFigures(statement, current));
    else {
      adjusted.push({ currency, day, frozenRevision: revision, revision: current.revision });
      const next = firstOf(revisions.filter((one) => one.revision > revision));
      if (isLongBefore(next, closedAt))
        wrong.push(
          `${currency} ${day}: the close froze revision ${revision}, which revision ${next.revision} had replaced`,
        );
      const reported = byRows.get(statement);
      if (reported === undefined) byHash += 1;
      else wrong.push(...reported.map((problem) => `${currency} ${day}, revision ${revision}: ${problem}`));
    }
  }
  for (const manifest of byDay.values()) {
    if (manifest.merchantNo !== merchantNo || !manifest.day.startsWith(`${month}-`)) continue;
    const { day } = manifest;
    for (const current of manifest.statements.filter(({ currency }) => !frozen.has(`${currency} ${day}`))) {
      const { currency, revision } = current;
      adjusted.push({ currency, day, frozenRevision: null, revision });
      if (isLongBefore(firstOf([current, ...current.superseded]), closedAt))
        wrong.push(`${currency} ${day}: it was published before the close, which does not have it`);
    }
  }
  return { compared, byHash, adjusted, wrong, notHere };
}
