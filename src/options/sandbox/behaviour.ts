/**
 * How the sandbox misbehaves, and how it does what the document leaves open. Each way is a setting. Requests are counted,
 * so that a test knows when one strikes.
 */
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
  truncatedEvery: every,
  /** HTTP 200 with an HTML page. */
  htmlEvery: every,
  /** HTTP 200 with an error document. */
  errorDocumentEvery: every,
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

/** Ways that do what was asked and do not answer. */
type LossStrike = 'lostRepliesEvery';

type RowStrike = 'liveInsertsEvery' | 'wrongTotalsEvery' | 'duplicateRowsEvery' | 'missingRowsEvery';

/** Counts requests and says which strikes hit the current one. */
export class Striker {
  #requests = 0;
  #strikes = 0;
  hostility: Hostility = HOSTILITY_OFF;

  get requests(): number {
    return this.#requests;
  }

  /** Counts a request; true if the sandbox is down for it. */
  arrive(): boolean {
    this.#requests += 1;
    const { downAfterRequests } = this.hostility;
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
    if (n === 0 || this.#requests % n !== 0 || this.#strikes >= this.hostility.strikesMax) return false;
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

/** Only how things are written, never what they say. */
export const latitudeSchema = z.strictObject({
  /** The field that holds the fields of a reply or a notification, if any (docs/platform.md 4, 6). */
  envelope: z.enum(['none', 'data', 'result']).default('none'),
  replyType: z.string().min(1).default('application/json; charset=utf-8'),
  /** Content type of notifications, which the document does not name; empty: no header. */
  pushType: z.string().default('application/json'),
  /** Codes and statuses that are digits come as JSON numbers. */
  codesAsNumbers: z.boolean().default(false),
  /** Whether fields come in the order of the document or in reverse. */
  fieldOrder: z.enum(['document', 'reversed']).default('document'),
  /** How an empty field is written. */
  nothing: z.enum(['empty', 'null', 'left-out']).default('empty'),
  /** Adds fields that the document does not show. */
  moreFields: z.boolean().default(false),
  /** Adds a slash to the callback address. */
  pushSlash: z.boolean().default(false),
});
export type Latitude = z.output<typeof latitudeSchema>;
export const LATITUDE_DEFAULTS: Latitude = latitudeSchema.parse({});

const CODES = ['code', 'status', 'respCode'];
/** A code of digits as a number. A status `01` becomes 1; any other code with a leading zero stays text. */
const asNumber = (name: string, text: string): string | number => {
  const isCode = name === 'status' ? /^\d+$/.test(text) : /^[1-9]\d*$/.test(text);
  return CODES.includes(name) && isCode ? Number(text) : text;
};

function spelt(node: unknown, latitude: Latitude): unknown {
  if (Array.isArray(node)) return node.map((element) => spelt(element, latitude));
  if (typeof node !== 'object' || node === null) return node;
  const { codesAsNumbers, fieldOrder, nothing, moreFields } = latitude;
  const fields = Object.entries(node).flatMap(([name, value]): [string, unknown][] => {
    if (value === '' && nothing !== 'empty') return nothing === 'null' ? [[name, null]] : [];
    const isNumber = codesAsNumbers && typeof value === 'string';
    return [[name, isNumber ? asNumber(name, value) : spelt(value, latitude)]];
  });
  if (moreFields) fields.push(['traceId', '7f3a'], ['extension', { note: null }]);
  return Object.fromEntries(fieldOrder === 'document' ? fields : fields.reverse());
}

/** The JSON text of a reply or a notification. */
export const spell = (said: object, latitude: Latitude): string =>
  enclose(JSON.stringify(spelt(said, latitude)), latitude);

/** Puts JSON text into the envelope, whose own code says that the call went well. */
export function enclose(text: string, { envelope, codesAsNumbers }: Latitude): string {
  if (envelope === 'none') return text;
  return `{"code":${codesAsNumbers ? '200' : '"0"'},"message":"ok","${envelope}":${text}}`;
}
