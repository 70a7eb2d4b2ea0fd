/** How the sandbox misbehaves: each way a named setting of its own, counted so that a test knows when it strikes. */
import { z } from 'zod';

/** Strikes at every n-th request; 0 never. */
const every = z.int().min(0).default(0);

export const hostilitySchema = z.strictObject({
  order: z.enum(['ascending', 'descending', 'window-shuffled', 'request-shuffled']).default('ascending'),
  /** Reveals a held-back entry of the asked window before answering. */
  liveInsertsEvery: every,
  /** Says one record too many. */
  wrongTotalsEvery: every,
  /** Repeats a row in place of another. */
  duplicateRowsEvery: every,
  /** Leaves a row out of a page. */
  missingRowsEvery: every,
  http429Every: every,
  http500Every: every,
  /** Cuts the connection. */
  resetEvery: every,
  /** Never answers. */
  stallEvery: every,
  /** Does what it was asked (sp1101, sp1401), then cuts the connection instead of answering. */
  lostRepliesEvery: every,
  truncatedEvery: every,
  /** HTTP 200 with a page for people. */
  htmlEvery: every,
  /** HTTP 200 with an error document. */
  errorDocumentEvery: every,
  /** Strikes in all, of whatever kind; then it behaves. */
  strikesMax: z.int().min(0).default(1_000_000_000),
  /** Refuses everything once it has answered so many requests; -1 never. */
  downAfterRequests: z.int().min(-1).default(-1),
  /** busiDate is off from the window asked for by so many hours. */
  timeZoneOffsetHours: z.number().min(-26).max(26).default(0),
  /** Its clock is ahead of the true time by so many seconds, behind where less than 0: Date headers, and what is booked already. */
  clockOffsetS: z.int().min(-86_400).max(86_400).default(0),
  latencyMs: z.int().min(0).max(60_000).default(0),
});
export type Hostility = z.output<typeof hostilitySchema>;

export const HOSTILITY_OFF: Hostility = hostilitySchema.parse({});

/** Ways that spoil a whole reply, in the order they are looked at. */
export const REPLY_STRIKES = [
  'http429Every',
  'http500Every',
  'resetEvery',
  'stallEvery',
  'truncatedEvery',
  'htmlEvery',
  'errorDocumentEvery',
] as const;
export type ReplyStrike = (typeof REPLY_STRIKES)[number];

/** Ways that do what was asked and keep the answer back. */
export type LossStrike = 'lostRepliesEvery';

export type RowStrike = 'liveInsertsEvery' | 'wrongTotalsEvery' | 'duplicateRowsEvery' | 'missingRowsEvery';

/** Counts requests and says which strikes fall on the present one. */
export class Striker {
  #requests = 0;
  #strikes = 0;
  hostility: Hostility = HOSTILITY_OFF;

  get requests(): number {
    return this.#requests;
  }

  /** One more request; true when the sandbox is down for it. */
  arrive(): boolean {
    this.#requests += 1;
    const { downAfterRequests } = this.hostility;
    return downAfterRequests >= 0 && this.#requests > downAfterRequests;
  }

  /** Switches to another behaviour and counts from here. */
  switchTo(hostility: Hostility): void {
    this.hostility = hostility;
    this.#requests = 0;
    this.#strikes = 0;
  }

  strikes(way: ReplyStrike | LossStrike | RowStrike): boolean {
    const n = this.hostility[way];
    if (n === 0 || this.#requests % n !== 0 || this.#strikes >= this.hostility.strikesMax) return false;
    this.#strikes += 1;
    return true;
  }
}
