/** How the sandbox misbehaves. Each way is a setting. Requests are counted, so that a test knows when one strikes. */
import type { FastifyReply } from 'fastify';
import { z } from 'zod';

/** Strikes at every n-th request; 0: never. */
const every = z.int().min(0).default(0);

export const hostilitySchema = z.strictObject({
  order: z.enum(['ascending', 'descending', 'window-shuffled', 'request-shuffled']).default('ascending'),
  /** Shows an entry of the window that was hidden so far, from this reply on. */
  liveInsertsEvery: every,
  /** States a total that is one too high. */
  wrongTotalsEvery: every,
  /** Repeats the first row in place of the last. */
  duplicateRowsEvery: every,
  /** Leaves the last row out of a page. */
  missingRowsEvery: every,
  http429Every: every,
  http500Every: every,
  /** Cuts the connection. */
  resetEvery: every,
  /** Never answers. */
  stallEvery: every,
  /** Does what the request asks (sp1101, sp1401), then cuts the connection instead of answering. */
  lostRepliesEvery: every,
  /** Takes a registration (sp1401), and answers with its status and a respCode that says no. */
  contradictoryCodesEvery: every,
  /** So many items at the end of each list of sp2502 have a code that cannot be read. */
  unreadableItems: z.int().min(0).default(0),
  truncatedEvery: every,
  /** HTTP 200 with an HTML page. */
  htmlEvery: every,
  /** HTTP 200 with an error document. */
  errorDocumentEvery: every,
  /** Strikes hit only this merchant's requests; empty: everybody's. */
  onlyMerchant: z.coerce.string().default(''),
  /** Strikes of all kinds together; after that, the sandbox behaves. */
  strikesMax: z.int().min(0).default(1_000_000_000),
  /** Cuts every connection once so many requests were answered; -1: never. */
  downAfterRequests: z.int().min(-1).default(-1),
  /** Adds so many hours to every busiDate, but not to the times that windows are matched with. */
  timeZoneOffsetHours: z.number().min(-26).max(26).default(0),
  /**
   * How many seconds its clock is ahead (below 0: behind). It decides Date headers, and which entries are booked
   * already.
   */
  clockOffsetS: z.int().min(-86_400).max(86_400).default(0),
  /** Most entries on a ledger page, however many are asked for. */
  pageSizeMax: z.int().min(1).max(100).default(100),
  latencyMs: z.int().min(0).max(60_000).default(0),
});
export type Hostility = z.output<typeof hostilitySchema>;

export const HOSTILITY_OFF: Hostility = hostilitySchema.parse({});

/** Ways to spoil a complete reply, in the order of trial. */
const REPLY_STRIKES = [
  'http429Every',
  'http500Every',
  'resetEvery',
  'stallEvery',
  'truncatedEvery',
  'htmlEvery',
  'errorDocumentEvery',
] as const;
type ReplyStrike = (typeof REPLY_STRIKES)[number];

/** Ways that do what was asked, and do not answer or say otherwise. */
type LossStrike = 'lostRepliesEvery' | 'contradictoryCodesEvery';

type RowStrike = 'liveInsertsEvery' | 'wrongTotalsEvery' | 'duplicateRowsEvery' | 'missingRowsEvery';

/** Counts requests and says which strikes hit the current one. */
export class Striker {
  #requests = 0;
  #strikes = 0;
  #isSpared = false;
  hostility: Hostility = HOSTILITY_OFF;

  get requests(): number {
    return this.#requests;
  }

  /** Counts a request, with the merchant that it names; true if the sandbox is down for it. */
  arrive(merchantNo: string): boolean {
    this.#requests += 1;
    const { downAfterRequests, onlyMerchant } = this.hostility;
    this.#isSpared = onlyMerchant !== '' && onlyMerchant !== merchantNo;
    return downAfterRequests >= 0 && this.#requests > downAfterRequests;
  }

  /** Switches to another behaviour and counts from zero again. */
  switchTo(hostility: Hostility): void {
    this.hostility = hostility;
    this.#requests = 0;
    this.#strikes = 0;
  }

  strikes(way: ReplyStrike | LossStrike | RowStrike): boolean {
    const n = this.hostility[way];
    if (n === 0 || this.#isSpared || this.#requests % n !== 0 || this.#strikes >= this.hostility.strikesMax)
      return false;
    this.#strikes += 1;
    return true;
  }
}

const RETRY_AFTER_S = 1;

/** Sends the answer chosen when the request was received. */
export type Answer = (reply: FastifyReply) => FastifyReply;

export const refuse = (reply: FastifyReply, status: number, code: string, message: string): FastifyReply =>
  reply.code(status).send({ code, message });

export function cut(reply: FastifyReply): FastifyReply {
  reply.hijack();
  reply.raw.destroy();
  return reply;
}

const SPOILED: Readonly<Record<Exclude<ReplyStrike, 'truncatedEvery'>, Answer>> = {
  http429Every: (reply) =>
    reply
      .header('retry-after', String(RETRY_AFTER_S))
      .code(429)
      .send({ code: 'E42900', message: 'slow down' }),
  http500Every: (reply) => refuse(reply, 500, 'E50000', 'out of order'),
  resetEvery: cut,
  // The connection stays open and silent until the client gives up.
  stallEvery: (reply) => reply.hijack(),
  htmlEvery: (reply) =>
    reply.type('text/html').send('<!doctype html><title>Maintenance</title><p>Back soon.'),
  errorDocumentEvery: (reply) => reply.send({ code: 'E99999', message: 'system busy' }),
};

/** What is answered in place of the operation; null if the operation may answer. */
export function spoiled(striker: Striker): Answer | null {
  for (const way of REPLY_STRIKES) {
    if (way !== 'truncatedEvery' && striker.strikes(way)) return SPOILED[way];
  }
  return null;
}
