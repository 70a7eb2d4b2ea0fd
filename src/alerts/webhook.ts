/** Sends an alert to a webhook, or asks for an address: once, in bounded time, without following anybody elsewhere. */
import { createHmac } from 'node:crypto';
import { Agent, request } from 'undici';
import type { Webhook } from '../settings/values/alerts.ts';
import { documentOf, type Alert, slackDocument } from './alert.ts';

/** How much of an answer is read at most. It is thrown away, and lets the connection end well. */
const ANSWER_BYTES_MAX = 16_384;
/** The longest `Retry-After` that is kept to. */
const ASKED_MS_MAX = 3_600_000;

/** How a try ended. No problem repeats an address or what was answered, as both may hold secrets. */
export type Sent =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly problem: string;
      /** How long the target asks to wait; null if it does not say. */
      readonly askedMs: number | null;
      /** Fingerprints of the addresses that took it all the same, on this try or an earlier one. */
      readonly took?: readonly string[];
    };

export interface Sending {
  /** Time for one complete try. */
  readonly timeoutMs: number;
  readonly now: () => Date;
  /** Fingerprints of the addresses that took it on an earlier try; none if it is left out. */
  readonly took?: readonly string[];
}

/**
 * The value of the header `Daybook-Signature`: seconds since 1970, and HMAC-SHA256 in hex over these, a dot and the
 * body.
 */
function signatureOf(secret: string, body: string, now: Date): string {
  const seconds = Math.floor(now.getTime() / 1_000);
  const digest = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
  return `t=${seconds},v1=${digest}`;
}

/** Posts an alert to a webhook. `secret` signs it, unless the webhook is Slack's. */
export function postAlert(
  { kind, url }: Webhook,
  alert: Alert,
  { secret, ...sending }: Sending & { readonly secret: string | null },
): Promise<Sent> {
  const body = JSON.stringify(kind === 'slack' ? slackDocument(alert) : documentOf(alert));
  const signed =
    kind === 'slack' || secret === null
      ? {}
      : { 'daybook-signature': signatureOf(secret, body, sending.now()) };
  const headers = { 'content-type': 'application/json', 'daybook-alert-id': alert.id, ...signed };
  return call(url, { method: 'POST', headers, body }, sending);
}

/** Calls the heartbeat address after a successful run. */
export const ping = (url: string, sending: Sending): Promise<Sent> => call(url, { method: 'GET' }, sending);

async function call(
  url: string,
  options: {
    readonly method: 'GET' | 'POST';
    readonly headers?: Record<string, string>;
    readonly body?: string;
  },
  { timeoutMs, now }: Sending,
): Promise<Sent> {
  const agent = new Agent({ connect: { timeout: timeoutMs }, pipelining: 0 });
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const { statusCode, headers, body } = await request(url, { ...options, dispatcher: agent, signal });
    await body.dump({ limit: ANSWER_BYTES_MAX }).catch(() => undefined);
    if (statusCode >= 200 && statusCode < 300) return { ok: true };
    const redirects = statusCode >= 300 && statusCode < 400 ? ', and redirects are not followed' : '';
    const askedMs = askedOf(headers['retry-after'], now());
    return { ok: false, problem: `it answered ${statusCode}${redirects}`, askedMs };
  } catch (error) {
    return { ok: false, problem: signal.aborted ? lateText(timeoutMs) : causeOf(error), askedMs: null };
  } finally {
    void agent.destroy();
  }
}

export const lateText = (timeoutMs: number): string => `no answer within ${timeoutMs / 1_000} s`;

/** The code of an error. Its message may name the address. */
export function causeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code === '' ? 'the connection failed' : `the connection failed (${code})`;
}

function askedOf(header: string | string[] | undefined, now: Date): number | null {
  const given = Array.isArray(header) ? header[0] : header;
  if (given === undefined) return null;
  const ms = /^\d{1,9}$/.test(given) ? Number(given) * 1_000 : Date.parse(given) - now.getTime();
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), ASKED_MS_MAX);
}
