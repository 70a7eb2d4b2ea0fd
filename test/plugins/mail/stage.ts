/** A plain stage whose statements are mailed, and what its mail server got, read independently of the program. */
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { loadSettings } from '../../../src/settings/load.ts';
import { deliverMails } from '../../../src/plugins/mail/deliver.ts';
import { mailingOf, queueDue, type Mailing } from '../../../src/plugins/mail/due.ts';
import type { WireEntry } from '../../support/plain-platform.ts';
import { openPlainStage, PLAIN_MERCHANT, type PlainStage } from '../../support/plain-stage.ts';
import { startMailbox, type Mailbox } from '../../support/receivers.ts';
import { envOf, type Env } from '../../cli/daybook.ts';

export const ANNA = {
  ...{ name: 'Anna Berg', to: 'anna@company.example', every: 'day', from: '2026-03-01', currencies: ['USD'] },
} as const;

export interface MailStage extends PlainStage {
  mailbox: Mailbox;
  recipients: readonly object[];
  readonly env: (more?: Env) => Env;
  readonly mailing: (more?: Partial<Mailing>) => Mailing;
  /** Queues what is due and sends what waits, as if every wait were over. */
  readonly mail: (more?: Partial<Mailing>, signal?: AbortSignal) => ReturnType<typeof deliverMails>;
  readonly replaceMailbox: (options?: Parameters<typeof startMailbox>[0]) => Promise<void>;
}

export async function openMailStage(entries: readonly WireEntry[], now: string): Promise<MailStage> {
  const plain = await openPlainStage(entries, now);
  const mailbox = await startMailbox();
  const closePlain = plain.close;
  const env = (more: Env = {}): Env => ({
    ...envOf({ app: plain.app() }),
    DAYBOOK_STATEMENT_MAIL: JSON.stringify(stage.recipients),
    DAYBOOK_ALERT_MAIL_FROM: 'daybook@company.example',
    DAYBOOK_SMTP_URL: stage.mailbox.url,
    DAYBOOK_PAGES_URL: 'https://books.example',
    ...more,
  });
  const mailing = (more: Partial<Mailing> = {}): Mailing => {
    const { database, objects } = plain.app();
    const settings = loadSettings({ env: env(), readFile: () => '', needs: ['platform'] });
    return { ...mailingOf({ database, objects, now: plain.now, settings })!, ...more };
  };
  const stage: MailStage = Object.assign(plain, {
    mailbox,
    recipients: [ANNA],
    env,
    mailing,
    mail: async (more: Partial<Mailing> = {}, signal?: AbortSignal) => {
      const own = mailing(more);
      await queueDue(own);
      await endWaits(plain);
      return deliverMails(own, { signal, onFailed: () => undefined });
    },
    replaceMailbox: async (options: Parameters<typeof startMailbox>[0] = {}) => {
      await stage.mailbox.close();
      stage.mailbox = await startMailbox(options);
    },
    close: async () => {
      await stage.mailbox.close();
      await closePlain();
    },
  });
  return stage;
}

export const endWaits = (stage: PlainStage): Promise<unknown> =>
  sql`UPDATE statement_mail SET try_at = '-infinity'`.execute(stage.app().database.db);

export interface ReadMail {
  readonly to: string;
  readonly subject: string;
  readonly messageId: string;
  readonly body: string;
  /** The SHA-256 of each file by its name. */
  readonly files: Readonly<Record<string, string>>;
}

/** Reads a mail as it came over the wire. */
export function readMail({ to, text }: Mailbox['mails'][number]): ReadMail {
  const [head = '', ...rest] = text.split('\r\n\r\n');
  const headers = head.replaceAll(/\r\n[ \t]+/g, ' ');
  const header = (name: string): string =>
    new RegExp(`^${name}: *(.*)$`, 'im').exec(headers)?.[1]?.trim() ?? '';
  const boundary = /boundary="([^"]+)"/.exec(headers)?.[1];
  const parts = boundary === undefined ? [text] : text.split(`--${boundary}`).slice(1, -1);
  const files: Record<string, string> = {};
  for (const part of parts.slice(1)) {
    const at = part.indexOf('\r\n\r\n');
    const own = part.slice(0, at).replaceAll(/\r\n[ \t]+/g, ' ');
    const name = /filename="?([^";\r\n]+)"?/.exec(own)![1]!;
    const bytes = /base64/i.test(own)
      ? Buffer.from(part.slice(at + 4).replaceAll(/\s/g, ''), 'base64')
      : fromQuoted(part.slice(at + 4).replace(/\r\n$/, ''));
    files[name] = createHash('sha256').update(bytes).digest('hex');
  }
  const first = parts[0]!;
  const body = boundary === undefined ? rest.join('\r\n\r\n') : first.slice(first.indexOf('\r\n\r\n') + 4);
  const isQuoted = /quoted-printable/i.test(boundary === undefined ? headers : first);
  return {
    ...{ to: to.join(), subject: header('Subject'), messageId: header('Message-ID'), files },
    body: (isQuoted ? fromQuoted(body).toString('utf8') : body).replaceAll('\r\n', '\n').trim(),
  };
}

const fromQuoted = (text: string): Buffer =>
  Buffer.from(
    text
      .replaceAll('=\r\n', '')
      .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );

export const mailsOf = ({ mailbox }: MailStage): ReadMail[] => mailbox.mails.map(readMail);

/** The published files of the merchant, the newest revision of each day last. */
export const publishedOf = async (stage: PlainStage, currency = 'USD') =>
  stage
    .app()
    .database.db.selectFrom('statement')
    .selectAll()
    .where('merchant_no', '=', PLAIN_MERCHANT.merchantNo)
    .where('currency', '=', currency)
    .orderBy('day')
    .orderBy('revision')
    .execute();
