/** Checks that the manifests of each merchant follow each other, as far as they are here. */
import type { Manifest, NamedManifest } from './manifest.ts';
import type { Problem, ReadManifest } from './days.ts';

export interface VerifiedChain {
  readonly merchantNo: string;
  readonly manifests: number;
  /** The first and the last place that they have, or that those had which they took the place of. */
  readonly from: number;
  readonly through: number;
  /** The last one. Whoever noted it earlier can see whether it is still in the chain. */
  readonly last: NamedManifest;
  /** Manifests here with a lower revision than others here follow: of an earlier download, or put back. */
  readonly outdated: readonly Problem[];
  /** Manifests that others here follow, of days between those here, and that are not here themselves. */
  readonly missing: readonly Problem[];
  /** Manifests that the chain has and that are not here, of other days: not given, or taken away. */
  readonly outside: readonly Problem[];
}

/** By merchant. */
export function verifyChains(manifests: readonly ReadManifest[]) {
  const chains: VerifiedChain[] = [];
  const problems: Problem[] = [];
  for (const own of groupedBy(manifests, ({ manifest }) => manifest.merchantNo).values()) {
    const chained = [...own].sort((a, b) => a.manifest.place - b.manifest.place);
    const { wrong, ...reported } = checkedLinks(own, chained);
    problems.push(...wrong, ...forks(chained));
    const { manifest, sha256 } = chained.at(-1)!;
    const places = chained.flatMap((one) => placesIn(one.manifest));
    chains.push({
      merchantNo: manifest.merchantNo,
      manifests: new Set(chained.map((one) => one.sha256)).size,
      from: places.reduce((first, place) => Math.min(first, place)),
      through: manifest.place,
      last: { day: manifest.day, revision: manifest.revision, sha256 },
      ...reported,
    });
  }
  return { chains, problems };
}

const placesIn = ({ place, supersededManifests = [] }: Manifest): number[] => [
  place,
  ...supersededManifests.flatMap((one) => one.place ?? []),
];

/** A link from a manifest that has, or had, this place. */
interface Link {
  readonly place: number;
  readonly to: NamedManifest;
}

const linksOf = ({ manifest }: ReadManifest): Link[] =>
  [manifest, ...(manifest.supersededManifests ?? [])].flatMap(({ place, previousManifest }) =>
    place === undefined || previousManifest == null ? [] : [{ place, to: previousManifest }],
  );

type CheckedLinks = Record<'wrong' | 'outdated' | 'missing' | 'outside', Problem[]>;

function checkedLinks(own: readonly ReadManifest[], chained: readonly ReadManifest[]): CheckedLinks {
  const known = knownAmong(own);
  const days = groupedBy(own, ({ manifest }) => manifest.day);
  const inOrder = [...days.keys()].sort();
  const isBetween = (day: string): boolean => inOrder[0]! < day && day < inOrder.at(-1)!;
  const gaps = gapsBelow(chained.flatMap(({ manifest }) => placesIn(manifest)));
  const found: CheckedLinks = { wrong: [], outdated: [], missing: [], outside: [] };
  for (const one of chained) {
    const { path, manifest } = one;
    const tell = (kind: keyof CheckedLinks, problem: string): void =>
      void found[kind].push({ path, problem });
    if ((manifest.place === 1) !== (manifest.previousManifest === null))
      tell('wrong', wrongEnd(manifest.place));
    for (const { place, to } of linksOf(one)) {
      const target = known.get(to.sha256);
      if (target !== undefined) {
        if (!fits(place, to, target)) tell('wrong', outOfOrder(place, to, target));
        // Listed by its SHA-256 alone, it has the place before this one.
        else if (target.place === null) takeOff(gaps, place);
        continue;
      }
      const gap = gaps.get(place);
      gaps.delete(place);
      const before = gap === undefined ? null : { from: gap.from, through: gap.through - 1 };
      const here = days.get(to.day)?.at(-1)?.manifest;
      if (here === undefined) {
        if (isBetween(to.day)) tell('missing', missingHere(to, before));
        else tell('outside', notHere(gap ?? null, to));
      } else {
        tell(here.revision < to.revision ? 'outdated' : 'wrong', anotherHere(to, here.revision));
        if (before !== null && before.from <= before.through) tell('outside', notHere(before, null));
      }
    }
    // One that says of itself no more than its place.
    const gap = gaps.get(manifest.place);
    if (gap !== undefined) tell('outside', notHere(gap, null));
    gaps.delete(manifest.place);
  }
  return found;
}

/** The last place of the gap before `place` is none that is missing. */
function takeOff(gaps: Map<number, Gap>, place: number): void {
  const gap = gaps.get(place);
  if (gap === undefined) return;
  if (gap.from === gap.through) gaps.delete(place);
  else gaps.set(place, { from: gap.from, through: gap.through - 1 });
}

const fits = (place: number, to: NamedManifest, target: Known): boolean =>
  target.day === to.day && (target.place === null || target.place + 1 === place);

const wrongEnd = (place: number): string =>
  `it is out of order: manifest ${place} of the chain names ${place === 1 ? 'one' : 'none'} before it`;

/** `before` are others that are missing right before it. */
const missingHere = ({ revision, day }: NamedManifest, before: Gap | null): string =>
  `revision ${revision} of ${day}, which it follows, is missing here` +
  (before === null || before.from > before.through ? '' : `, with ${inRow(before)} of the chain`);

/** `last` is the last one of them. */
const notHere = (gap: Gap | null, last: NamedManifest | null): string => {
  const named = last === null ? '' : `revision ${last.revision} of ${last.day}`;
  if (gap === null) return `${named}, which it follows, is not here`;
  if (gap.from === gap.through) return `${inRow(gap)} of the chain${named && `, ${named},`} is not here`;
  return `${inRow(gap)} of the chain are not here${named && `, the last of which is ${named}`}`;
};

interface Known {
  readonly day: string;
  readonly place: number | null;
}

/** By SHA-256, the manifests that are here and those that they took the place of. What is here speaks for itself. */
function knownAmong(own: readonly ReadManifest[]): ReadonlyMap<string, Known> {
  const known = new Map<string, Known>();
  for (const { manifest } of own)
    for (const { sha256, place = null } of manifest.supersededManifests ?? [])
      known.set(sha256, { day: manifest.day, place });
  for (const { sha256, manifest } of own) known.set(sha256, { day: manifest.day, place: manifest.place });
  return known;
}

const outOfOrder = (place: number, to: NamedManifest, found: Known): string =>
  `it is out of order: manifest ${place} of the chain follows revision ${to.revision} of ` +
  `${to.day}, which is ${found.place === null ? '' : `manifest ${found.place}, `}of ${found.day}`;

const anotherHere = (to: NamedManifest, revision: number): string =>
  `it follows revision ${to.revision} of ${to.day}, and the manifest of that day here is another one, ` +
  (revision < to.revision
    ? `revision ${revision}: that one is out of date, or was put back`
    : `revision ${revision}, which does not name it: one of the two was changed`) +
  '; download both days again';

/** Manifests that follow the same one. A manifest that another one here took the place of may. */
function forks(chained: readonly ReadManifest[]): Problem[] {
  const superseded = new Set(
    chained.flatMap(({ manifest }) => (manifest.supersededManifests ?? []).map(({ sha256 }) => sha256)),
  );
  const current = [...new Map(chained.map((one) => [one.sha256, one])).values()].filter(
    ({ sha256 }) => !superseded.has(sha256),
  );
  return [...groupedBy(current, ({ manifest }) => manifest.previousManifest?.sha256 ?? '').values()].flatMap(
    ([first, ...others]) =>
      others.map(({ path }) => ({
        path,
        problem: `it is out of order: the manifest of ${first!.manifest.day} follows the same one as it`,
      })),
  );
}

interface Gap {
  readonly from: number;
  readonly through: number;
}

/** The gaps between 1 and the last of the places, each by the place that comes right after it. */
function gapsBelow(places: readonly number[]): Map<number, Gap> {
  const gaps = new Map<number, Gap>();
  let last = 0;
  for (const place of [...places].sort((a, b) => a - b)) {
    if (place > last + 1) gaps.set(place, { from: last + 1, through: place - 1 });
    last = place;
  }
  return gaps;
}

const inRow = ({ from, through }: Gap): string =>
  from === through ? `manifest ${from}` : `manifests ${from} to ${through}`;

/** Values by a key, in the order in which each key comes first: Node 20, on which `verify.mjs` runs, has nothing of its own for it. */
export function groupedBy<T>(
  values: readonly T[],
  keyOf: (value: T) => string,
): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const value of values) {
    const key = keyOf(value);
    groups.set(key, groups.get(key) ?? []);
    groups.get(key)!.push(value);
  }
  return groups;
}
