/** Words as reasons which published days were revised, and which published files were missing, altered or not ours. Pure. */
import type { RevisedDay } from '../../store/statements/record-published.ts';
import { EXIT, type Reason } from './exit-codes.ts';
import type { LeftOutFormat } from '../../statements/new-revisions.ts';
import type { RepairReport, UnrepairedFile } from '../../statements/repair-files.ts';
import type { PublishOutcome } from '../report.ts';

const NAMED_MAX = 10;

/**
 * One reason for days whose entries or figures changed, which needs a person. Another one for days of which only the
 * source of the opening changed. Each revised day is reported by one run only: the one that published it or, if that
 * was killed, a later one.
 */
export function reasonsOfRevised(revised: readonly RevisedDay[], runId: number): Reason[] {
  const proven = revised.filter((one) => !isExpected(one));
  const others = proven.filter(({ readsTheSame }) => !readsTheSame);
  const same = proven.filter(({ readsTheSame }) => readsTheSame);
  return [
    ...reasonOf(others, runId, {
      exitCode: EXIT.needsPerson,
      how: 'revised',
      todo: 'where figures of an earlier revision were used, download these days again',
    }),
    ...reasonOf(same, runId, {
      exitCode: EXIT.done,
      how: 'revised with the same entries and figures',
      todo: null,
    }),
    ...reasonsOfClosed(
      proven,
      EXIT.needsPerson,
      (days) => `${days} of these ${days === 1 ? 'adjusts a closed month' : 'adjust closed months'}`,
    ),
    ...reasonsOfClosed(
      revised.filter(isExpected),
      EXIT.done,
      (days) =>
        `${days === 1 ? '1 day that was open when its month was closed is' : `${days} days that were open when their month was closed are`} ` +
        'published now and not in the close',
    ),
  ];
}

/** First published after its month was closed although the day was open: nothing that was proven has changed. */
const isExpected = ({ wasOpenAtClose = false }: RevisedDay): boolean => wasOpenAtClose;

/** Closed months that were adjusted, each once. Reported even if a reader sees no difference: its list of hashes changed. */
function reasonsOfClosed(
  revised: readonly RevisedDay[],
  exitCode: Reason['exitCode'],
  textOf: (days: number) => string,
): Reason[] {
  const closed = revised.filter(({ closeNumber = null }) => closeNumber !== null);
  const months = new Map(
    closed.map(({ merchantNo, day, closeNumber }) => {
      const month = day.slice(0, 'YYYY-MM'.length);
      return [`${merchantNo} ${month}`, { merchantNo, month, closeNumber }] as const;
    }),
  );
  const [first] = months.values();
  if (first === undefined) return [];
  const named = [...months].slice(0, NAMED_MAX).map(([name, one]) => `${name} (close ${one.closeNumber})`);
  const more = months.size > NAMED_MAX ? `; and ${months.size - NAMED_MAX} more` : '';
  return [
    {
      exitCode: closed.every(({ readsTheSame }) => readsTheSame) ? EXIT.done : exitCode,
      what: `${textOf(closed.length)}: ${named.join('; ')}${more}`,
      todo: `\`daybook close --list\` shows what changed; \`daybook close ${first.month} --merchant ${first.merchantNo}\` makes the next close`,
    },
  ];
}

function reasonOf(
  days: readonly RevisedDay[],
  runId: number,
  { exitCode, how, todo }: Pick<Reason, 'exitCode' | 'todo'> & { readonly how: string },
): Reason[] {
  if (days.length === 0) return [];
  const named = days.slice(0, NAMED_MAX).map(nameOf).join('; ');
  const more = days.length > NAMED_MAX ? `; and ${days.length - NAMED_MAX} more` : '';
  const others = days.filter((one) => one.runId !== runId);
  const backfilled = others.filter(({ isOfBackfill = false }) => isOfBackfill).length;
  const earlier = others.length - backfilled;
  const before =
    (backfilled === 0 ? '' : `, ${backfilled} of them by a backfill`) +
    (earlier === 0 ? '' : `, ${earlier} of them by a run that ended before its report`);
  const what = days.length === 1 ? '1 published day was' : `${days.length} published days were`;
  return [{ exitCode, what: `${what} ${how}${before}: ${named}${more}`, todo }];
}

function nameOf({
  merchantNo,
  currency,
  day,
  oldRevision,
  revision,
  oldRows,
  rows,
  reason,
  closeNumber = null,
}: RevisedDay): string {
  const name = `${merchantNo} ${currency} ${day}`;
  if (oldRevision === null && closeNumber !== null)
    return `${name} to r${revision} with ${rows} entries, as it was not published when its month was closed`;
  if (oldRevision === null) {
    return `${name} to r${revision}, as the platform stated 0 entries when the day was read before, and states ${rows} now`;
  }
  const held = rows > oldRows ? `, r${oldRevision} held ${oldRows} where ${rows} were due` : '';
  return `${name} from r${oldRevision} to r${revision} (${reason ?? 'entries changed'}${held})`;
}

/** Most files that get a sentence. A complete bucket may be gone; the count covers all files. */
const FILES_NAMED_MAX = 20;

/**
 * One reason for each file that cannot be repaired, which needs a person, and one reason for all that were repaired.
 */
export function reasonsOfRepair({ repaired, unrepaired }: RepairReport): Reason[] {
  const isAhead = ({ ahead }: UnrepairedFile): boolean => ahead !== undefined;
  const own = unrepaired.filter((one) => !isAhead(one));
  const lost = own
    .slice(0, FILES_NAMED_MAX)
    .map(({ key, damage, why }) => `${key} is ${damage} in the store: ${why}.`);
  if (own.length > FILES_NAMED_MAX) {
    lost.push(`${own.length - FILES_NAMED_MAX} more files are missing or altered and cannot be made again.`);
  }
  return [
    ...reasonsOfAhead(unrepaired.filter(isAhead)),
    ...lost.map((what) => ({ exitCode: EXIT.needsPerson, what, todo: null })),
    ...(repaired.length > 0
      ? [
          {
            exitCode: EXIT.done,
            what: repairedSentence(repaired),
            todo: 'see what else writes or deletes in the store',
          },
        ]
      : []),
  ];
}

const DAYS_AHEAD_NAMED_MAX = 3;

/** One reason for all days whose manifests in the store are later than this database; their signatures go with them. */
function reasonsOfAhead(files: readonly UnrepairedFile[]): Reason[] {
  const days = new Map(files.map((one) => [`${one.merchantNo} ${one.day}`, one.ahead!]));
  if (days.size === 0) return [];
  const named = [...days]
    .slice(0, DAYS_AHEAD_NAMED_MAX)
    .map(([day, { revision, known }]) => `${day} (revision ${revision}, here ${known})`);
  const more = days.size > named.length ? `, and ${days.size - named.length} more` : '';
  const what =
    days.size === 1
      ? '1 day’s manifest in the store has a higher revision than this database knows'
      : `the manifests of ${days.size} days in the store have higher revisions than this database knows`;
  return [
    {
      exitCode: EXIT.needsPerson,
      what: `${what}: another database wrote there, or this one was restored from a backup: ${named.join(', ')}${more}`,
      todo:
        'bring back the newer database, take the store over with `daybook statements adopt`, or publish under another prefix of ' +
        'STATEMENTS_URL; until then they stay as they are',
    },
  ];
}

/** One reason for all manifests that are not ours. */
export function reasonsOfForeign({ foreign }: Pick<PublishOutcome, 'foreign'>): Reason[] {
  if (foreign.length === 0) return [];
  const named = foreign
    .slice(0, FILES_NAMED_MAX)
    .map(({ key, revision, sha256 }) => `${key} (revision ${revision}, SHA-256 ${sha256})`);
  const more = foreign.length > FILES_NAMED_MAX ? `, and ${foreign.length - FILES_NAMED_MAX} more` : '';
  return [
    {
      exitCode: EXIT.needsPerson,
      what:
        `${foreign.length === 1 ? 'a manifest' : `${foreign.length} manifests`} lay in the store that this database does ` +
        `not know and our key did not sign; ours took the place: ${named.join(', ')}${more}`,
      todo:
        'see who else writes to the store, and compare the earlier version there; after a restore, or with a new key, it may ' +
        'be our own',
    },
  ];
}

function repairedSentence(repaired: RepairReport['repaired']): string {
  const one = repaired.length === 1;
  const named = repaired.slice(0, FILES_NAMED_MAX).map(({ key, damage }) => `${key} (${damage})`);
  const more = repaired.length > FILES_NAMED_MAX ? `, and ${repaired.length - FILES_NAMED_MAX} more` : '';
  return (
    `repaired: ${repaired.length} published ${one ? 'file was' : 'files were'} missing or altered in the store, and ` +
    `${one ? 'lies' : 'lie'} there again as published: ${named.join(', ')}${more}`
  );
}

export function reasonsOfLeftOut(leftOut: readonly LeftOutFormat[]): Reason[] {
  const reported = leftOut.slice(0, FILES_NAMED_MAX).map(({ why }) => why);
  if (leftOut.length > FILES_NAMED_MAX)
    reported.push(`${leftOut.length - FILES_NAMED_MAX} more files cannot be written in their formats.`);
  return reported.map((what) => ({
    exitCode: EXIT.needsPerson,
    what,
    todo: 'the day is published without this file; DAYBOOK_STATEMENT_FORMATS says which are made',
  }));
}
