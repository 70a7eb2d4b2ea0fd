/** Alerts on attacks on the inbox, and on notifications that cannot be opened. */
import { counted } from '../../ledger/text.ts';
import { ABOUT_NO_MERCHANT, firstSentences, type AlertContent, type Troubles } from '../../run/alerts.ts';
import type { WebEvent } from '../../web/server.ts';
import { InboxUnavailable, TOO_MANY } from './inbox.ts';
import type { ProcessReport } from './process.ts';

/** Refusals per hour from which each kind raises an alert. Each kind only occurs beyond a limit. */
const REPORTED_REFUSALS = [
  {
    reason: TOO_MANY.byUnknownPaths,
    min: 10,
    what: 'posts to unknown paths, beyond the number that is stored',
  },
  { reason: TOO_MANY.byOnePath, min: 100, what: 'posts refused: too many to one path' },
  { reason: InboxUnavailable.name, min: 100, what: 'posts refused: the database was too slow' },
  { reason: 'too-many-connections', min: 100, what: 'connections closed: too many were open' },
  { reason: 'too-many-of-one-address', min: 100, what: 'connections refused: too many from one address' },
];
const HOUR_MS = 3_600_000;
const ATTACK = 'inbox';
const LEFT = 'inbox left';

export interface InboxWatch {
  readonly onRefusal: (event: WebEvent) => void;
  readonly onLeft: (left: ProcessReport['left']) => void;
  /** Raises the alerts that are due. Throws what the database throws. */
  readonly check: (troubles: Troubles, now: Date) => Promise<void>;
}

/** `clock`: ms since any moment, never going back. */
export function createInboxWatch(clock: () => number): InboxWatch {
  let refusals = new Map<string, number>();
  let startedMs = clock();
  let left: ProcessReport['left'] = [];
  /** The list last ended in the database, so that each end is stored once. */
  let endedFor = left;

  const attack = (): AlertContent | null => {
    const reported = REPORTED_REFUSALS.filter(({ reason, min }) => (refusals.get(reason) ?? 0) >= min);
    if (reported.length === 0) return null;
    const inAll = reported.reduce((sum, { reason }) => sum + refusals.get(reason)!, 0);
    return {
      ...ABOUT_NO_MERCHANT,
      kind: 'inbox-attack',
      title: `unknown senders post to the inbox: ${counted(inAll, 'refusal')} within an hour`,
      sentences: reported.map(({ reason, what }) => `${refusals.get(reason)!} ${what}.`),
      todo: 'no data is changed; let the proxy limit or block the senders (addresses: `daybook notifications --all --json`)',
    };
  };

  return {
    onRefusal: ({ reason }) => {
      if (REPORTED_REFUSALS.some((one) => one.reason === reason))
        refusals.set(reason, (refusals.get(reason) ?? 0) + 1);
    },
    onLeft: (now) => {
      left = now;
    },
    check: async (troubles, now) => {
      const found = attack();
      const leftNow = left;
      if (found !== null) {
        await troubles.raise({ name: ATTACK, grade: 1, count: 1 }, found);
        await troubles.noteSeen(ATTACK);
      }
      const count = leftNow.length;
      if (count > 0) await troubles.raise({ name: LEFT, grade: 1, count }, leftText(leftNow));
      else if (leftNow !== endedFor) await troubles.end(LEFT);
      endedFor = leftNow;
      if (clock() - startedMs < HOUR_MS) return;
      // A quiet hour ends it, without an alert, if it was quiet for every serving process.
      if (found === null) await troubles.endUnseen(ATTACK, new Date(now.getTime() - HOUR_MS));
      refusals = new Map();
      startedMs = clock();
    },
  };
}

const leftText = (left: ProcessReport['left']): AlertContent => ({
  ...ABOUT_NO_MERCHANT,
  kind: 'key-problem',
  title: `${counted(left.length, 'notification')} of the platform cannot be opened or processed`,
  sentences: firstSentences(
    left.map(({ number, problem }) => `Notification ${number}: ${problem}`),
    '`daybook notifications`',
  ),
  todo: 'put the named key back into DAYBOOK_SECRET_KEYS, after the one in use; `daybook notifications` shows what is left',
});
