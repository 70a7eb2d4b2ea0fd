/**
 * This process's part of a rate that several processes share: which calls it has reserved, and how many more to ask
 * for. Pure.
 *
 * Each call that is granted has an instant, and over all processes these instants are at least a spacing apart. A call
 * begins at its instant or up to `LIFE_MS` later; after that it is lost. So in any span of time begin as many calls as the
 * rate allows, and those of another `LIFE_MS` at most.
 */

/** Shorter: calls are lost while all slots are taken. Longer: more calls may come together. */
const LIFE_MS = 500;
/** The longest part of the rate that is asked for at once. */
const SLICE_MAX_MS = 500;
const SECOND_MS = 1_000;

export class Slices {
  readonly spacingMs: number;
  readonly #callsMax: number;
  /** The instants of the calls at hand, in order. */
  readonly #instants: number[] = [];
  /** When calls began, the last few. */
  readonly #begun: number[] = [];

  /** For `ratePerS` calls a second by all processes, of which this one makes `concurrency` at once at most. */
  constructor(ratePerS: number, concurrency: number) {
    this.spacingMs = SECOND_MS / ratePerS;
    // As many as can go at once: more would be lost if the platform took a second to answer.
    this.#callsMax = Math.max(1, Math.min(concurrency, Math.floor(SLICE_MAX_MS / this.spacingMs)));
  }

  /** When the next call may begin; infinite if none is at hand. */
  dueMs(nowMs: number): number {
    this.#dropLost(nowMs);
    return this.#instants[0] ?? Number.POSITIVE_INFINITY;
  }

  /** A call begins. */
  use(nowMs: number): void {
    this.#instants.shift();
    this.#begun.push(nowMs);
    if (this.#begun.length > 2 * this.#callsMax) this.#begun.shift();
  }

  /**
   * How many calls to ask for, so that they last about half a second; 0 while enough are at hand. `canGo`: as many
   * could begin now.
   */
  wanted(canGo: number, nowMs: number): number {
    this.#dropLost(nowMs);
    const lately = this.#begun.filter((begunMs) => begunMs > nowMs - SECOND_MS).length;
    const target = Math.min(this.#callsMax, Math.max(canGo, Math.ceil(lately / 2)));
    const atHand = this.#instants.length;
    return canGo === 0 || atHand > target / 2 ? 0 : target - atHand;
  }

  /** Adds what was asked for: as many calls, from that instant on. */
  add(calls: number, beginMs: number): void {
    for (let call = 0; call < calls; call += 1) this.#instants.push(beginMs + call * this.spacingMs);
  }

  #dropLost(nowMs: number): void {
    while (this.#instants[0] !== undefined && this.#instants[0] + LIFE_MS < nowMs) this.#instants.shift();
  }
}
