/** How much each of many may take in an hour: a share that fills again steadily, for a bounded number of names. */

const HOUR_MS = 3_600_000;

export interface SharesOptions {
  /** What a name may take at once, and in every hour after. */
  readonly perHour: number;
  /** Names remembered; beyond it the one not seen for longest is forgotten, and starts with a whole share again. */
  readonly namesMax: number;
  /** Ms from anywhere, never going back. */
  readonly clock: () => number;
}

export interface Shares {
  /** Takes `amount` from the share of `name`; false, and nothing taken, where not so much is left. */
  readonly take: (name: string, amount?: number) => boolean;
}

export function createShares({ perHour, namesMax, clock }: SharesOptions): Shares {
  const left = new Map<string, { readonly amount: number; readonly atMs: number }>();
  return {
    take: (name, amount = 1) => {
      const atMs = clock();
      const before = left.get(name);
      const has =
        before === undefined
          ? perHour
          : Math.min(perHour, before.amount + ((atMs - before.atMs) * perHour) / HOUR_MS);
      const isEnough = has >= amount;
      // Put in again at the end: the first of a map's keys is the one not seen for longest.
      left.delete(name);
      left.set(name, { amount: isEnough ? has - amount : has, atMs });
      if (left.size > namesMax) left.delete(left.keys().next().value!);
      return isEnough;
    },
  };
}
