/** Notices that strangers attack the inbox, or that what came cannot be opened, so that people are told. */
import type { Kysely } from 'kysely';
import type { AlertContent } from '../alerts/alert.ts';
import { raiseCondition, type Raising } from '../alerts/raise.ts';
import { firstSentences } from '../alerts/words.ts';
import { counted } from '../ledger/text.ts';
import { InboxUnavailable } from '../notifications/inbox-unavailable.ts';
import type { ProcessReport } from '../notifications/process.ts';
import { endConditions, endUnseen, noteSeen } from '../store/alerts/conditions.ts';
import type { DB } from '../store/engine/schema.ts';
import type { WebEvent } from './server.ts';

/** So many refusals of a kind in an hour are told. Each kind begins only where a sender went beyond a limit. */
const REFUSALS_TOLD: readonly { readonly reason: string; readonly min: number; readonly what: string }[] = [
  {
    reason: 'unknown path, beyond what is kept',
    min: 10,
    what: 'posts to paths that nobody was given, beyond what is kept of such posts',
  },
  {
    reason: InboxUnavailable.name,
    min: 100,
    what: 'posts refused, as one path was posted to too often or the database did not keep up',
  },
  { reason: 'too-many-connections', min: 100, what: 'connections cut, as too many were open' },
  {
    reason: 'too-many-of-one-address',
    min: 100,
    what: 'connections refused, as one address had too many open',
  },
];
const HOUR_MS = 3_600_000;
const ATTACK = 'inbox';
const LEFT = 'inbox left';

const ABOUT_NO_MERCHANT = { merchants: [], merchantCount: 0, days: [], since: null, runId: null } as const;

export interface InboxWatch {
  readonly onRefusal: (event: WebEvent) => void;
  /** Takes all that is left now. */
  readonly onLeft: (left: ProcessReport['left']) => void;
  /** Raises what was noticed. Throws what the database throws. */
  readonly look: (db: Kysely<DB>, raising: Raising) => Promise<void>;
}

/** `clock`: ms since any moment, never going back. */
export function createInboxWatch(clock: () => number): InboxWatch {
  let refusals = new Map<string, number>();
  let begunMs = clock();
  let left: ProcessReport['left'] = [];
  /** The list that the database was last asked about, so that the end of trouble is stored once. */
  let endedFor = left;

  const attack = (): AlertContent | null => {
    const told = REFUSALS_TOLD.filter(({ reason, min }) => (refusals.get(reason) ?? 0) >= min);
    if (told.length === 0) return null;
    return {
      ...ABOUT_NO_MERCHANT,
      kind: 'inbox-attack',
      title: `strangers post to the inbox: ${counted(countOf(told), 'refusal')} within an hour`,
      sentences: told.map(({ reason, what }) => `${refusals.get(reason)!} ${what}.`),
      todo: 'nothing is changed by them; let the proxy limit or block the senders, `daybook notifications --all --json` has addresses',
    };
  };
  const countOf = (told: typeof REFUSALS_TOLD): number =>
    told.reduce((sum, { reason }) => sum + refusals.get(reason)!, 0);

  return {
    onRefusal: ({ reason }) => {
      if (REFUSALS_TOLD.some((one) => one.reason === reason))
        refusals.set(reason, (refusals.get(reason) ?? 0) + 1);
    },
    onLeft: (now) => {
      left = now;
    },
    look: async (db, raising) => {
      const found = attack();
      const told = left;
      const raiseOne = (name: string, count: number, content: AlertContent): Promise<boolean> =>
        db.transaction().execute((trx) => raiseCondition(trx, { name, grade: 1, count }, content, raising));
      if (found !== null) {
        await raiseOne(ATTACK, 1, found);
        await noteSeen(db, ATTACK, raising.now);
      }
      if (told.length > 0) await raiseOne(LEFT, told.length, leftText(told));
      else if (told !== endedFor) await endConditions(db, [LEFT]);
      endedFor = told;
      if (clock() - begunMs < HOUR_MS) return;
      // A quiet hour ends it, without a word, if it was quiet for every process that serves.
      if (found === null) await endUnseen(db, ATTACK, new Date(raising.now.getTime() - HOUR_MS));
      refusals = new Map();
      begunMs = clock();
    },
  };
}

const leftText = (left: ProcessReport['left']): AlertContent => ({
  ...ABOUT_NO_MERCHANT,
  kind: 'key-problem',
  title: `${counted(left.length, 'notification')} of the platform cannot be opened or looked at`,
  sentences: firstSentences(
    left.map(({ number, problem }) => `Notification ${number}: ${problem}`),
    '`daybook notifications`',
  ),
  todo: 'put the key that is named back into DAYBOOK_SECRET_KEYS, behind the one in use; `daybook notifications` shows what is left',
});
