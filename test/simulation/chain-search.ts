/**
 * Finds the fewest breaks of a small ledger by trying every allowed order. It uses only the definition: an order is
 * allowed when no entry comes before another one that is older by more than the tolerance.
 */

/** One entry in complete units of money and full seconds. */
export interface Move {
  readonly batchNo: string;
  readonly net: number;
  /** The account's balance after it. */
  readonly balance: number;
  readonly second: number;
}

/** Most entries that may trade places with each other. All their orders are tried. */
const SEARCHED_TOGETHER_MAX = 10;

const bySecond = (a: Move, b: Move) => a.second - b.second;

/** Cuts a ledger where neighbours in time are further apart than the tolerance. Nothing trades places across a cut. */
function clustersOf(openingChanged: readonly Move[], toleranceS: number): Move[][] {
  const clusters: Move[][] = [];
  for (const move of [...openingChanged].sort(bySecond)) {
    const cluster = clusters.at(-1);
    if (cluster !== undefined && move.second - cluster.at(-1)!.second <= toleranceS) cluster.push(move);
    else clusters.push([move]);
  }
  return clusters;
}

/**
 * The fewest breaks of any allowed order; null if too many entries may trade places. `opening` null means any
 * opening.
 */
export function fewestBreaks(
  openingChanged: readonly Move[],
  toleranceS: number,
  opening: number | null,
): number | null {
  const clusters = clustersOf(openingChanged, toleranceS);
  if (clusters.some((cluster) => cluster.length > SEARCHED_TOGETHER_MAX)) return null;
  /** For each balance that an order can have reached, the fewest breaks on the way there. */
  let reached: ReadonlyMap<number, number> | null = opening === null ? null : new Map([[opening, 0]]);
  for (const cluster of clusters) reached = through(cluster, toleranceS, reached);
  return reached === null ? 0 : Math.min(...reached.values());
}

/**
 * The balances that one cluster can end on, each with its fewest breaks. It checks all subsets and each last entry.
 */
function through(
  cluster: readonly Move[],
  toleranceS: number,
  reached: ReadonlyMap<number, number> | null,
): Map<number, number> {
  const count = cluster.length;
  const elders = cluster.map((move) =>
    cluster.reduce(
      (mask, other, at) => (other.second < move.second - toleranceS ? mask | (1 << at) : mask),
      0,
    ),
  );
  const cheapest = reached === null ? 0 : Math.min(...reached.values());
  const entering = ({ balance, net }: Move): number =>
    reached === null ? 0 : Math.min(reached.get(balance - net) ?? Infinity, cheapest + 1);
  const all = (1 << count) - 1;
  const breaks = new Float64Array((all + 1) * count).fill(Infinity);
  for (let mask = 1; mask <= all; mask += 1) {
    for (let last = 0; last < count; last += 1) {
      const before = mask & ~(1 << last);
      if (before === mask || (elders[last]! & ~before) !== 0) continue;
      const move = cluster[last]!;
      let fewest = before === 0 ? entering(move) : Infinity;
      for (let prior = 0; prior < count; prior += 1) {
        if ((before & (1 << prior)) === 0) continue;
        const jump = cluster[prior]!.balance === move.balance - move.net ? 0 : 1;
        fewest = Math.min(fewest, breaks[before * count + prior]! + jump);
      }
      breaks[mask * count + last] = fewest;
    }
  }
  const ends = new Map<number, number>();
  cluster.forEach(({ balance }, last) => {
    const fewest = breaks[all * count + last]!;
    if (fewest < (ends.get(balance) ?? Infinity)) ends.set(balance, fewest);
  });
  return ends;
}
