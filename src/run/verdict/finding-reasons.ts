/** Words what was found of merchants as reasons: breaks of one cause, changes of many entries, what is held, days that differ, and who is not read. Pure. */
import { SILENT_DAYS_MAX } from '../../ledger/silence.ts';
import type { SilentAccount } from '../../store/silent-accounts.ts';
import { moneyText } from '../../ledger/money.ts';
import { counted, shellWord } from '../../ledger/text.ts';
import { isCauseKnown, storiesOf } from '../../ledger/hints/stories.ts';
import { knownBreak, type BreakRow } from '../../store/breaks/breaks.ts';
import { EXIT, needsPerson, ofMerchant, type Reason, type ExitCode } from './exit-codes.ts';
import type { DayRange } from '../range.ts';
import { netOf } from '../../ledger/common-change.ts';
import type { MerchantCommonChange, MovedBalances } from '../../store/amendments.ts';
import type { HeldDay } from '../../store/absent-entries.ts';
import { wallSecond } from '../../ledger/wall-time.ts';
import type { Discrepancy } from '../proven.ts';

/** Most causes that get a sentence; `daybook breaks` lists all. */
const CAUSES_NAMED_MAX = 5;

/** One reason for each common cause of breaks. Breaks whose cause is not known are counted elsewhere. */
export function reasonsOfCauses(opened: readonly BreakRow[]): Reason[] {
  const stories = storiesOf(opened.map(knownBreak).filter(isCauseKnown));
  const reasons = stories
    .slice(0, CAUSES_NAMED_MAX)
    .map(({ breaks, where, cause }) =>
      needsPerson(
        `${counted(breaks.length, 'break')} of ${where}: ${cause.replace(/\.$/, '')}`,
        'send this sentence to the platform',
      ),
    );
  const more = stories.length - reasons.length;
  if (more > 0) reasons.push(needsPerson(`breaks of ${counted(more, 'more cause')}: see \`daybook breaks\``));
  return reasons;
}

/** `2026-01-01`, `2026-01-01 to 2026-01-09`. */
export const spanName = ({ from, to }: DayRange): string => (from === to ? from : `${from} to ${to}`);

/** The exit code of the run comes from what was found of the single entries and windows. */
export const reasonOfCommon = ({ merchantNo, count, of, what, ...days }: MerchantCommonChange): Reason =>
  ofMerchant(
    EXIT.needsPerson,
    merchantNo,
    `${count === of ? `${count} entries` : `${count} of ${of} changed entries`} of ${spanName(days)} ${what}`,
    'send this sentence to the platform: it is one change over many entries, not one of each entry',
  );

const MOVED_WORDS: Readonly<
  Record<MovedBalances['kind'], readonly [begin: string, then: string, todo: string]>
> = {
  late: ['late entry', 'moved', 'ask the platform why the entry came late'],
  vanished: [
    'entry',
    'vanished and moved',
    'ask the platform why it no longer shows it; it is kept, and left out of the chain',
  ],
  amended: ['amended entry', 'moved', 'ask the platform why it changed a booked entry'],
};

export function reasonOfMoved({ merchantNo, kind, entry, moved }: MovedBalances): Reason {
  const [begin, then, todo] = MOVED_WORDS[kind];
  const { batchNo, bookedAt, currency } = entry;
  const net = netOf(entry);
  const [side, size] = net.startsWith('-') ? ['debit', net.slice(1)] : ['credit', net];
  const what =
    `${begin} ${batchNo} of ${bookedAt.slice(0, 10)}, a ${side} of ${moneyText(size, currency)}, ${then} ` +
    counted(moved, 'later balance');
  return ofMerchant(EXIT.needsPerson, merchantNo, what, todo);
}

/** One for each account. `days` are in order of accounts and days. */
export function reasonsOfHeld(days: readonly HeldDay[], zone: string): Reason[] {
  const byAccount = Map.groupBy(days, ({ merchantNo, currency }) => `${merchantNo} ${currency}`);
  return [...byAccount].map(([account, own]) => {
    const [{ merchantNo, currency, day: from }, to] = [own[0]!, own.at(-1)!.day];
    const entries = own.reduce((sum, one) => sum + one.entries, 0);
    const since = Math.min(...own.map((one) => one.since.getTime()));
    const command = `daybook amendments accept --merchant ${shellWord(merchantNo)} --currency ${currency} --from ${from} --to ${to} --note TEXT`;
    const isAccepted = own.every(({ acceptedAt }) => acceptedAt !== null);
    return {
      exitCode: EXIT.incomplete,
      what:
        `${account} ${spanName({ from, to })}: ${counted(entries, 'entry is', 'entries are')} gone all at the same time, ` +
        `since ${wallSecond(since, zone)}; they are held, and the published statements stay as they are`,
      todo: isAccepted
        ? 'accepted: the next run that does not find them marks them as vanished'
        : `ask the platform; if it removed them for good, \`${command}\`. If they come back, the hold ends by itself`,
      merchantNo,
      ...(!isAccepted && { awaitsPerson: true }),
    };
  });
}

/** An account that no longer moves, whether it ended or the platform shows a frozen state. */
export const reasonOfSilent = ({ merchantNo, currency, ...silent }: SilentAccount): Reason => {
  const { newestDay, newestEntry, usualUntil, isOfAll, days, longest, from, to } = silent;
  const before =
    longest === 0
      ? 'before, no such day was without entries'
      : `before, never for more than ${counted(longest, 'such day')}`;
  const isCut = days === 0 && usualUntil !== null;
  const whatIsOdd = isOfAll
    ? `no account of this merchant has an entry after ${newestEntry}, which is too early for what was usual before`
    : isCut
      ? `the newest entry is of ${newestEntry}; on each comparable day before, entries came until at least ${usualUntil}`
      : `the newest entry is unchanged since ${newestDay}, for ${counted(days, 'day')} on which entries were due; ${before}`;
  const command = `daybook amendments accept --merchant ${shellWord(merchantNo)} --currency ${currency}`;
  return {
    exitCode: EXIT.incomplete,
    what:
      `${merchantNo} ${currency} ${spanName({ from, to })}: ${whatIsOdd}. The platform may answer from a frozen state, so ` +
      `${from === to ? 'this day is' : 'these days are'} not proven and not published; a statement that was published before stays`,
    todo:
      `ask the platform for entries after ${newestEntry}; with the next entry this ends by itself. If nothing was booked, ` +
      `\`${command} --note TEXT\`; without that, the silence is believed after ${SILENT_DAYS_MAX} days`,
    merchantNo,
    awaitsPerson: true,
  };
};

const WORDS: Readonly<
  Record<
    Discrepancy['what'],
    readonly [exitCode: ExitCode, what: string, command: 'run' | 'publish' | 'backfill' | 'quarantine']
  >
> = {
  'no-figures': [EXIT.incomplete, 'proven without figures', 'run'],
  'no-statement': [EXIT.incomplete, 'proven without an up-to-date statement', 'publish'],
  'not-read': [EXIT.needsPerson, 'with an adopted statement that this database has not read', 'backfill'],
  'in-doubt': [
    EXIT.incomplete,
    'published, and not proven any more: a later reading failed, or entries are absent',
    'run',
  ],
  'no-opening': [
    EXIT.needsPerson,
    'proven to have no entries, and without a statement, as the balance before is not known',
    'run',
  ],
  unreadable: [EXIT.needsPerson, 'without an up-to-date statement, as entries cannot be read', 'quarantine'],
};

export const exitCodeOfDiscrepancy = ({ what }: Discrepancy): ExitCode => WORDS[what][0];

export function reasonOfDiscrepancy({ merchantNo, currency, what, days, unread }: Discrepancy): Reason {
  const [exitCode, words, command] = WORDS[what];
  const own = { from: days[0]!, to: days.at(-1)! };
  const { from, to } = unread ?? own;
  const since =
    unread === undefined ? '' : `; ${spanName(unread)} ${from === to ? 'is' : 'are'} not read completely`;
  return {
    exitCode,
    what: `${merchantNo} ${currency}: ${counted(days.length, 'day')} ${words}: ${spanName(own)}${since}`,
    todo:
      command === 'quarantine'
        ? CLEAR_UP_UNREADABLE
        : `\`daybook ${command} --from ${from} --to ${to} --merchant ${shellWord(merchantNo)}\``,
    merchantNo,
  };
}

export const CLEAR_UP_UNREADABLE =
  '`daybook quarantine` lists the entries: once the platform sends them readable, the next run publishes the day; ' +
  'after `daybook quarantine acknowledge ID --note TEXT` it publishes the day without them';

export const howToReadOrDisable = (merchantNo: string): string =>
  `give it its token with \`daybook merchants add --merchant-no ${shellWord(merchantNo)} --token-stdin\`; where it has left, ` +
  `\`daybook merchants disable ${shellWord(merchantNo)}\` puts that on record`;

export const notReadText = (merchantNo: string): string =>
  `${merchantNo} is not read, though it is active or has a ledger here: neither the settings nor the database have its token`;

export const reasonOfNotRead = (merchantNo: string): Reason => ({
  exitCode: EXIT.incomplete,
  what: notReadText(merchantNo),
  todo: howToReadOrDisable(merchantNo),
  merchantNo,
  awaitsPerson: true,
});
