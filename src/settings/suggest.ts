/** Which known name a mistyped one was meant to be. */

/** Letters to add, drop, change or swap to get from one text to the other (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const changed = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
          ? beforePrevious[j - 2]! + 1
          : changed;
      row.push(Math.min(changed, swapped, previous[j]! + 1, row[j - 1]! + 1));
    }
    beforePrevious = previous;
    previous = row;
  }
  return previous[b.length]!;
}

const plain = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');

/** The nearest known name, or null where none is near: a third of the letters wrong, or the unit left out. */
export function didYouMean(name: string, known: readonly string[]): string | null {
  const asked = plain(name);
  const near = known
    .map((candidate) => ({ candidate, distance: editDistance(asked, plain(candidate)) }))
    .filter(({ candidate, distance }) => distance <= Math.floor(plain(candidate).length / 3))
    .sort((a, b) => a.distance - b.distance);
  return near[0]?.candidate ?? null;
}
