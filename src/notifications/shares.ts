/** How much each of many names may take in an hour. A share fills up again steadily. */

const HOUR_MS = 3_600_000;

export interface SharesOptions {
  /** What a name may take at once, and then again every hour. */
  readonly perHour: number;
  /** The most names remembered. The one not seen for longest is forgotten first, and then has a full share again. */
  readonly namesMax: number;
  /** Ms since any moment, never going back. */
  readonly clock: () => number;
}

export interface Shares {
  /** Takes `amount` from the share of `name`. False if less is left; nothing is taken then. */
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
      // The name moves to the end of the map. So the first key is the one not seen for longest.
      left.delete(name);
      left.set(name, { amount: isEnough ? has - amount : has, atMs });
      if (left.size > namesMax) left.delete(left.keys().next().value!);
      return isEnough;
    },
  };
}
