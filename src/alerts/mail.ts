/** Sends an alert by mail. */
import { isLoopback } from '../host/loopback.ts';
import type { AlertSettings } from '../settings/settings.ts';
import { linesOf, type Alert } from './alert.ts';
import { fingerprintOf } from './fingerprint.ts';
import { causeOf, lateText, type Sending, type Sent } from './webhook.ts';

/**
 * Time for all of a try once the server has greeted. Many servers scan a mail before they take it, and an aborted one
 * may arrive all the same. It is less than the time for which a process claims an alert.
 */
const DIALOGUE_MS_MAX = 45_000;
/** The wait after a try that was not answered in this time, as the mail may have arrived. */
const AFTER_LATE_MS = 4 * 3_600_000;

export type MailSettings = NonNullable<AlertSettings['mail']>;

/**
 * Mails an alert to all addresses that did not take it yet, in one message. Off loopback it needs TLS, unless
 * `mayBeOpen`. `timeoutMs` is the time in which the server has to greet.
 */
export async function mailAlert(
  { to, from, smtpUrl }: MailSettings,
  alert: Alert,
  { timeoutMs, mayBeOpen, took = [] }: Sending & { readonly mayBeOpen: boolean },
): Promise<Sent> {
  const all = await asSent(to);
  const left = all.filter((address) => !took.includes(fingerprintOf(address)));
  if (left.length === 0) return { ok: true };
  const { createTransport } = await import('nodemailer');
  const isHere = isLoopback(new URL(smtpUrl).hostname);
  const transport = createTransport({
    url: smtpUrl,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    socketTimeout: DIALOGUE_MS_MAX,
    requireTLS: !isHere && !mayBeOpen,
    ignoreTLS: isHere,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const signal = AbortSignal.timeout(DIALOGUE_MS_MAX);
  try {
    const { rejected } = await transport.sendMail({
      from,
      to: all.map((address) => ({ name: '', address })),
      envelope: { from, to: left },
      subject: `daybook: ${alert.title}`,
      text: linesOf(alert).join('\n'),
      messageId: `<${alert.id}@daybook>`,
      headers: { 'Daybook-Alert-Id': alert.id, 'Auto-Submitted': 'auto-generated' },
      signal,
    });
    return rejected.length === 0 ? { ok: true } : partly(left, rejected, took);
  } catch (error) {
    return signal.aborted
      ? { ok: false, problem: lateText(DIALOGUE_MS_MAX), askedMs: AFTER_LATE_MS }
      : failed(error);
  } finally {
    transport.close();
  }
}

/**
 * The addresses as nodemailer sends and reports them, each once: it writes domains in small ASCII letters, and
 * quotes. Loading it takes long, so that no command does it that sends no mail.
 */
async function asSent(addresses: readonly string[]): Promise<readonly string[]> {
  const { default: MimeNode } = await import('nodemailer/lib/mime-node');
  const to = addresses.map((address) => ({ name: '', address }));
  return new MimeNode('text/plain').setEnvelope({ to }).getEnvelope().to;
}

/** The addresses that took it are not mailed again. The problem names no address. */
function partly(
  left: readonly string[],
  rejected: readonly (string | { readonly address: string })[],
  took: readonly string[],
): Sent {
  const refused = new Set(rejected.map((one) => (typeof one === 'string' ? one : one.address)));
  return {
    ok: false,
    problem: `the mail server refused ${refused.size} of ${left.length} addresses`,
    askedMs: null,
    took: [...took, ...left.filter((address) => !refused.has(address)).map(fingerprintOf)],
  };
}

/** The server's own words are left out, as they may repeat addresses. */
function failed(error: unknown): Sent {
  const { code, responseCode } = error as { readonly code?: unknown; readonly responseCode?: unknown };
  const problem =
    code === 'ETLS'
      ? 'the mail server offers no TLS; use smtps://, or answer for it with DAYBOOK_ALLOW_INSECURE=alerts'
      : typeof responseCode === 'number'
        ? `the mail server answered ${responseCode}`
        : causeOf(error);
  return { ok: false, problem, askedMs: null };
}
