/** Words as reasons which published days were revised, and which published files were missing, altered or not ours. Pure. */
import { shellWord } from '../../ledger/text.ts';
import type { RevisedDay } from '../../store/statements/record-published.ts';
import { EXIT, type Reason, listed, needsPerson } from './exit-codes.ts';
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
  // First published after its month was closed although the day was open: nothing that was proven has changed.
  const { expected = [], proven = [] } = Object.groupBy(revised, ({ wasOpenAtClose }) =>
    wasOpenAtClose === true ? 'expected' : 'proven',
  );
  const isSame = ({ readsTheSame }: RevisedDay): boolean => readsTheSame;
  const todo = 'where figures of an earlier revision were used, download these days again';
  return [
    ...reasonOfDays(
      EXIT.needsPerson,
      'revised',
      proven.filter((one) => !isSame(one)),
      runId,
      todo,
    ),
    ...reasonOfDays(EXIT.done, 'revised with the same entries and figures', proven.filter(isSame), runId),
    ...reasonsOfClosed(
      proven,
      EXIT.needsPerson,
      (days) => `${days} of these ${days === 1 ? 'adjusts a closed month' : 'adjust closed months'}`,
    ),
    ...reasonsOfClosed(
      expected,
      EXIT.done,
      (days) =>
        `${days === 1 ? '1 day that was open when its month was closed is' : `${days} days that were open when their month was closed are`} ` +
        'published now and not in the close',
    ),
  ];
}

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
  const named = listed([...months], ([name, one]) => `${name} (close ${one.closeNumber})`, NAMED_MAX, '; ');
  return [
    {
      exitCode: closed.every(({ readsTheSame }) => readsTheSame) ? EXIT.done : exitCode,
      what: `${textOf(closed.length)}: ${named}`,
      todo: `\`daybook close --list\` shows what changed; \`daybook close ${first.month} --merchant ${shellWord(first.merchantNo)}\` makes the next close`,
    },
  ];
}

function reasonOfDays(
  exitCode: Reason['exitCode'],
  how: string,
  days: readonly RevisedDay[],
  runId: number,
  todo: string | null = null,
): Reason[] {
  if (days.length === 0) return [];
  const others = days.filter((one) => one.runId !== runId);
  const backfilled = others.filter(({ isOfBackfill = false }) => isOfBackfill).length;
  const earlier = others.length - backfilled;
  const before =
    (backfilled === 0 ? '' : `, ${backfilled} of them by a backfill`) +
    (earlier === 0 ? '' : `, ${earlier} of them by a run that ended before its report`);
  const what = days.length === 1 ? '1 published day was' : `${days.length} published days were`;
  return [{ exitCode, what: `${what} ${how}${before}: ${listed(days, nameOf, NAMED_MAX, '; ')}`, todo }];
}

function nameOf(revised: RevisedDay): string {
  const { oldRevision, revision, oldRows, rows, closeNumber = null } = revised;
  const name = `${revised.merchantNo} ${revised.currency} ${revised.day}`;
  if (oldRevision === null && closeNumber !== null)
    return `${name} to r${revision} with ${rows} entries, as it was not published when its month was closed`;
  if (oldRevision === null) {
    return `${name} to r${revision}, as the platform stated 0 entries when the day was read before, and states ${rows} now`;
  }
  const held = rows > oldRows ? `, r${oldRevision} held ${oldRows} where ${rows} were due` : '';
  return `${name} from r${oldRevision} to r${revision} (${revised.reason ?? 'entries changed'}${held})`;
}

/** Nothing that was published has changed: these days waited for their entries. */
export function reasonsOfReadable({ readableNow }: Pick<PublishOutcome, 'readableNow'>): Reason[] {
  const [first, ...others] = readableNow;
  if (first === undefined) return [];
  const days = others.length === 0 ? '1 day is' : `${readableNow.length} days are`;
  const named = listed(
    readableNow,
    ({ account, day }) => `${account.merchantNo} ${account.currency} ${day}`,
    NAMED_MAX,
    '; ',
  );
  const entries = others.length === 0 ? 'its entries' : 'their entries';
  return [
    {
      exitCode: EXIT.done,
      what: `${days} published for the first time, as ${entries} can be read now: ${named}`,
      todo: 'nothing to do',
    },
  ];
}

/** Most files that get a sentence. A complete bucket may be gone; the count covers all files. */
const FILES_NAMED_MAX = 20;

/** The first of these, one sentence each, and one for all the others. */
function firstFiles<File>(files: readonly File[], textOf: (file: File) => string, others: string): string[] {
  const more = files.length - FILES_NAMED_MAX;
  return [
    ...files.slice(0, FILES_NAMED_MAX).map(textOf),
    ...(more > 0 ? [`${more} more files ${others}`] : []),
  ];
}

/**
 * One reason for each file that cannot be repaired, which needs a person, and one reason for all that were repaired.
 */
export function reasonsOfRepair({ repaired, unrepaired }: RepairReport): Reason[] {
  const isAhead = ({ ahead }: UnrepairedFile): boolean => ahead !== undefined;
  const lost = firstFiles(
    unrepaired.filter((one) => !isAhead(one)),
    ({ key, damage, why }) => `${key} is ${damage} in the store: ${why}.`,
    'are missing or altered and cannot be made again.',
  );
  const isOne = repaired.length === 1;
  const named = listed(repaired, ({ key, damage }) => `${key} (${damage})`, FILES_NAMED_MAX);
  const repairedText =
    `repaired: ${repaired.length} published ${isOne ? 'file was' : 'files were'} missing or altered in the store, and ` +
    `${isOne ? 'lies' : 'lie'} there again as published: ${named}`;
  const todo = 'see what else writes or deletes in the store';
  return [
    ...reasonsOfAhead(unrepaired.filter(isAhead)),
    ...lost.map((what) => needsPerson(what)),
    ...(repaired.length > 0 ? [{ exitCode: EXIT.done, what: repairedText, todo }] : []),
  ];
}

const DAYS_AHEAD_NAMED_MAX = 3;

/** One reason for all days whose manifests in the store are later than this database; their signatures go with them. */
function reasonsOfAhead(files: readonly UnrepairedFile[]): Reason[] {
  const days = new Map(files.map((one) => [`${one.merchantNo} ${one.day}`, one.ahead!]));
  if (days.size === 0) return [];
  const named = listed(
    [...days],
    ([day, { revision, known }]) => `${day} (revision ${revision}, here ${known})`,
    DAYS_AHEAD_NAMED_MAX,
  );
  const what =
    days.size === 1
      ? '1 day’s manifest in the store has a higher revision than this database knows'
      : `the manifests of ${days.size} days in the store have higher revisions than this database knows`;
  return [
    needsPerson(
      `${what}: another database wrote there, or this one was restored from a backup: ${named}`,
      'bring back the newer database, take the store over with `daybook statements adopt`, or publish under another prefix of ' +
        'STATEMENTS_URL; until then they stay as they are',
    ),
  ];
}

export function reasonsOfForeign({ foreign }: Pick<PublishOutcome, 'foreign'>): Reason[] {
  if (foreign.length === 0) return [];
  const named = listed(
    foreign,
    ({ key, revision, sha256 }) => `${key} (revision ${revision}, SHA-256 ${sha256})`,
    FILES_NAMED_MAX,
  );
  return [
    needsPerson(
      `${foreign.length === 1 ? 'a manifest' : `${foreign.length} manifests`} lay in the store that this database does ` +
        `not know and our key did not sign; ours took the place: ${named}`,
      'see who else writes to the store, and compare the earlier version there; after a restore, or with a new key, it may ' +
        'be our own',
    ),
  ];
}

export const reasonsOfLeftOut = (leftOut: readonly LeftOutFormat[]): Reason[] =>
  firstFiles(leftOut, ({ why }) => why, 'cannot be written in their formats.').map((what) =>
    needsPerson(
      what,
      'the day is published without this file; DAYBOOK_STATEMENT_FORMATS says which are made',
    ),
  );
