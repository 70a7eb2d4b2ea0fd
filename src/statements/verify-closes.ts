/** Checks closed months against the manifests that are here: the frozen revisions, what came after them, and the close before. */
import type { ReadClose } from './close-file.ts';
import type { Manifest } from './manifest.ts';
import type { Problem, ReadManifest } from './verify-days.ts';

export interface ReadCloseFile {
  readonly path: string;
  readonly close: ReadClose;
  /** Of its file. */
  readonly sha256: string;
}

/** A day of a closed month whose statement is not the frozen one. */
export interface AdjustedDay {
  readonly currency: string;
  readonly day: string;
  /** Null if the day had no statement when the month was closed. */
  readonly frozenRevision: number | null;
  readonly revision: number;
}

export interface VerifiedClose {
  readonly path: string;
  readonly merchantNo: string;
  readonly month: string;
  readonly number: number;
  /** How many statements it froze, and of how many the day's manifest is here. */
  readonly statements: number;
  readonly compared: number;
  /** What changed since, as far as the manifests here tell; empty where a later close is here. */
  readonly adjusted: readonly AdjustedDay[];
}

export function verifyCloses(
  closes: readonly ReadCloseFile[],
  manifests: readonly ReadManifest[],
): { readonly closes: readonly VerifiedClose[]; readonly problems: readonly Problem[] } {
  const byDay = new Map(
    manifests.map(({ manifest }) => [`${manifest.merchantNo} ${manifest.day}`, manifest] as const),
  );
  const problems: Problem[] = [];
  const verified = closes.map((one) => {
    const { path, close } = one;
    const others = closes.filter(
      (other) => other.close.merchantNo === close.merchantNo && other.close.month === close.month,
    );
    problems.push(...problemsWithBefore(one, others).map((problem) => ({ path, problem })));
    const isLast = others.every((other) => other.close.number <= close.number);
    const { compared, adjusted, wrong } = comparedDays(close, byDay);
    problems.push(...wrong.map((problem) => ({ path, problem })));
    const { merchantNo, month, number, statements } = close;
    return {
      ...{ path, merchantNo, month, number, statements: statements.length, compared },
      adjusted: isLast ? adjusted : [],
    };
  });
  return { closes: verified, problems };
}

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

function comparedDays(
  { merchantNo, month, statements }: ReadClose,
  byDay: ReadonlyMap<string, Manifest>,
): { readonly compared: number; readonly adjusted: AdjustedDay[]; readonly wrong: string[] } {
  const adjusted: AdjustedDay[] = [];
  const wrong: string[] = [];
  let compared = 0;
  const frozen = new Set(statements.map(({ currency, day }) => `${currency} ${day}`));
  for (const { currency, day, revision, sha256 } of statements) {
    const manifest = byDay.get(`${merchantNo} ${day}`);
    if (manifest === undefined) continue;
    compared += 1;
    const current = manifest.statements.find((one) => one.currency === currency);
    const own = [...(current === undefined ? [] : [current, ...current.superseded])].find(
      (one) => one.revision === revision,
    );
    if (current === undefined || own === undefined)
      wrong.push(
        `${currency} ${day}: the close froze revision ${revision}, which the manifest here does not name`,
      );
    else if (own.sha256 !== sha256)
      wrong.push(
        `${currency} ${day}: the close froze revision ${revision} with SHA-256 ${sha256}, the manifest here says ${own.sha256}`,
      );
    else if (current.revision !== revision)
      adjusted.push({ currency, day, frozenRevision: revision, revision: current.revision });
  }
  for (const manifest of byDay.values()) {
    if (manifest.merchantNo !== merchantNo || !manifest.day.startsWith(`${month}-`)) continue;
    for (const { currency, revision } of manifest.statements)
      if (!frozen.has(`${currency} ${manifest.day}`))
        adjusted.push({ currency, day: manifest.day, frozenRevision: null, revision });
  }
  return { compared, adjusted, wrong };
}
