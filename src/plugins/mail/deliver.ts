/** Sends the mails that wait, one after the other, which several processes may do at the same time. */
import { ExpectedError } from '../../ledger/ending.ts';
import type { MailedStatements } from './recipients.ts';
import { isLostOrRolledBack, retry } from '../../store/engine/retry.ts';
import { waitAfterMs } from '../alerts/deliver.ts';
import { DIALOGUE_MS_MAX, sendMail, unlessCut, type Mailed, type MailSending } from '../alerts/smtp.ts';
import { provenAsQueued, recipientKey, recipientKeys, type Mailing } from './due.ts';
import { isMonth, messageIdOf, messageOf, type MailAsked } from './message.ts';
import * as stored from './stored.ts';
import type { MailKey, QueuedMail } from './stored.ts';

/** A process that took a mail and died is not waited for longer than this. */
const CLAIM_MS = 5 * 60_000;
/** Making the files may take so long that a try would outlast the claim. */
const MAKING_MS_MAX = CLAIM_MS - 2 * DIALOGUE_MS_MAX;
const GREETING_MS_MAX = 5_000;
/** The wait of a mail whose days are open again, or of which the settings of this process know nothing. */
const NOT_NOW_MS = 15 * 60_000;

const TOO_LARGE = 'the mail server takes no mail of this size; the next try has a link in place of the files';

interface Delivering {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
  /** Gets each try that failed; the recipient as a fingerprint. */
  readonly onFailed: (failed: MailKey & { readonly problem: string }) => void;
}

/** How many of each there were in this pass. */
export interface Delivered {
  readonly sent: number;
  readonly failed: number;
  readonly givenUp: number;
}

type End = keyof Delivered | 'put-back' | 'server-down';

/**
 * Sends what is due until nothing is, or the server takes no mail. A process that dies between sending and noting leaves the mail to be
 * sent again, under the same number. Throws what the database throws.
 */
export async function deliverMails(mailing: Mailing, { signal, ...options }: Delivering): Promise<Delivered> {
  const recipients = recipientKeys(mailing);
  const count = { sent: 0, failed: 0, givenUp: 0 };
  while (signal?.aborted !== true) {
    const claimed = await stored.claimMail(mailing.db, recipients, CLAIM_MS);
    if (claimed === undefined) break;
    const end = await deliverOne(mailing, claimed, { signal, ...options });
    if (end === 'server-down') {
      count.failed += 1;
      await stored.postponeAll(mailing.db, recipients, waitAfterMs(claimed.attempts, null));
      break;
    }
    if (end !== 'put-back') count[end] += 1;
  }
  return count;
}

async function deliverOne(
  mailing: Mailing,
  claimed: QueuedMail,
  { signal: cut, timeoutMs = GREETING_MS_MAX, onFailed }: Delivering,
): Promise<End> {
  const { db } = mailing;
  const { recipient, merchantNo, currency, period, revision, attempts } = claimed;
  const key = { recipient, merchantNo, currency, period, revision };
  const fail = async (problem: string, askedMs: number | null): Promise<void> => {
    await stored.noteFailed(db, key, problem, waitAfterMs(attempts, askedMs));
    onFailed({ ...key, problem });
  };
  const begunMs = performance.now();
  const asked = await askedOf(mailing, claimed, key);
  if (asked === null) {
    await stored.putBack(db, key, NOT_NOW_MS);
    return 'put-back';
  }
  try {
    const mail = await messageOf(mailing, asked);
    if (performance.now() - begunMs > MAKING_MS_MAX) {
      await fail('making the files took too long', null);
      return 'failed';
    }
    const mailed = await sentWithin(mailing, mail, { timeoutMs, cut });
    if (mailed.ok) {
      // Without this note it is sent again.
      await retry(() => stored.noteSent(db, key), { isPassing: isLostOrRolledBack });
      return 'sent';
    }
    if (mailed.with === 'recipient') {
      await stored.noteGivenUp(db, key, mailed.problem);
      onFailed({ ...key, problem: mailed.problem });
      return 'givenUp';
    }
    await fail(mailed.with === 'size' ? TOO_LARGE : mailed.problem, mailed.askedMs);
    return mailed.with === 'server' ? 'server-down' : 'failed';
  } catch (error) {
    if (!(error instanceof ExpectedError)) throw error;
    await fail(error.message, null);
    return 'failed';
  }
}

/** Null where its days are open again, or have a newer content, which is queued as a mail of its own; and where no recipient asks for it. */
async function askedOf(mailing: Mailing, claimed: QueuedMail, key: MailKey): Promise<MailAsked | null> {
  const to = mailing.recipients.find((one) => asksFor(one, key));
  const proven = to === undefined ? null : await provenAsQueued(mailing, claimed);
  if (to === undefined || proven === null) return null;
  return {
    ...{ to, proven, revision: key.revision, messageId: messageIdOf(mailing, key), reason: null },
    before: await stored.mailBefore(mailing.db, key),
    withoutFiles: claimed.problem === TOO_LARGE,
  };
}

const asksFor = ({ to, every, merchants, currencies }: MailedStatements, key: MailKey): boolean =>
  recipientKey(to) === key.recipient &&
  (every === 'month') === isMonth(key) &&
  (merchants?.includes(key.merchantNo) ?? true) &&
  (currencies?.includes(key.currency) ?? true);

/** One that is cut short is not waited for. */
export const sentWithin = (
  { smtpUrl, mayBeOpen }: Pick<Mailing, 'smtpUrl' | 'mayBeOpen'>,
  mail: Parameters<typeof sendMail>[1],
  { timeoutMs = GREETING_MS_MAX, cut }: Partial<MailSending>,
): Promise<Mailed> =>
  unlessCut(sendMail({ smtpUrl, mayBeOpen, use: 'statements by mail' }, mail, { timeoutMs, cut }), cut);
