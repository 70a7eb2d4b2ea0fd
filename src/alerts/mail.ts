/** Sends an alert by mail. */
import { isLoopback } from '../host/loopback.ts';
import type { AlertSettings } from '../settings/settings.ts';
import { linesOf, type Alert } from './alert.ts';
import { causeOf, lateText, type Sending, type Sent } from './webhook.ts';

export type MailSettings = NonNullable<AlertSettings['mail']>;

/** Mails an alert to all addresses, in one message. Off loopback it needs TLS, unless `mayBeOpen`. */
export async function mailAlert(
  { to, from, smtpUrl }: MailSettings,
  alert: Alert,
  { timeoutMs, mayBeOpen }: Sending & { readonly mayBeOpen: boolean },
): Promise<Sent> {
  // Loading it takes long, so that no command does it that sends no mail.
  const { createTransport } = await import('nodemailer');
  const isHere = isLoopback(new URL(smtpUrl).hostname);
  const transport = createTransport({
    url: smtpUrl,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    requireTLS: !isHere && !mayBeOpen,
    ignoreTLS: isHere,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const late = Promise.withResolvers<Sent>();
  const timer = setTimeout(
    () => late.resolve({ ok: false, problem: lateText(timeoutMs), askedMs: null }),
    timeoutMs,
  );
  try {
    return await Promise.race([
      late.promise,
      transport
        .sendMail({
          from,
          to: [...to],
          subject: `daybook: ${alert.title}`,
          text: linesOf(alert).join('\n'),
          messageId: `<${alert.id}@daybook>`,
          headers: { 'Daybook-Alert-Id': alert.id, 'Auto-Submitted': 'auto-generated' },
        })
        .then((): Sent => ({ ok: true }), failed),
    ]);
  } finally {
    clearTimeout(timer);
    transport.close();
  }
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
