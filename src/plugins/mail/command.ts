/** `mail`: sends what is due now, shows it, says who got what, and sends a copy to one address. */
import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import {
  answer,
  auditEventOf,
  collect,
  createLog,
  withBy,
  type CommandOutput,
  type StoreWork,
} from '../../cli/context.ts';
import { currencyFlag, dayFlag, merchantNoFlag, monthFlag, pageOf, textFlag } from '../../cli/flags.ts';
import { counted, lines, LIST_SHOWN_MAX, table, type Times } from '../../cli/output/text.ts';
import { moneyText } from '../../ledger/money.ts';
import { EXIT, UsageError } from '../../run/verdict/exit-codes.ts';
import type { SettingsWithoutPlatform } from '../../settings/settings.ts';
import { isMailAddress } from '../alerts/settings.ts';
import { MAILED_FORMATS } from './recipients.ts';
import { mailSettings } from './settings.ts';
import { recordAuditEvent } from '../../store/audit.ts';
import { deliverMails, sentWithin } from './deliver.ts';
import {
  dueMails,
  mailingOf,
  provenPeriod,
  queueDue,
  recipientKey,
  recipientKeys,
  revisionOf,
  type DueMail,
  type Mailing,
} from './due.ts';
import { messageOf } from './message.ts';
import { listMails, undeliveredMails, type MailRow, type Period } from './stored.ts';

const LEFT_OUT =
  'Days are mailed once they are over, proven and published, and have no open break and no unreadable entry that no one\n' +
  'acknowledged; months once this holds for each of their days. `daybook close YYYY-MM --merchant NO --check` says what is open.';

export function mailCommand(mail: Command): void {
  mail
    .command('send')
    .description('mail what is due now; ends with 4 if something did not arrive')
    .option('--dry-run', 'only say what is due; nothing is mailed')
    .addHelpText('after', `\n${LEFT_OUT}\n\nExample:\n  daybook mail send --dry-run`)
    .action(({ dryRun }: { readonly dryRun?: boolean }, self: Command) =>
      answer(self, (work) => (dryRun === true ? previewed(mailingIn(work)) : sentNow(work))),
    );
  mail
    .command('list')
    .description('who got which statement, newest first')
    .option('--to <address>', 'only mails to this address')
    .option('--merchant <no>', 'only this merchant (may be repeated)', collect, [])
    .option('--limit <n>', `at most so many rows; by default ${LIST_SHOWN_MAX.toLocaleString('en')}`)
    .action(async (flags: ListFlags, self: Command) => answer(self, (work) => listed(work, flags)));
  withBy(mail.command('resend'))
    .description('mail a copy of a proven day or month to one address')
    .requiredOption('--to <address>', 'the address; it need not be in the settings')
    .requiredOption('--merchant <no>', 'merchant number')
    .requiredOption('--currency <code>', 'currency, like USD')
    .option('--day <day>', 'day, YYYY-MM-DD')
    .option('--month <month>', 'month, YYYY-MM')
    .option('--format <name>', 'format of the file (may be repeated; default: csv)', collect, [])
    .requiredOption('--reason <text>', 'why it is sent, for the record and the recipient')
    .addHelpText(
      'after',
      '\nThe audit keeps who asked for it and why, with a fingerprint of the address.\n\nExample:\n' +
        '  daybook mail resend --to anna@company.example --merchant 10001 --currency USD --day 2026-03-31 --reason "mailbox was full"',
    )
    .action((flags: ResendFlags, self: Command) => answer(self, (work) => resent(work, flags, self)));
}

/** Throws `UsageError` where no statement is mailed. */
function mailingIn(work: StoreWork): Mailing {
  const mailing = mailingOf(work);
  if (mailing === null)
    throw new UsageError(
      'no statement is mailed: set DAYBOOK_STATEMENT_MAIL, DAYBOOK_ALERT_MAIL_FROM and DAYBOOK_SMTP_URL.',
    );
  return mailing;
}

/** `an…@company.example`: an address as it is shown. */
export function masked(address: string): string {
  const at = address.lastIndexOf('@');
  return `${address.slice(0, at > 3 ? 2 : 1)}…${address.slice(at)}`;
}

async function previewed(mailing: Mailing): Promise<CommandOutput> {
  const due: DueMail[] = [];
  for await (const one of dueMails(mailing)) due.push(one);
  return {
    document: due.map(({ to, key: { recipient, ...key }, proven: { content } }) => ({
      ...{ name: to.name, to: masked(to.to), recipient, ...key, as: to.as, formats: to.formats },
      ...content.sums,
    })),
    text: lines(
      due.length === 0
        ? 'nothing is due'
        : table(
            ['name', 'to', 'merchant', 'currency', 'period', '>revision', '>closing', 'as'],
            due.map(({ to, key, proven: { content } }) => [
              ...[to.name, masked(to.to), key.merchantNo, key.currency, key.period, key.revision],
              moneyText(content.sums.closing!, key.currency),
              to.as === 'link' ? 'link' : to.formats.join(', '),
            ]),
          ),
      'nothing was mailed',
    ),
  };
}

async function sentNow(work: StoreWork): Promise<CommandOutput> {
  const mailing = mailingIn(work);
  const log = createLog(work.settings.logLevel);
  await queueDue(mailing);
  const done = await deliverMails(mailing, {
    onFailed: (failed) => log.warn(failed, 'a statement could not be mailed'),
  });
  const { failing } = await undeliveredMails(work.db, recipientKeys(mailing));
  return {
    document: { ...done, waiting: failing },
    text: lines(
      `${counted(done.sent, 'mail')} sent`,
      failing > 0 &&
        `${counted(failing, 'mail')} not delivered yet, sent again later: \`daybook mail list\` says why`,
      done.givenUp > 0 &&
        `${counted(done.givenUp, 'mail')} given up, as the server refused the recipient: correct the address in DAYBOOK_STATEMENT_MAIL`,
    ),
    exitCode: failing + done.givenUp > 0 ? EXIT.incomplete : EXIT.done,
  };
}

interface ListFlags {
  readonly to?: string;
  readonly merchant: readonly string[];
  readonly limit?: string;
}

async function listed(
  { db, settings, times }: StoreWork,
  { to, merchant, limit }: ListFlags,
): Promise<CommandOutput> {
  const rows = await listMails(db, {
    recipients: to === undefined ? null : [recipientKey(addressFlag(to))],
    merchants: merchant.length === 0 ? null : merchant,
    limit: pageOf(limit === undefined ? {} : { limit }, false).limit!,
  });
  return {
    document: rows.map(({ content, ...row }) => ({ ...row, to: shownAddress(row, settings), ...content })),
    text: rows.length === 0 ? 'no mail yet' : listText(rows, settings, times),
  };
}

/** Null where the settings do not have the address any more. */
function shownAddress(
  { recipient }: Pick<MailRow, 'recipient'>,
  settings: SettingsWithoutPlatform,
): string | null {
  const { statementMail } = mailSettings.of(settings);
  const known = statementMail?.recipients.find(({ to }) => recipientKey(to) === recipient);
  return known === undefined ? null : masked(known.to);
}

const stateText = ({ state, attempts, problem }: MailRow): string =>
  problem === null ? state : `${state} after ${counted(attempts, 'try', 'tries')}: ${problem}`;

const listText = (rows: readonly MailRow[], settings: SettingsWithoutPlatform, times: Times): string =>
  lines(
    table(
      ['at', 'name', 'to', 'merchant', 'currency', 'period', '>revision', '~state'],
      rows.map((row) => [
        times.at(row.endedAt ?? row.queuedAt),
        row.name,
        shownAddress(row, settings) ?? `${row.recipient}, no longer set`,
        ...[row.merchantNo, row.currency, row.period, row.revision],
        stateText(row),
      ]),
    ),
    times.note,
  );

interface ResendFlags {
  readonly to: string;
  readonly merchant: string;
  readonly currency: string;
  readonly day?: string;
  readonly month?: string;
  readonly format: readonly string[];
  readonly reason: string;
}

/** Records the request before it is sent, so that no copy goes out without a record. Throws `UsageError`. */
async function resent(work: StoreWork, flags: ResendFlags, self: Command): Promise<CommandOutput> {
  const mailing = mailingIn(work);
  const period = periodFlagged(flags);
  const formats = formatsFlagged(flags);
  const to = addressFlag(flags.to);
  const reason = textFlag(flags.reason, 'say why the copy is sent', '--reason');
  const proven = await provenPeriod(mailing, period);
  if (proven === null)
    throw new UsageError(
      `${period.merchantNo} ${period.currency} ${period.period} is not proven and published as it now stands, so it is not mailed; ` +
        `\`daybook close ${period.period.slice(0, 7)} --merchant ${period.merchantNo} --check\` says what is open.`,
    );
  const revision = revisionOf(proven);
  const subject = `${period.merchantNo} ${period.currency} ${period.period} r${revision}`;
  const note = `${reason} (to ${masked(to)}, ${recipientKey(to)})`;
  const id = await recordAuditEvent(work.db, auditEventOf(self, subject, note), work.now());
  const mail = await messageOf(mailing, {
    ...{ to: { to, as: 'file', formats }, proven, revision, before: undefined },
    ...{ messageId: `<${randomUUID()}@daybook>`, withoutFiles: false, reason },
  });
  const mailed = await sentWithin(mailing, mail, {});
  const document = {
    auditEvent: id,
    ...period,
    revision,
    to: masked(to),
    problem: mailed.ok ? null : mailed.problem,
  };
  if (mailed.ok) return { document, text: `a copy of ${subject} was mailed to ${masked(to)}` };
  const text = `the copy of ${subject} was not mailed: ${mailed.problem}. Give the command again; the audit keeps both requests.`;
  return { document, text, exitCode: EXIT.incomplete };
}

function periodFlagged({ merchant, currency, day, month }: ResendFlags): Period {
  if ((day === undefined) === (month === undefined))
    throw new UsageError('give either --day YYYY-MM-DD or --month YYYY-MM.');
  return {
    merchantNo: merchantNoFlag('--merchant', merchant),
    currency: currencyFlag(currency),
    period: month === undefined ? dayFlag('--day', day!) : monthFlag(month, '--month ').name,
  };
}

function formatsFlagged({ format, month }: ResendFlags): readonly string[] {
  if (format.length === 0) return ['csv'];
  const known = MAILED_FORMATS[month === undefined ? 'day' : 'month'];
  const unknown = format.find((name) => !known.includes(name));
  if (unknown === undefined) return [...new Set(format)];
  throw new UsageError(`--format ${unknown} is none for this; choose ${known.join(', ')}.`);
}

function addressFlag(text: string): string {
  if (isMailAddress(text)) return text;
  throw new UsageError('--to takes a mail address, like anna@company.example.');
}
