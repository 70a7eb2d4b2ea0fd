/** The mailing of all commands: at the end of a run, and in the background of the schedule. */
import type { Logger } from 'pino';
import { messageOf } from '../../ledger/text.ts';
import type { MailingApp, StatementMail } from '../../run/statement-mail.ts';
import { AT_END_MS_MAX, TRY_AT_END_MS_MAX, whileDelivering } from '../alerts/deliver.ts';
import { deliverMails } from './deliver.ts';
import { mailingOf, queueDue, recipientKeys } from './due.ts';
import { mailSettings } from './settings.ts';
import { undeliveredMails } from './stored.ts';

/** What is due is searched for in every statement since the first day that is mailed, so not as often as what waits is sent. */
const SEARCH_EVERY_MS = 5 * 60_000;
/** A run that ends leaves a longer search to the schedule or to `daybook mail send`. */
const SEARCH_AT_END_MS_MAX = 2_000;

const partsOf = (app: MailingApp, log: Logger) => ({
  mailing: mailingOf(app),
  onFailed: (failed: object): void => log.warn(failed, 'a statement could not be mailed'),
  onFault: (error: unknown): void => log.error({ problem: messageOf(error) }, 'mailing statements failed'),
});

async function deliverAtEnd(app: MailingApp, log: Logger): Promise<void> {
  const { mailing, onFailed, onFault } = partsOf(app, log);
  if (mailing === null) return;
  const signal = AbortSignal.timeout(AT_END_MS_MAX);
  const work = async (): Promise<void> => {
    await queueDue({ ...mailing, searchMsMax: SEARCH_AT_END_MS_MAX }, signal).catch(onFault);
    await deliverMails(mailing, { signal, onFailed, timeoutMs: TRY_AT_END_MS_MAX });
  };
  await work().catch(onFault);
}

async function withMailing<Result>(
  app: MailingApp,
  log: Logger,
  work: () => Promise<Result>,
): Promise<Result> {
  const { mailing, onFailed, onFault } = partsOf(app, log);
  if (mailing === null) return work();
  return whileDelivering(
    {
      deliver: (signal) => deliverMails(mailing, { signal, onFailed }),
      runWatchdog: (signal) => queueDue(mailing, signal),
      watchdogEveryMs: SEARCH_EVERY_MS,
      onFault,
    },
    work,
  );
}

export const statementMail: StatementMail = {
  deliverAtEnd,
  withMailing,
  undelivered: (db, settings) => {
    const { statementMail: mailed } = mailSettings.of(settings);
    return undeliveredMails(db, mailed === null ? [] : recipientKeys(mailed));
  },
};
