/** Random numbers that a seed repeats: the same seed gives the same ledger everywhere (mulberry32, public domain). */

export type Random = () => number;

/** Numbers from 0 up to, not including, 1, from a text as seed. */
export function seeded(seed: string): Random {
  let state = 2_166_136_261;
  for (let at = 0; at < seed.length; at += 1) state = Math.imul(state ^ seed.charCodeAt(at), 16_777_619);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** An integer from 0 up to, not including, `count`. */
export const below = (random: Random, count: number): number => Math.floor(random() * count);

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

/** A permutation of 0 to `count` - 1, as a function of the place; no list is kept. */
export function permutation(count: number, seed: string): (index: number) => number {
  if (count < 3) return (index) => index;
  const random = seeded(seed);
  let step = 1 + below(random, count - 1);
  while (gcd(step, count) !== 1) step += 1;
  const offset = below(random, count);
  return (index) => Number((BigInt(index) * BigInt(step) + BigInt(offset)) % BigInt(count));
}
