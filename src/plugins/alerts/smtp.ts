/** One message to the mail server, in bounded time. No problem repeats an address or the server's words, as they may hold both. */
import type { SendMailOptions } from 'nodemailer';
import { isLoopback } from '../../host/addresses.ts';
import { loadFor, type PackageUse } from '../../host/packages.ts';
import { sha256Of } from '../../host/sha256.ts';

export interface MailServer {
  readonly smtpUrl: string;
  /** Whether mail may go to another machine without TLS. */
  readonly mayBeOpen: boolean;
  /** What the mail is for, where its package is missing. */
  readonly use: PackageUse;
}

export interface MailSending {
  /** Time in which the server has to greet. */
  readonly timeoutMs: number;
  /** Ends the try when it aborts, however far it is: the process has no more time. */
  readonly cut?: AbortSignal | undefined;
}

/** How a try ended. */
export type Mailed =
  | { readonly ok: true; readonly rejected: readonly string[] }
  | {
      readonly ok: false;
      readonly problem: string;
      readonly askedMs: number | null;
      /** What the trouble is with: the server, so that no mail gets through, or this mail alone. `recipient`: refused for good. */
      readonly with: 'server' | 'mail' | 'size' | 'recipient';
    };

/**
 * Time for all of a try once the server has greeted. Many servers scan a mail before they take it, and an aborted one
 * may arrive all the same. It is less than the time for which a process claims an alert.
 */
export const DIALOGUE_MS_MAX = 45_000;
/** The wait after a try that was not answered in this time, as the mail may have arrived. */
const AFTER_LATE_MS = 4 * 3_600_000;

const FAILED = { ok: false, askedMs: null, with: 'server' } as const;

/** What had no more time. It is tried again soon, as the receiver had little of it. */
export const CUT_SHORT = { ...FAILED, problem: 'no answer before the command ended' } as const;

/** What was sent; where `cut` aborts before that, that it was cut short: it is not waited for then. */
export function unlessCut<Ended>(
  sent: Promise<Ended>,
  cut: AbortSignal | undefined,
): Promise<Ended | typeof CUT_SHORT> {
  if (cut === undefined) return sent;
  const { promise: short, resolve } = Promise.withResolvers<typeof CUT_SHORT>();
  const onCut = (): void => resolve(CUT_SHORT);
  if (cut.aborted) onCut();
  cut.addEventListener('abort', onCut, { once: true });
  return Promise.race([sent, short]).finally(() => cut.removeEventListener('abort', onCut));
}

export const lateText = (timeoutMs: number): string => `no answer within ${timeoutMs / 1_000} s`;

/** The code of an error. Its message may name the address. */
export function causeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code === '' ? 'the connection failed' : `the connection failed (${code})`;
}

/** Sends a message. Off loopback it needs TLS, unless it `mayBeOpen`. */
export async function sendMail(
  { smtpUrl, mayBeOpen, use }: MailServer,
  mail: SendMailOptions,
  { timeoutMs, cut }: MailSending,
): Promise<Mailed> {
  const { createTransport } = await loadFor(use, () => import('nodemailer'));
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
  const signal = withCut(AbortSignal.timeout(DIALOGUE_MS_MAX), cut);
  try {
    const { rejected } = await transport.sendMail({ ...mail, signal });
    return { ok: true, rejected: rejected.map(addressOf) };
  } catch (error) {
    if (cut?.aborted === true) return CUT_SHORT;
    return signal.aborted
      ? { ...FAILED, problem: lateText(DIALOGUE_MS_MAX), askedMs: AFTER_LATE_MS }
      : failed(error);
  } finally {
    transport.close();
  }
}

const addressOf = (one: string | { readonly address: string }): string =>
  typeof one === 'string' ? one : one.address;

export const withCut = (signal: AbortSignal, cut: AbortSignal | undefined): AbortSignal =>
  cut === undefined ? signal : AbortSignal.any([signal, cut]);

/**
 * The addresses as nodemailer sends and reports them, each once: it writes domains in small ASCII letters, and
 * quotes. Loading it takes long, so that no command does it that sends no mail.
 */
export async function asSent(addresses: readonly string[], use: PackageUse): Promise<readonly string[]> {
  const { default: MimeNode } = await loadFor(use, () => import('nodemailer/lib/mime-node'));
  const to = addresses.map((address) => ({ name: '', address }));
  return new MimeNode('text/plain').setEnvelope({ to }).getEnvelope().to;
}

const UNSECURED =
  'the mail server offers no TLS; use smtps://, or answer for it with DAYBOOK_ALLOW_INSECURE=alerts';

function failed(error: unknown): Mailed {
  const { code, command, responseCode: status } = error as Readonly<Record<string, unknown>>;
  const problem =
    code === 'ETLS'
      ? UNSECURED
      : typeof status === 'number'
        ? `the mail server answered ${status}`
        : causeOf(error);
  const isTooLarge = status === 552 || (code === 'EMESSAGE' && command === 'MAIL FROM');
  const isOfRecipient = command === 'RCPT TO';
  const isForGood = typeof status === 'number' && status >= 500;
  return {
    ...{ ...FAILED, problem },
    with:
      isOfRecipient && isForGood
        ? 'recipient'
        : isTooLarge
          ? 'size'
          : isOfRecipient || command === 'DATA'
            ? 'mail'
            : 'server',
  };
}

const CHARACTERS = 12;

/** An address as the database may hold it: the same each time, and no address. */
export const fingerprintOf = (address: string): string => sha256Of(address).slice(0, CHARACTERS);
