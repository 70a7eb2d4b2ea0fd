/** Statements by mail, as commands know them: what is asked of the plugin that sends them. */
import { slot } from '../host/slot.ts';
import type { Kysely } from 'kysely';
import type { Logger } from 'pino';
import { counted } from '../ledger/text.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import type { SettingsWithoutPlatform } from '../settings/settings.ts';
import type { DB } from '../store/engine/schema.ts';
import type { Undelivered } from './alerts.ts';

export interface MailingApp {
  readonly database: { readonly db: Kysely<DB> };
  readonly objects: ObjectStore;
  readonly now: () => Date;
  readonly settings: SettingsWithoutPlatform;
}

export interface StatementMail {
  /** Queues what is proven and not mailed yet, and sends, in bounded time. Never rejects. */
  readonly deliverAtEnd: (app: MailingApp, log: Logger) => Promise<void>;
  /** Does so in the background of `work`, and once more at its end. */
  readonly withMailing: <Result>(
    app: MailingApp,
    log: Logger,
    work: () => Promise<Result>,
  ) => Promise<Result>;
  /** Mails to the recipients of the settings that did not arrive. */
  readonly undelivered: (
    db: Kysely<DB>,
    settings: Pick<SettingsWithoutPlatform, 'statementMail'>,
  ) => Promise<Undelivered>;
}

/** Loads what mails statements. */
export const statementMailSlot = slot<() => Promise<StatementMail>>('statements by mail');

/** Null where no statement is mailed. */
export const statementMailOf = async (
  settings: Pick<SettingsWithoutPlatform, 'statementMail'>,
): Promise<StatementMail | null> =>
  settings.statementMail === null ? null : ((await statementMailSlot.part()?.()) ?? null);

/** Mails that did not arrive; null where no statement is mailed. Throws what the database throws. */
export const unmailedOf = async (
  db: Kysely<DB>,
  settings: Pick<SettingsWithoutPlatform, 'statementMail'>,
): Promise<Undelivered | null> => {
  const mail = await statementMailOf(settings);
  return mail && mail.undelivered(db, settings);
};

/** What `status` says of mails that did not arrive; null where there are none. */
export function undeliveredMailText({ failing, givenUp }: Undelivered): string | null {
  if (failing + givenUp === 0) return null;
  const reported = [
    failing > 0 ? `${counted(failing, 'mail')} not delivered yet` : [],
    givenUp > 0 ? `${givenUp} given up in the last week, as the server refused the recipient` : [],
  ].flat();
  return `statements by mail: ${reported.join(', ')}: see \`daybook mail list\``;
}
