/**
 * The chain of a merchant's manifests: each names the one that was made before it, by its SHA-256. See
 * docs/decisions/publishing.md.
 */
import type { ChainedManifest, NamedManifest, PastOfDay } from '../store/statements/past-of-days.ts';
import type { ManifestRow } from '../store/statements/stored-files.ts';
import { parseManifest, type Manifest } from './manifest.ts';

/** What a manifest says about the chain; empty for one from before there were chains. */
export type ChainFields = Pick<
  Manifest,
  'place' | 'previousManifest' | 'earlierManifests' | 'supersededManifests'
>;

/** Only those fields, in the order in which they are written. */
export const chainFieldsOf = ({
  place,
  previousManifest,
  earlierManifests,
  supersededManifests,
}: ChainFields): ChainFields => ({
  ...(place === undefined ? {} : { place }),
  ...(previousManifest === undefined ? {} : { previousManifest }),
  ...(earlierManifests === undefined ? {} : { earlierManifests }),
  ...(supersededManifests === undefined ? {} : { supersededManifests }),
});

/** A manifest with the row that names it. */
export interface Superseded {
  readonly row: Pick<ManifestRow, 'revision' | 'sha256'>;
  /** Null if it cannot be read, or may be anybody's: then what it says is not taken over. */
  readonly manifest: Manifest | null;
}

/**
 * What the next manifest of a day says. It follows the last one in the chain, whatever day that is of, and takes over
 * what the day's manifest before it said, so that every manifest that was ever named can still be found.
 */
export function nextInChain(
  superseded: Superseded | null,
  { lastInChain, unchained }: Pick<PastOfDay, 'lastInChain' | 'unchained'>,
): ChainFields {
  const [first, ...others] = lastInChain === null ? unchained.map(named) : [];
  const earlierManifests = superseded?.manifest?.earlierManifests ?? (first && [first, ...others]);
  return chainFieldsOf({
    place: (lastInChain?.place ?? 0) + 1,
    previousManifest: lastInChain === null ? null : named(lastInChain),
    earlierManifests,
    supersededManifests: superseded === null ? undefined : supersededWith([superseded]),
  });
}

/** The superseded manifests of a day: those that the given ones list, then the given ones themselves. */
export function supersededWith(given: readonly Superseded[]): Manifest['supersededManifests'] {
  const all = given.flatMap(({ row: { revision, sha256 }, manifest }) => {
    const { place, previousManifest } = manifest ?? {};
    const own = { revision, sha256, ...chainFieldsOf({ place, previousManifest }) };
    return [...(manifest?.supersededManifests ?? []), own];
  });
  const [first, ...others] = new Map(all.map((one) => [one.sha256, one])).values();
  return first && [first, ...others];
}

/** Whether the day's manifest is to be made anew, at the end of the chain: see `takeForksOut`. */
export const isOutOfChain = ({ place, content }: Pick<ManifestRow, 'place' | 'content'>): boolean =>
  place === null && content.includes('"place":') && parseManifest(content)?.place !== undefined;

/** The database has the keys in an order of its own, and the text of a manifest has to come out the same each time. */
const named = ({ day, revision, sha256 }: NamedManifest): NamedManifest => ({ day, revision, sha256 });

/** The row as the manifest after it names it; null where the row has no place. */
export const chained = ({ day, revision, sha256, place }: ManifestRow): ChainedManifest | null =>
  place === null ? null : { day, revision, sha256, place };
