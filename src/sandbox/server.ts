/** The platform, acted out on loopback: sp2404 over HTTP, its checks, its misbehaviour, and controls for tests. */
import { setTimeout as sleep } from 'node:timers/promises';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { z } from 'zod';
import { hostilitySchema, REPLY_STRIKES, Striker, type Hostility } from './hostility.ts';
import { generateLedger, type SandboxEntry } from './ledger.ts';
import { ledgerPage, ledgerRequestSchema, wallTime } from './ledger-history.ts';
import { MerchantLedger } from './merchant-ledger.ts';
import { scenarioSchema, type Scenario, type ScenarioInput } from './scenario.ts';

const BODY_BYTES_MAX = 64 * 1_024;
const RETRY_AFTER_S = 1;

/** Truth about one entry, in the words of the wire, amounts as written. */
export interface TrueEntry extends SandboxEntry {
  readonly busiDate: string;
}

export interface Sandbox {
  readonly scenario: Scenario;
  /** Serves on loopback; port 0 takes a free one. */
  readonly listen: (options: { readonly port: number }) => Promise<{ readonly url: string }>;
  readonly close: () => Promise<void>;
  /** What the platform holds and shows now, by time. */
  readonly entriesOf: (merchantNo: string) => TrueEntry[];
  /** Hides an entry, as if the platform had lost it. */
  readonly takeOut: (merchantNo: string, batchNo: string) => void;
  readonly putBack: (merchantNo: string, batchNo: string) => void;
  readonly amend: (
    merchantNo: string,
    batchNo: string,
    changes: Partial<Pick<SandboxEntry, 'busiType' | 'inAmount' | 'outAmount' | 'vailAmount'>>,
  ) => void;
  readonly setHostility: (hostility: Partial<Hostility>) => void;
  /** The sandbox's clock, ms; late entries appear by it. */
  readonly setNow: (nowMs: number) => void;
  /** Requests since the hostility was last set. */
  readonly requestCount: () => number;
}

export function createSandbox(input: ScenarioInput): Sandbox {
  const scenario = scenarioSchema.parse(input);
  let fixedNowMs = scenario.now === undefined ? null : Date.parse(scenario.now);
  const nowMs = () => fixedNowMs ?? Date.now();
  const striker = new Striker();
  striker.switchTo(scenario.hostility);
  const ledgers = new Map(
    scenario.merchants.map(({ merchantNo, currencies }) => [
      merchantNo,
      new MerchantLedger(generateLedger(scenario, merchantNo, currencies), nowMs),
    ]),
  );
  const ledgerOf = (merchantNo: string): MerchantLedger => {
    const ledger = ledgers.get(merchantNo);
    if (ledger === undefined) throw new Error(`the sandbox has no merchant ${merchantNo}`);
    return ledger;
  };
  const setHostility = (hostility: Partial<Hostility>) => striker.switchTo(hostilitySchema.parse(hostility));

  const server = fastify({ bodyLimit: BODY_BYTES_MAX, forceCloseConnections: true });
  server.setErrorHandler((error: { statusCode?: number; message: string }, _request, reply) =>
    refuse(reply, error.statusCode ?? 500, 'E90000', error.message),
  );
  server.setNotFoundHandler((request, reply) =>
    refuse(reply, 404, 'E40400', `no operation at ${request.url}`),
  );
  server.post('/api/sp2404', async (request, reply) => {
    const { latencyMs } = striker.hostility;
    const arrived = performance.now();
    const answer = answerTo(request);
    // What making the answer took is part of the latency, so that many calls at once do not wait for each other.
    if (latencyMs > 0) await sleep(Math.max(0, latencyMs - (performance.now() - arrived)));
    return answer(reply);
  });

  /** Everything is decided when the request comes in; the answer is given when it is time. */
  const answerTo = (request: FastifyRequest): Answer => {
    if (striker.arrive()) return cut;
    const way = SPOILING_STRIKES.find((one) => striker.strikes(one));
    if (way !== undefined) return SPOILED[way];
    const merchant = authenticated(request, scenario);
    if (merchant === null) return (reply) => refuse(reply, 401, 'E40100', 'merchantNo or token is not known');
    const parsed = ledgerRequestSchema.safeParse(request.body);
    if (!parsed.success) {
      const issue = parsed.error.issues[0]!;
      return (reply) => refuse(reply, 400, 'E40000', `${issue.path.join('.')}: ${issue.message}`);
    }
    const text = ledgerPage(parsed.data, {
      ledger: ledgerOf(merchant),
      striker,
      timeZone: scenario.timeZone,
    });
    if (striker.strikes('truncatedEvery')) {
      return (reply) => reply.type('application/json').send(text.slice(0, Math.floor(text.length / 2)));
    }
    return (reply) => reply.type('application/json; charset=utf-8').send(text);
  };
  addControls(server, scenario, striker, setHostility, (ms) => (fixedNowMs = ms));

  return {
    scenario,
    listen: async ({ port }) => ({ url: await server.listen({ host: '127.0.0.1', port }) }),
    close: () => server.close(),
    entriesOf: (merchantNo) =>
      ledgerOf(merchantNo)
        .visible()
        .map((entry) => ({ ...entry, busiDate: wallTime(entry.bookedMs, scenario.timeZone) })),
    takeOut: (merchantNo, batchNo) =>
      ledgerOf(merchantNo).change(batchNo, { visibleFromMs: Number.POSITIVE_INFINITY }),
    putBack: (merchantNo, batchNo) =>
      ledgerOf(merchantNo).change(batchNo, { visibleFromMs: Number.NEGATIVE_INFINITY }),
    amend: (merchantNo, batchNo, changes) => ledgerOf(merchantNo).change(batchNo, changes),
    setHostility,
    setNow: (ms) => (fixedNowMs = ms),
    requestCount: () => striker.requests,
  };
}

const refuse = (reply: FastifyReply, status: number, code: string, message: string): FastifyReply =>
  reply.code(status).send({ code, message });

function cut(reply: FastifyReply): FastifyReply {
  reply.hijack();
  reply.raw.destroy();
  return reply;
}

/** The merchant a request speaks for, or null: token as bearer, number beside it (platform-api.md 5). */
function authenticated(request: FastifyRequest, scenario: Scenario): string | null {
  const merchant = scenario.merchants.find(({ merchantNo }) => merchantNo === request.headers['merchantno']);
  return merchant !== undefined && request.headers.authorization === `Bearer ${merchant.token}`
    ? merchant.merchantNo
    : null;
}

type Answer = (reply: FastifyReply) => FastifyReply;

const SPOILING_STRIKES = REPLY_STRIKES.filter((way) => way !== 'truncatedEvery');

/** The whole reply, spoiled. */
const SPOILED: Readonly<Record<(typeof SPOILING_STRIKES)[number], Answer>> = {
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

/** For a person with curl: what is acted out, and switches. Only ever on loopback. */
function addControls(
  server: FastifyInstance,
  scenario: Scenario,
  striker: Striker,
  setHostility: (hostility: Partial<Hostility>) => void,
  setNow: (ms: number) => void,
): void {
  server.get('/sandbox', () => ({
    about: 'the payments platform, acted out; nothing here is real',
    merchants: scenario.merchants,
    days: { from: scenario.from, to: scenario.to, timeZone: scenario.timeZone },
    planted: scenario.planted,
    hostility: striker.hostility,
    requests: striker.requests,
    switches: {
      'POST /sandbox/hostility': 'a JSON object of the settings under hostility; those left out are off',
      'POST /sandbox/now': '{"now":"2026-03-16T01:30:00+08:00"}: the sandbox clock',
    },
  }));
  server.post('/sandbox/hostility', (request, reply) => {
    const parsed = hostilitySchema.safeParse(request.body);
    if (!parsed.success) return refuse(reply, 400, 'E40000', z.prettifyError(parsed.error));
    setHostility(parsed.data);
    return reply.send(striker.hostility);
  });
  server.post('/sandbox/now', (request, reply) => {
    const parsed = z.strictObject({ now: z.iso.datetime({ offset: true }) }).safeParse(request.body);
    if (!parsed.success) return refuse(reply, 400, 'E40000', z.prettifyError(parsed.error));
    setNow(Date.parse(parsed.data.now));
    return reply.send(parsed.data);
  });
}
