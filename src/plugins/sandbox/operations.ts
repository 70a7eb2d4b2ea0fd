/** The four operations over HTTP: who may call them, what they check, how they answer or misbehave. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { registrationSchema, type Catalog } from './beneficiary.ts';
import { type Striker, cut, refuse, spoiled, type Answer } from './behaviour.ts';
import { enclose, spell } from './latitude.ts';
import { ledgerPage, ledgerRequestSchema } from './ledger-history.ts';
import { applicationSchema } from './merchant-access.ts';
import type { SandboxMerchants } from './merchant-ledger.ts';
import { itemsOf, referenceReply, referenceRequestSchema } from './reference-data.ts';
import { accepted, Refused } from './field-checks.ts';
import type { Reviews } from './reviews.ts';
import type { Scenario } from './scenario.ts';
import { createSignatureCheck } from './signatures.ts';

/** A registration may hold images. */
const BODY_WITH_IMAGES_BYTES_MAX = 32 * 1_024 * 1_024;

export interface Operating {
  readonly scenario: Scenario;
  readonly striker: Striker;
  readonly merchants: SandboxMerchants;
  readonly reviews: Reviews;
}

interface Operation {
  readonly code: string;
  /** It changes something, and its answer may get lost: what was done is not undone. */
  readonly isSubmission: boolean;
  /** If it may be more than the server takes elsewhere. */
  readonly bodyBytesMax?: number;
  /** The reply as JSON text or as an object. Throws `Refused`. */
  readonly answer: (request: FastifyRequest) => string | object | Promise<object>;
}

export function addOperations(server: FastifyInstance, operating: Operating): void {
  const { striker, scenario } = operating;
  const offsetMs = (): number => striker.hostility.clockOffsetS * 1_000;
  const check = createSignatureCheck(server, scenario.signatures, () => Date.now() + offsetMs());
  for (const operation of operationsOf(operating)) {
    const { bodyBytesMax: bodyLimit } = operation;
    server.post(
      `/api/${operation.code}`,
      { ...(bodyLimit !== undefined && { bodyLimit }) },
      async (request, reply) => {
        const { latencyMs } = striker.hostility;
        const arrivedMs = performance.now();
        const answer = await answerTo({ ...operation, check }, request, operating);
        // The time to make the answer is part of the latency, so that many calls at once do not wait for each other.
        if (latencyMs > 0) await sleep(Math.max(0, latencyMs - (performance.now() - arrivedMs)));
        return answer(reply);
      },
    );
  }
}

/** Decides on the answer when the request comes in; it is sent after the latency. */
async function answerTo(
  operation: Operation & { readonly check: (request: FastifyRequest) => void },
  request: FastifyRequest,
  { striker, scenario: { latitude } }: Operating,
): Promise<Answer> {
  if (striker.arrive(percentDecoded(String(request.headers['merchantno'] ?? '')))) return cut;
  const instead = spoiled(striker);
  if (instead !== null) return instead;
  let said: string | object;
  try {
    operation.check(request);
    const answer = operation.answer(request);
    said = answer instanceof Promise ? await answer : answer;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const { status, code, message } = error;
    return (reply) => refuse(reply, status, code, message);
  }
  if (operation.isSubmission && striker.strikes('lostRepliesEvery')) return cut;
  const text = typeof said === 'string' ? enclose(said, latitude) : spell(said, latitude);
  if (striker.strikes('truncatedEvery'))
    return (reply) => reply.type('application/json').send(text.slice(0, Math.floor(text.length / 2)));
  return (reply) => reply.type(latitude.replyType).send(text);
}

/** A header takes ASCII alone, so a number of other characters comes percent-encoded. */
function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function registrationOf({ reference, walletMethods, latitude: { images } }: Scenario) {
  const catalog: Catalog = (kind, country) => {
    const items = itemsOf(reference, kind, country);
    return items.length === 0 ? undefined : items.map(({ code }) => code);
  };
  return registrationSchema({ walletMethods, catalog, images });
}

function operationsOf({ scenario, striker, merchants, reviews }: Operating): Operation[] {
  /**
   * The merchant of a request, by its number and its token as bearer (docs/platform.md 5, rule 1). Throws `Refused`.
   */
  const merchantOf = ({ headers }: FastifyRequest): string => {
    const [, token = ''] = /^Bearer (.+)$/.exec(headers.authorization ?? '') ?? [];
    const given = String(headers['merchantno']);
    const merchantNo = merchants.withToken(given, token) ?? merchants.withToken(percentDecoded(given), token);
    if (merchantNo === null) throw new Refused(401, 'E40100', 'merchantNo or token is not known');
    return merchantNo;
  };
  /**
   * Throws `Refused` if a call is not the agent's. The document shows no token for the agent (docs/platform.md 5), so
   * anybody may call unless the scenario gives it one.
   */
  const fromAgent = ({ headers }: FastifyRequest): void => {
    const { token } = scenario.agent;
    if (token !== null && headers.authorization !== `Bearer ${token}`)
      throw new Refused(401, 'E40100', 'the agent is not known');
  };
  const { furtherFields } = scenario.latitude;
  const registration = registrationOf(scenario);

  return [
    {
      code: 'sp2404',
      isSubmission: false,
      answer: (request) => {
        const ledger = merchants.ledgerOf(merchantOf(request));
        const asked = accepted(ledgerRequestSchema, request.body);
        return ledgerPage(asked, {
          ledger,
          striker,
          timeZone: scenario.timeZone,
          latitude: scenario.latitude,
        });
      },
    },
    {
      code: 'sp2502',
      isSubmission: false,
      answer: (request) => {
        fromAgent(request);
        return referenceReply(scenario.reference, accepted(referenceRequestSchema, request.body), {
          ...scenario.latitude,
          unreadableItems: striker.hostility.unreadableItems,
        });
      },
    },
    {
      code: 'sp1101',
      isSubmission: true,
      answer: (request) => {
        fromAgent(request);
        const sent = accepted(applicationSchema, request.body, furtherFields);
        if (sent.referralChannel !== scenario.agent.referralChannel)
          throw new Refused(400, 'E40000', 'referralChannel: is no agent (docs/platform.md 5)');
        return reviews.apply(sent);
      },
    },
    {
      code: 'sp1401',
      isSubmission: true,
      bodyBytesMax: BODY_WITH_IMAGES_BYTES_MAX,
      answer: async (request) => {
        const merchantNo = merchantOf(request);
        const reply = await reviews.register(merchantNo, accepted(registration, request.body, furtherFields));
        return striker.strikes('contradictoryCodesEvery') ? { ...reply, respCode: 'E20001' } : reply;
      },
    },
  ];
}
