/** Finds the places of a chain of manifests that nothing has. */

/** Places in a row, both ends included. */
export interface Gap {
  readonly from: number;
  readonly through: number;
}

/** The gaps between 1 and the last of the places, each by the place that comes right after it. */
export function gapsBelow(places: readonly number[]): Map<number, Gap> {
  const gaps = new Map<number, Gap>();
  let last = 0;
  for (const place of [...places].sort((a, b) => a - b)) {
    if (place > last + 1) gaps.set(place, { from: last + 1, through: place - 1 });
    last = place;
  }
  return gaps;
}

/** `manifest 3`, or `manifests 3 to 7`. */
export const inRow = ({ from, through }: Gap): string =>
  from === through ? `manifest ${from}` : `manifests ${from} to ${through}`;
