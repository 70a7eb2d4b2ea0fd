/** Draws what one run with a fault is: a kind, a story, a place for the statements, and numbers that set its moment. */
import { randomOf } from '../support/random.ts';

/** `first`: nothing is stored yet. `late`: everything is published, and then entries of two days come late. */
const STORIES = ['first', 'late'] as const;
export type Story = (typeof STORIES)[number];

/** Where rows and statements lie. */
export const PLACES = ['directory', 's3', 'embedded'] as const;
export type Place = (typeof PLACES)[number];

export interface FaultCase {
  readonly kind: string;
  readonly story: Story;
  readonly place: Place;
  /**
   * The share of the run after which the fault strikes, from 0 up to but not including 1. It is a share of bytes,
   * calls, statements or effects.
   */
  readonly at: number;
  /** From 0 up to but not including 1, for other choices of the kind, such as how long it lasts. */
  readonly pick: number;
  readonly more: number;
}

/** The part of a kind that drawing needs. */
export interface Drawable {
  readonly name: string;
  readonly places: readonly Place[];
  readonly stories?: readonly Story[];
  /** It waits for time-outs, so it is drawn once where others are drawn five times. */
  readonly isSlow?: boolean;
}

const OFTEN = 5;

/**
 * The n-th case of a seed, from 0. Kinds take turns in an order that the seed decides, so a short run has most of
 * them.
 */
export function drawCase(kinds: readonly Drawable[], seed: number, nth: number): FaultCase {
  const turn = Math.floor(nth / kinds.length);
  const order = shuffled(kinds, randomOf(seed * 1_009 + turn));
  const random = randomOf(seed * 1_000_003 + nth);
  const drawn = order[nth % kinds.length]!;
  // A slow kind leaves most of its turns to a quick one.
  const quick = kinds.filter(({ isSlow }) => isSlow !== true);
  const isGiven = drawn.isSlow === true && turn % OFTEN !== 0 && quick.length > 0;
  const kind = isGiven ? pickOf(quick, random()) : drawn;
  return {
    kind: kind.name,
    story: pickOf(kind.stories ?? STORIES, random()),
    place: pickOf(kind.places, random()),
    at: short(random()),
    pick: short(random()),
    more: short(random()),
  };
}

export const pickOf = <Item>(items: readonly Item[], share: number): Item =>
  items[Math.min(items.length - 1, Math.floor(share * items.length))]!;

/** Rounded, so that it is short to type again. */
const short = (share: number): number => Math.floor(share * 10_000) / 10_000;

function shuffled<Item>(items: readonly Item[], random: () => number): readonly Item[] {
  return items
    .map((item) => ({ item, rank: random() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}
