/** Checks each statement against the account's statement before, if that one is among the manifests. */
import { addDays } from '../ledger/business-day.ts';
import { compareAmounts, moneyText } from '../ledger/money.ts';
import type { Found } from './downloaded-files.ts';
import type { Manifest, ManifestStatement } from './manifest.ts';

export interface ReadManifest extends Found {
  readonly manifest: Manifest;
  /** Of its file. */
  readonly sha256: string;
}

/** Something that is not as published, and in which file. */
export interface Problem {
  readonly path: string;
  readonly problem: string;
}

/** What does not fit the account's statement before, if that one is among the manifests. */
export function problemsWithDayBefore(manifest: Manifest, manifests: readonly ReadManifest[]): string[] {
  return manifest.statements.flatMap((statement) => {
    const { currency, previousDay, previousSha256 } = statement;
    const leftOut = daysLeftOut(manifest.day, statement);
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

/** Days without a statement before a day that takes up the balance before them: they are proven then, and have one. */
function daysLeftOut(
  day: string,
  { currency, previousDay, openingDerived }: ManifestStatement,
): string | null {
  if (previousDay === null || openingDerived) return null;
  const [from, to] = [addDays(previousDay, 1), addDays(day, -1)];
  if (from > to) return null;
  const days = from === to ? `${from} has` : `${from} to ${to} have`;
  return `${currency}: ${days} no statement, though ${day} takes up the closing of ${previousDay}: run \`daybook run\`, then download again`;
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
