/** What the manifests that the database keeps say, which are texts there. */
import { parseManifest, type Manifest, type OtherFormat } from '../verify/manifest.ts';
import type { ManifestRow } from '../store/statements/stored-files.ts';

/** By the file name of a statement, its files in other formats; only of statements that have one. */
export type OtherFormats = ReadonlyMap<string, readonly OtherFormat[]>;

/** The files in other formats that a recorded manifest lists. Few manifests list any, and only those are parsed. */
export function otherFormatsIn({ content }: Pick<ManifestRow, 'content'>): OtherFormats {
  const manifest = content.includes('"otherFormats":') ? parseManifest(content) : null;
  const files = (manifest?.statements ?? []).flatMap((statement) => [statement, ...statement.superseded]);
  return new Map(files.flatMap(({ file, otherFormats }) => (otherFormats ? [[file, otherFormats]] : [])));
}

/** The zone of a recorded manifest's day; null if its text is no manifest. */
export const zoneIn = ({ content }: Pick<ManifestRow, 'content'>): string | null =>
  parseManifest(content)?.timeZone ?? null;

/** No number of ours comes this far; those of a manifest that says so leave no room for the next ones. */
const NUMBER_MAX = 1_000_000_000;

/** Whether a revision or the place is higher than any of ours. */
export const isBeyondBounds = ({ revision, place, statements, summary }: Manifest): boolean =>
  [revision, place, summary?.revision ?? 0, ...statements.map((one) => one.revision)].some(
    (number) => number >= NUMBER_MAX,
  );
