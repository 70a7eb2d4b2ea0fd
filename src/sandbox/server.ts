/** The sandbox as a server on loopback: the platform's operations and notifications, and controls for tests. */
import fastify from 'fastify';
import { addControls } from './controls.ts';
import { hostilitySchema, Striker, type Hostility } from './hostility.ts';
import type { SandboxEntry } from './ledger.ts';
import { wallTime } from './ledger-history.ts';
import { createMerchants } from './merchants.ts';
import { refuse } from './misbehaviour.ts';
import { addOperations } from './operations.ts';
import { createPushes, type Delivery } from './pushes.ts';
import type { HeldApplication, HeldPayee, NewMerchant } from './review-results.ts';
import { createReviews } from './reviews.ts';
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
  /** Hides an entry. */
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
  server.addHook('onSend', async (_request, reply) => {
    if (offsetMs() !== 0) reply.header('date', new Date(Date.now() + offsetMs()).toUTCString());
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
    requestCount: () => striker.requests,
    merchants: merchants.all,
    applications: reviews.applications,
    payees: reviews.payees,
    pushes: pushes.all,
    settled: reviews.settled,
  };
}
