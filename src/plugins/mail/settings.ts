/** The setting of statements by mail. The server and sender are those of alerts. */
import { read, setting, settingsGroup, type Given, type Read, type Rules } from '../../settings/setting.ts';
import { addedFormats } from '../../statements/formats/registered.ts';
import { ALERTS } from '../alerts/settings.ts';
import { PAGES } from '../pages/settings.ts';
import { statementMail, type MailedStatements } from './recipients.ts';

const MAIL = {
  DAYBOOK_STATEMENT_MAIL: setting(
    statementMail().default([]),
    'Who gets statements by mail, once their days are proven: name, to, every (day or month) and from (the first day). Also merchants and currencies (all, or a list), as (file, or link to the pages) and formats. The server and sender are those of alerts. In the environment: JSON.',
    { example: '[{"name":"Anna Berg","to":"anna@company.example","every":"month","from":"2026-04-01"}]' },
  ),
};

/** Statements by mail: who gets which, and how they are sent. */
export interface StatementMailSettings {
  readonly recipients: readonly MailedStatements[];
  readonly from: string;
  /** As that of alerts. */
  readonly smtpUrl: string;
}

/** Statements by mail without a server, or with a link to nowhere. */
function mailRules({ statementMail: recipients }: Read<typeof MAIL>, given: Given): Rules {
  const { alertMailFrom, smtpUrl } = read(ALERTS, given);
  const isMailed = recipients.length > 0;
  return {
    'DAYBOOK_ALERT_MAIL_FROM is required where DAYBOOK_STATEMENT_MAIL is given: the sender of all mail':
      isMailed && alertMailFrom === undefined,
    'DAYBOOK_SMTP_URL is required where DAYBOOK_STATEMENT_MAIL is given': isMailed && smtpUrl === undefined,
    'DAYBOOK_PAGES_URL is required where DAYBOOK_STATEMENT_MAIL has a recipient with as: link':
      read(PAGES, given).pagesUrl === undefined && recipients.some(({ as }) => as === 'link'),
  };
}

function statementMailOf(
  { statementMail: recipients }: Read<typeof MAIL>,
  given: Given,
): StatementMailSettings | null {
  const { alertMailFrom: from, smtpUrl } = read(ALERTS, given);
  return recipients.length === 0 || from === undefined || smtpUrl === undefined
    ? null
    : { recipients, from, smtpUrl };
}

export const mailSettings = settingsGroup(MAIL, {
  value: (own, given) => ({ statementMail: statementMailOf(own, given) }),
  rules: mailRules,
  uses: ({ statementMail: recipients }) => [
    ...addedFormats.all().flatMap(({ name, packages }) => {
      const isAsked = recipients.some(({ formats }) => formats.includes(name));
      return packages === undefined ? [] : [['DAYBOOK_STATEMENT_MAIL', isAsked, packages] as const];
    }),
    ['DAYBOOK_STATEMENT_MAIL', recipients.length > 0, 'statements by mail'],
  ],
});
