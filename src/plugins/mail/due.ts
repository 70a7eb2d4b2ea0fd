/** Which mails are due: current statements of days and months that are proven, have nothing open, and were not mailed yet. */
import { sql, type Kysely } from 'kysely';
import type { Chosen } from '../../ledger/account-filter.ts';
import { dayOf } from '../../ledger/business-day.ts';
import { sha256Of } from '../../host/sha256.ts';
import type { ObjectStore } from '../../objects/object-store.ts';
import type { MailingApp } from '../../run/statement-mail.ts';
import { pagesSettings } from '../pages/settings.ts';
import { mailSettings, type StatementMailSettings } from './settings.ts';
import type { MailedStatements } from './recipients.ts';
import { listedMonth, type KnownMonth } from '../../months/month-files.ts';
import { monthFigures, monthOf } from '../../months/month.ts';
import type { DB } from '../../store/engine/schema.ts';
import type { StatementRow } from '../../store/statements/statements.ts';
import { fingerprintOf } from '../alerts/smtp.ts';
import { notMailed, queueMail, type MailedContent, type MailKey, type Period } from './stored.ts';

/** What mailing works with. */
export interface Mailing extends Pick<StatementMailSettings, 'recipients' | 'from' | 'smtpUrl'> {
  readonly db: Kysely<DB>;
  readonly objects: ObjectStore;
  readonly now: () => Date;
  /** Of the business days, as far as the settings say it. */
  readonly zone: string;
  /** A fingerprint of the store, which tells one daybook from another. */
  readonly installation: string;
  readonly pagesUrl: string | null;
  readonly bankCurrencies: Readonly<Record<string, string>>;
  readonly mayBeOpen: boolean;
  /** A search for what is due that takes longer is given up; left out: it may take as long as any statement. */
  readonly searchMsMax?: number;
  /** Files of one mail together; left out: what most servers take. */
  readonly attachedBytesMax?: number;
}

/** Null where no statement is mailed. */
export function mailingOf({ database: { db }, objects, now, settings }: MailingApp): Mailing | null {
  const { statementMail, statementsUrl, allowInsecure, platform, schedule, bankCurrencies } =
    mailSettings.of(settings);
  if (statementMail === null) return null;
  return {
    ...{ ...statementMail, db, objects, now },
    zone: platform?.timeZone ?? schedule.zone,
    installation: fingerprintOf(statementsUrl),
    pagesUrl: pagesSettings.of(settings).access.pagesUrl,
    bankCurrencies,
    mayBeOpen: allowInsecure.includes('alerts'),
  };
}

export const recipientKey = (address: string): string => fingerprintOf(address.toLowerCase());

/** Of all who are mailed, each once. */
export const recipientKeys = ({ recipients }: Pick<StatementMailSettings, 'recipients'>): string[] => [
  ...new Set(recipients.map(({ to }) => recipientKey(to))),
];

/** A day or month that may be mailed, with the current statements of its days. */
export interface ProvenPeriod extends Period {
  readonly statements: readonly StatementRow[];
  readonly content: MailedContent;
  /** IANA zone of the days. */
  readonly zone: string;
}

export const revisionOf = ({ content: { days } }: Pick<ProvenPeriod, 'content'>): number =>
  Object.values(days).reduce((sum, revision) => sum + revision, 0);

/** Null while a day of it is not over, not proven, not published as it now stands, broken, or has an unreadable entry that no one acknowledged. */
export async function provenPeriod(
  mailing: Pick<Mailing, 'db' | 'now'>,
  period: Period,
): Promise<ProvenPeriod | null> {
  return provenIn(await monthWith(mailing, period, [period.currency]), period);
}

/** The month of the day, or the month itself. */
const monthWith = (
  { db, now }: Pick<Mailing, 'db' | 'now'>,
  { merchantNo, period }: Period,
  currencies: Chosen,
): Promise<KnownMonth> => listedMonth({ db, now }, merchantNo, monthOf(period.slice(0, 7))!, currencies);

/**
 * The same with the revisions that were queued, so that a mail is the same each time it is sent. Null also where the content is
 * another one by now, which is a mail of its own.
 */
export async function provenAsQueued(
  mailing: Pick<Mailing, 'db' | 'now'>,
  { merchantNo, currency, period, content }: Period & { readonly content: MailedContent },
): Promise<ProvenPeriod | null> {
  const own = { merchantNo, currency, period };
  const known = await monthWith(mailing, own, [currency]);
  const proven = provenIn(known, own);
  if (proven?.content.sha256 !== content.sha256) return null;
  // Keys of jsonb come in the order of the days.
  const statements = Object.entries(content.days).map(([day, revision]) =>
    known.byDay.get(day)!.find((row) => row.revision === revision)!,
  );
  return { ...proven, statements, content };
}

function provenIn({ accounts, zone }: KnownMonth, period: Period): ProvenPeriod | null {
  const account = accounts.find(({ currency }) => currency === period.currency);
  if (account === undefined || zone === null) return null;
  const isIn = (day: string): boolean => day.startsWith(period.period);
  const statements = account.statements.filter(({ day }) => isIn(day));
  if (statements.length === 0 || account.openDays.some(isIn)) return null;
  return { ...period, zone, statements, content: contentOf(statements) };
}

function contentOf(statements: readonly StatementRow[]): MailedContent {
  const { daysBroken: _, ...sums } = monthFigures({ statements });
  const held = statements.map((row) => [
    row.day,
    row.sha256,
    row.opening,
    row.credit_total,
    row.debit_total,
    row.closing,
  ]);
  return {
    sums,
    days: Object.fromEntries(statements.map(({ day, revision }) => [day, revision])),
    sha256: sha256Of(JSON.stringify(held)),
  };
}

export interface DueMail {
  readonly to: MailedStatements;
  readonly key: MailKey;
  readonly proven: ProvenPeriod;
}

/** All that is due, a merchant's month after the other. Throws what the database throws. */
export async function* dueMails(mailing: Mailing): AsyncGenerator<DueMail> {
  const { db, now, zone, recipients, searchMsMax } = mailing;
  const today = dayOf(now().getTime(), zone);
  const open: { readonly to: MailedStatements; readonly key: MailKey }[] = [];
  for (const to of recipients) {
    const recipient = recipientKey(to.to);
    const found = await db.transaction().execute(async (trx) => {
      if (searchMsMax !== undefined)
        await sql`SET LOCAL statement_timeout = ${sql.lit(searchMsMax)}`.execute(trx);
      return notMailed(trx, recipient, to, today);
    });
    for (const period of found) open.push({ to, key: { ...period, recipient } });
  }
  const byMonth = Map.groupBy(open, ({ key }) => `${key.period.slice(0, 7)} ${key.merchantNo}`);
  for (const own of byMonth.values()) {
    const known = await monthWith(mailing, own[0]!.key, null);
    for (const { to, key } of own) {
      const { merchantNo, currency, period } = key;
      const proven = provenIn(known, { merchantNo, currency, period });
      // A newer revision that came in between is found the next time.
      if (proven !== null && revisionOf(proven) === key.revision) yield { to, key, proven };
    }
  }
}

/** Puts what is due into the queue, until `signal` aborts. Returns how many mails wait now that did not before. */
export async function queueDue(mailing: Mailing, signal?: AbortSignal): Promise<number> {
  let queued = 0;
  for await (const { to, key, proven } of dueMails(mailing)) {
    if (await queueMail(mailing.db, key, { name: to.name, content: proven.content })) queued += 1;
    if (signal?.aborted === true) break;
  }
  return queued;
}
