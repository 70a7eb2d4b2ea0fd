/** The sandbox as a server on loopback: the platform's operations and notifications, and controls for tests. */
import fastify, { type FastifyInstance } from 'fastify';
import { z } from 'zod';
import { hostilitySchema, Striker, type Hostility, refuse } from './behaviour.ts';
import { wallTime } from './ledger-history.ts';
import type { SandboxEntry } from './ledger.ts';
import { createMerchants } from './merchant-ledger.ts';
import { addOperations, type Operating } from './operations.ts';
import { createPushes, type Delivery, type Pushes } from './pushes.ts';
import { type HeldApplication, type HeldPayee, type NewMerchant, createReviews } from './reviews.ts';
import { scenarioSchema, type Scenario, type ScenarioInput } from './scenario.ts';

const BODY_BYTES_MAX = 64 * 1_024;

/** What the sandbox knows about an entry, with the field names and the amounts that it sends. */
export interface TrueEntry extends SandboxEntry {
  readonly busiDate: string;
}

export interface Sandbox {
  readonly scenario: Scenario;
  /** Serves on loopback. Port 0: any free port. */
  readonly listen: (options: { readonly port: number }) => Promise<{ readonly url: string }>;
  readonly close: () => Promise<void>;
  /** The entries that the platform shows now, by time. */
  readonly entriesOf: (merchantNo: string) => TrueEntry[];
  readonly takeOut: (merchantNo: string, batchNo: string) => void;
  readonly putBack: (merchantNo: string, batchNo: string) => void;
  readonly amend: (
    merchantNo: string,
    batchNo: string,
    changes: Partial<Pick<SandboxEntry, 'busiType' | 'inAmount' | 'outAmount' | 'vailAmount'>>,
  ) => void;
  readonly setHostility: (hostility: Partial<Hostility>) => void;
  /** Sets the sandbox's clock, in ms since 1970. Late entries appear by it. */
  readonly setNow: (nowMs: number) => void;
  /** Gives a merchant another token; the one before is refused from now on. */
  readonly renewToken: (merchantNo: string, token: string) => void;
  /** Requests since hostility was last set. */
  readonly requestCount: () => number;
  /** All merchants, approved ones included. */
  readonly merchants: () => readonly NewMerchant[];
  readonly applications: () => readonly HeldApplication[];
  readonly payees: () => readonly HeldPayee[];
  /** All notifications, delivered or not, oldest first. */
  readonly pushes: () => readonly Delivery[];
  /** Resolves when every review is decided and every notification is answered with 200. */
  readonly settled: () => Promise<void>;
}

export function createSandbox(input: ScenarioInput): Sandbox {
  const scenario = scenarioSchema.parse(input);
  let fixedNowMs = scenario.now === undefined ? null : Date.parse(scenario.now);
  const setNow = (ms: number) => (fixedNowMs = ms);
  const striker = new Striker();
  striker.switchTo(scenario.hostility);
  const setHostility = (hostility: Partial<Hostility>) => striker.switchTo(hostilitySchema.parse(hostility));
  const offsetMs = (): number => striker.hostility.clockOffsetS * 1_000;
  const merchants = createMerchants(scenario, () => (fixedNowMs ?? Date.now()) + offsetMs());
  const { ledgerOf } = merchants;
  const pushes = createPushes(scenario.pushes, scenario.latitude);
  const reviews = createReviews({
    seed: scenario.seed,
    settings: scenario.reviews,
    latitude: scenario.latitude,
    pushes,
    onApproved: merchants.add,
  });

  const server = fastify({ bodyLimit: BODY_BYTES_MAX, forceCloseConnections: true });
  server.setErrorHandler((error: { statusCode?: number; message: string }, _request, reply) =>
    refuse(reply, error.statusCode ?? 500, 'E90000', error.message),
  );
  server.setNotFoundHandler((request, reply) =>
    refuse(reply, 404, 'E40400', `no operation at ${request.url}`),
  );
  // A scenario on another day than today is no clock that is wrong: its Date header is still today's.
  server.addHook('onSend', (_request, reply, _payload, done) => {
    if (offsetMs() !== 0) reply.header('date', new Date(Date.now() + offsetMs()).toUTCString());
    done();
  });
  addOperations(server, { scenario, striker, merchants, reviews });
  addControls(server, { scenario, striker, merchants, reviews, pushes, setHostility, setNow });

  return {
    scenario,
    listen: async ({ port }) => ({ url: await server.listen({ host: '127.0.0.1', port }) }),
    close: async () => {
      reviews.close();
      pushes.close();
      await server.close();
    },
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
    setNow,
    renewToken: (merchantNo, token) => merchants.renewToken(merchantNo, token),
    requestCount: () => striker.requests,
    merchants: merchants.all,
    applications: reviews.applications,
    payees: reviews.payees,
    pushes: pushes.all,
    settled: reviews.settled,
  };
}

interface Controlled extends Operating, Pick<Sandbox, 'setHostility' | 'setNow'> {
  readonly pushes: Pushes;
}

function addControls(server: FastifyInstance, controlled: Controlled): void {
  const { scenario, striker, merchants, reviews, pushes, setHostility, setNow } = controlled;
  server.get('/sandbox', () => ({
    about: 'the payments platform, acted out; nothing here is real',
    merchants: merchants.all(),
    days: { from: scenario.from, to: scenario.to, timeZone: scenario.timeZone },
    planted: scenario.planted,
    hostility: striker.hostility,
    requests: striker.requests,
    applications: reviews.applications().map(({ bizFlow, sent, outcome, isDecided }) => ({
      bizFlow,
      merNameEn: sent.merNameEn,
      outcome,
      isDecided,
    })),
    payees: reviews.payees().map(({ bizFlowNo, payeeId, merchantNo, status }) => ({
      bizFlowNo,
      payeeId,
      merchantNo,
      status,
    })),
    pushes: pushes.all(),
    markers: 'SANDBOX-APPROVE, -SUPPLEMENT, -REJECT or -NEVER anywhere in a request decides its review',
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
