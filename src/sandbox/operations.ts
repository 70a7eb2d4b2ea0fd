/** The four operations over HTTP: who may call them, what they check, how they answer or misbehave. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { registrationSchema, type Catalog } from './beneficiary.ts';
import type { Striker } from './hostility.ts';
import { ledgerPage, ledgerRequestSchema } from './ledger-history.ts';
import { applicationSchema } from './merchant-access.ts';
import type { SandboxMerchants } from './merchants.ts';
import { cut, refuse, strike } from './misbehaviour.ts';
import { itemsOf, referenceReply, referenceRequestSchema } from './reference-data.ts';
import { accepted, Refused } from './refusal.ts';
import type { Reviews } from './reviews.ts';
import type { Scenario } from './scenario.ts';

export interface Operating {
  readonly scenario: Scenario;
  readonly striker: Striker;
  readonly merchants: SandboxMerchants;
  readonly reviews: Reviews;
}

interface Operation {
  readonly code: string;
  /** Done once it is answered: the answer may be lost on the way, and what was done stands. */
  readonly isSubmission: boolean;
  /** JSON text, or what is to be written as such. Throws `Refused`. */
  readonly answer: (request: FastifyRequest) => string | object | Promise<object>;
}

export function addOperations(server: FastifyInstance, operating: Operating): void {
  const { striker } = operating;
  for (const { code, isSubmission, answer } of operationsOf(operating)) {
    server.post(`/api/${code}`, async (request, reply) => {
      const isDown = striker.arrive();
      if (striker.hostility.latencyMs > 0) await sleep(striker.hostility.latencyMs);
      if (isDown) return cut(reply);
      if (await strike(striker, reply)) return reply;
      let said: string | object;
      try {
        said = await answer(request);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        return refuse(reply, error.status, error.code, error.message);
      }
      if (isSubmission && striker.strikes('lostRepliesEvery')) return cut(reply);
      const text = typeof said === 'string' ? said : JSON.stringify(said);
      const isCutShort = striker.strikes('truncatedEvery');
      return reply
        .type(isCutShort ? 'application/json' : 'application/json; charset=utf-8')
        .send(isCutShort ? text.slice(0, Math.floor(text.length / 2)) : text);
    });
  }
}

function operationsOf({ scenario, striker, merchants, reviews }: Operating): Operation[] {
  /** The merchant a request speaks for: token as bearer, number beside it (platform-api.md 5, rule 1). */
  const merchantOf = ({ headers }: FastifyRequest): string => {
    const [, token = ''] = /^Bearer (.+)$/.exec(headers.authorization ?? '') ?? [];
    const merchantNo = merchants.withToken(String(headers['merchantno']), token);
    if (merchantNo === null) throw new Refused(401, 'E40100', 'merchantNo or token is not known');
    return merchantNo;
  };
  /** The agent's own calls: open to all unless the scenario gives the agent a token, as the document shows none (5). */
  const fromAgent = ({ headers }: FastifyRequest): void => {
    const { token } = scenario.agent;
    if (token !== null && headers.authorization !== `Bearer ${token}`)
      throw new Refused(401, 'E40100', 'the agent is not known');
  };
  const catalog: Catalog = (kind, country) => {
    const items = itemsOf(scenario.reference, kind, country);
    return items.length === 0 ? undefined : items.map(({ code }) => code);
  };
  const registration = registrationSchema({ walletMethods: scenario.walletMethods, catalog });

  return [
    {
      code: 'sp2404',
      isSubmission: false,
      answer: (request) => {
        const ledger = merchants.ledgerOf(merchantOf(request));
        const asked = accepted(ledgerRequestSchema, request.body);
        return ledgerPage(asked, { ledger, striker, timeZone: scenario.timeZone });
      },
    },
    {
      code: 'sp2502',
      isSubmission: false,
      answer: (request) => {
        fromAgent(request);
        return referenceReply(scenario.reference, accepted(referenceRequestSchema, request.body));
      },
    },
    {
      code: 'sp1101',
      isSubmission: true,
      answer: (request) => {
        fromAgent(request);
        const sent = accepted(applicationSchema, request.body);
        if (sent.referralChannel !== scenario.agent.referralChannel)
          throw new Refused(400, 'E40000', 'referralChannel: is no agent (platform-api.md 5)');
        return reviews.apply(sent);
      },
    },
    {
      code: 'sp1401',
      isSubmission: true,
      answer: (request) => {
        const merchantNo = merchantOf(request);
        return reviews.register(merchantNo, accepted(registration, request.body));
      },
    },
  ];
}
