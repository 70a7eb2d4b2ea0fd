/** Paths for a person with curl: one shows what the sandbox holds, the others are switches. On loopback only. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { hostilitySchema, type Hostility, type Striker } from './hostility.ts';
import type { SandboxMerchants } from './merchants.ts';
import { refuse } from './misbehaviour.ts';
import type { Pushes } from './pushes.ts';
import type { Reviews } from './reviews.ts';
import type { Scenario } from './scenario.ts';

export interface Controlled {
  readonly scenario: Scenario;
  readonly striker: Striker;
  readonly merchants: SandboxMerchants;
  readonly reviews: Reviews;
  readonly pushes: Pushes;
  readonly setHostility: (hostility: Partial<Hostility>) => void;
  readonly setNow: (nowMs: number) => void;
}

export function addControls(server: FastifyInstance, controlled: Controlled): void {
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
