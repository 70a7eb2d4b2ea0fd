/** The places that alerts go to, from the settings: webhooks and mail, each tried once in bounded time. */
import { createHmac } from 'node:crypto';
import type { SettingsWithoutPlatform } from '../../settings/settings.ts';
import { type Alert, dedupKeyOf, documentOf, headlineOf, linesOf, slackDocument } from './alert.ts';
import { alertSettings, type AlertSettings, type Webhook } from './settings.ts';
import {
  asSent,
  causeOf,
  CUT_SHORT,
  fingerprintOf,
  lateText,
  type MailSending,
  sendMail,
  withCut,
} from './smtp.ts';

export interface Target {
  /**
   * By which the outbox knows it: the kind of a webhook and a fingerprint of its address, so that it stays the same target
   * when others come and go, and its address is stored nowhere. Mail is one target, whatever its password and addresses.
   */
  readonly key: string;
  readonly name: string;
  readonly send: (alert: Alert, sending: Sending) => Promise<Sent>;
}

/** All targets, in the order of the settings; none where no alerts are set up. */
export function targetsOf(
  settings: Pick<SettingsWithoutPlatform, 'alerts' | 'allowInsecure' | 'statementsUrl'>,
): Target[] {
  const { alerts, allowInsecure, statementsUrl } = alertSettings.of(settings);
  const { webhooks, secret, mail } = alerts;
  // Known also while the database is away, and the same for all processes that publish to one store.
  const installation = fingerprintOf(statementsUrl);
  const hooks = webhooks.map((webhook, index): Target => ({
    key: `${webhook.kind} ${fingerprintOf(webhook.url)}`,
    name: `DAYBOOK_ALERT_URL ${index + 1} (${webhook.kind})`,
    send: (alert, sending) => postAlert(webhook, alert, { ...sending, secret, installation }),
  }));
  const different = hooks.filter(({ key }, index) => hooks.findIndex((one) => one.key === key) === index);
  if (mail === null) return different;
  const mayBeOpen = allowInsecure.includes('alerts');
  return [
    ...different,
    {
      key: 'mail',
      name: 'DAYBOOK_ALERT_MAIL_TO',
      send: (alert, sending) => mailAlert(mail, alert, { ...sending, mayBeOpen, installation }),
    },
  ];
}

/** How much of an answer is read at most. It is thrown away, and lets the connection end well. */
const ANSWER_BYTES_MAX = 16_384;
const ASKED_MS_MAX = 3_600_000;

/** How a try ended. No problem repeats an address or what was answered, as both may hold secrets. */
export type Sent =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly problem: string;
      readonly askedMs: number | null;
      /** Fingerprints of the addresses that took it all the same, on this try or an earlier one. */
      readonly took?: readonly string[];
    };

export interface Sending extends MailSending {
  readonly now: () => Date;
  /** Fingerprints of the addresses that took it on an earlier try; none if it is left out. */
  readonly took?: readonly string[];
}

interface OfInstallation {
  /** A fingerprint of the store that this installation publishes to. */
  readonly installation: string;
}

function signatureOf(secret: string, body: string, now: Date): string {
  const seconds = Math.floor(now.getTime() / 1_000);
  const digest = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
  return `t=${seconds},v1=${digest}`;
}

/** Posts an alert to a webhook. `secret` signs it, unless the webhook is Slack's. */
export function postAlert(
  { kind, url }: Webhook,
  alert: Alert,
  { secret, installation, ...sending }: Sending & OfInstallation & { readonly secret: string | null },
): Promise<Sent> {
  const body = JSON.stringify(kind === 'slack' ? slackDocument(alert) : documentOf(alert, installation));
  const signed =
    kind === 'slack' || secret === null
      ? {}
      : { 'daybook-signature': signatureOf(secret, body, sending.now()) };
  const headers = { 'content-type': 'application/json', 'daybook-alert-id': alert.id, ...signed };
  return call(url, { method: 'POST', headers, body }, sending);
}

export const ping = (url: string, sending: Sending): Promise<Sent> => call(url, { method: 'GET' }, sending);

async function call(
  url: string,
  options: Readonly<{ method: 'GET' | 'POST'; headers?: Record<string, string>; body?: string }>,
  { timeoutMs, now, cut }: Sending,
): Promise<Sent> {
  const { Agent, request } = await import('undici');
  const agent = new Agent({ connect: { timeout: timeoutMs }, pipelining: 0 });
  const signal = withCut(AbortSignal.timeout(timeoutMs), cut);
  try {
    const { statusCode, headers, body } = await request(url, { ...options, dispatcher: agent, signal });
    await body.dump({ limit: ANSWER_BYTES_MAX }).catch(() => undefined);
    if (statusCode >= 200 && statusCode < 300) return { ok: true };
    const redirects = statusCode >= 300 && statusCode < 400 ? ', and redirects are not followed' : '';
    const askedMs = askedOf(headers['retry-after'], now());
    return { ok: false, problem: `it answered ${statusCode}${redirects}`, askedMs };
  } catch (error) {
    if (cut?.aborted === true) return CUT_SHORT;
    return { ok: false, problem: signal.aborted ? lateText(timeoutMs) : causeOf(error), askedMs: null };
  } finally {
    void agent.destroy();
  }
}

function askedOf(header: string | string[] | undefined, now: Date): number | null {
  const given = Array.isArray(header) ? header[0] : header;
  if (given === undefined) return null;
  const ms = /^\d{1,9}$/.test(given) ? Number(given) * 1_000 : Date.parse(given) - now.getTime();
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), ASKED_MS_MAX);
}

const MAIL = 'alerts by mail';

/** Mails an alert to all addresses that did not take it yet, in one message. */
async function mailAlert(
  { to, from, smtpUrl }: NonNullable<AlertSettings['mail']>,
  alert: Alert,
  {
    mayBeOpen,
    took = [],
    installation,
    ...sending
  }: Sending & OfInstallation & { readonly mayBeOpen: boolean },
): Promise<Sent> {
  const all = await asSent(to, MAIL);
  const left = all.filter((address) => !took.includes(fingerprintOf(address)));
  if (left.length === 0) return { ok: true };
  const mail = {
    from,
    to: all.map((address) => ({ name: '', address })),
    envelope: { from, to: [...left] },
    subject: `daybook: ${headlineOf(alert)}`,
    text: linesOf(alert).join('\n'),
    messageId: `<${alert.id}@daybook>`,
    // A mailbox shows the alerts of one trouble as one conversation.
    references: `<${dedupKeyOf(alert, installation)}@daybook>`,
    headers: { 'Daybook-Alert-Id': alert.id, 'Auto-Submitted': 'auto-generated' },
  };
  const mailed = await sendMail({ smtpUrl, mayBeOpen, use: MAIL }, mail, sending);
  if (!mailed.ok) return { ok: false, problem: mailed.problem, askedMs: mailed.askedMs };
  return mailed.rejected.length === 0 ? { ok: true } : partly(left, mailed.rejected, took);
}

/** The addresses that took it are not mailed again. The problem names no address. */
function partly(left: readonly string[], rejected: readonly string[], took: readonly string[]): Sent {
  const refused = new Set(rejected);
  return {
    ok: false,
    problem: `the mail server refused ${refused.size} of ${left.length} addresses`,
    askedMs: null,
    took: [...took, ...left.filter((address) => !refused.has(address)).map(fingerprintOf)],
  };
}
