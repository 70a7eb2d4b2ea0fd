/** Words what the end of a run tells people: from its reasons and from what was noted while it worked. Pure. */
import { moneyText } from '../../ledger/money.ts';
import { type AlertContent, firstOf, firstSentences, NAMED_MAX } from '../../alerts/alert.ts';
import { counted } from '../../ledger/text.ts';
import { wallTime } from '../../ledger/wall-time.ts';
import type { Downloaded } from '../../store/alerts/downloads.ts';
import type { BreakEvent, RevisedEvent, TokenEvent } from '../../store/alerts/events.ts';
import { EXIT, isGoodEnd } from '../verdict/exit-codes.ts';
import type { Reason } from '../verdict/reason.ts';

/** The end of a run, as far as alerts are concerned. */
export interface RunEnded {
  readonly runId: number;
  readonly exitCode: number;
  readonly reasons: readonly Reason[];
  /** Business days; null if the run is about none. */
  readonly from: string | null;
  readonly to: string | null;
}

/** Merchants for whom a run is not done. */
export interface Undone {
  readonly count: number;
  /** The first few. */
  readonly merchants: readonly string[];
}

const distinct = (names: readonly string[]): string[] => [...new Set(names)];

const daysOf = ({ from, to }: RunEnded): string[] =>
  distinct([from, to].filter((day): day is string => day !== null));

/** A run that did not end well. */
export function runFailed(ended: RunEnded, undone: Undone): AlertContent {
  const { runId, exitCode, reasons } = ended;
  const grave = reasons.filter((reason) => !isGoodEnd(reason.exitCode));
  const how = exitCode === EXIT.fault ? 'internal error' : 'incomplete';
  const who = undone.count === 0 ? '' : `, ${counted(undone.count, 'merchant is', 'merchants are')} not done`;
  const todos = distinct(grave.flatMap(({ todo }) => todo ?? []));
  return {
    kind: 'failed-night',
    title: `run ${runId} failed (exit ${exitCode}, ${how})${who}`,
    sentences: [
      ...(undone.count === 0 ? [] : [`Not done: ${firstOf(undone.merchants, undone.count)}.`]),
      ...firstSentences(distinct(grave.map(({ what }) => what)), `\`daybook runs ${runId}\``),
    ],
    todo:
      todos[0] ??
      `see \`daybook runs ${runId}\`; the schedule tries again by itself, and what is certified is kept`,
    merchants: undone.merchants,
    merchantCount: undone.count,
    days: daysOf(ended),
    since: null,
    runId,
  };
}

/** A run whose process was killed. */
export const runKilled = (run: {
  readonly id: number;
  readonly command: string;
  readonly startedAt: Date;
  readonly zone: string;
}): AlertContent => ({
  kind: 'failed-night',
  title: `run ${run.id} (${run.command}) was killed`,
  sentences: [
    `It began ${wallTime(run.startedAt.getTime(), run.zone)} (${run.zone}) and was killed, or its machine went down, before ` +
      'it could record an end.',
  ],
  todo: '`daybook schedule` runs it again by itself; elsewhere start `daybook run`, which takes up from there',
  merchants: [],
  merchantCount: 0,
  days: [],
  since: null,
  runId: run.id,
});

/** A good run after trouble that was reported. */
export const recovered = (ended: RunEnded, since: Date, zone: string): AlertContent => ({
  kind: 'recovered',
  title: `run ${ended.runId} ended well, after trouble since ${wallTime(since.getTime(), zone)}`,
  sentences: [
    `The failure reported since ${wallTime(since.getTime(), zone)} (${zone}) is over: all merchants are done.`,
  ],
  todo: 'nothing; `daybook status` shows where every merchant stands',
  merchants: [],
  merchantCount: 0,
  days: daysOf(ended),
  since,
  runId: ended.runId,
});

/** Breaks that were found. */
export function newBreaks(breaks: readonly BreakEvent[], runId: number): AlertContent {
  const merchants = distinct(breaks.map(({ merchantNo }) => merchantNo));
  return {
    kind: 'new-break',
    title: `${counted(breaks.length, 'new break')} of ${firstOf(merchants)}`,
    sentences: firstSentences(
      breaks.map(
        ({ id, merchantNo, currency, day, missingNet }) =>
          `Break ${id}: ${merchantNo} ${currency} ${day}, unexplained difference: ${moneyText(missingNet, currency)}.`,
      ),
      '`daybook breaks`',
    ),
    todo: '`daybook breaks show ID` has the message to the platform; a jump that is right is closed with `daybook breaks resolve`',
    ...whose(breaks),
    since: null,
    runId,
  };
}

const whose = (
  days: readonly { readonly merchantNo: string; readonly day: string }[],
): Pick<AlertContent, 'merchants' | 'merchantCount' | 'days'> => {
  const merchants = distinct(days.map(({ merchantNo }) => merchantNo));
  return {
    merchants: merchants.slice(0, NAMED_MAX),
    merchantCount: merchants.length,
    days: distinct(days.map(({ day }) => day))
      .sort()
      .slice(0, NAMED_MAX),
  };
};

const revisedText = ({ merchantNo, currency, day, oldRevision, revision, reason }: RevisedEvent): string =>
  `${merchantNo} ${currency} ${day} ${oldRevision === null ? 'is' : `went from r${oldRevision} to`} r${revision}` +
  (reason === null ? '' : ` (${reason})`);

/** Published days that were revised, and that no one had downloaded, as far as that is known. */
export const amendments = (
  revised: readonly RevisedEvent[],
  { runId, isDownloadKnown }: { readonly runId: number; readonly isDownloadKnown: boolean },
): AlertContent => ({
  kind: 'amendment',
  title: `${counted(revised.length, 'published day was', 'published days were')} revised`,
  sentences: [
    ...firstSentences(
      revised.map((one) => `${revisedText(one)}.`),
      '`daybook statements list --all`',
    ),
    ...(isDownloadKnown
      ? []
      : [
          'Whether somebody had downloaded them could not be found out now: `daybook audit` lists downloads.',
        ]),
  ],
  todo: '`daybook statements diff DAY` shows each row that changed; ask the platform about entries it changed after booking',
  ...whose(revised),
  since: null,
  runId,
});

/** Published days that were revised after somebody had downloaded them. */
export function revisedDownloads(
  revised: readonly RevisedEvent[],
  downloads: readonly Downloaded[],
  { runId, zone }: { readonly runId: number; readonly zone: string },
): AlertContent {
  const times = new Map(downloads.map((one) => [nameOf(one), one]));
  return {
    kind: 'revised-download',
    title: `${counted(revised.length, 'day')} that somebody had downloaded ${revised.length === 1 ? 'was' : 'were'} revised`,
    sentences: firstSentences(
      revised.map((one) => {
        const { times: count, lastAt } = times.get(nameOf(one))!;
        return `${revisedText(one)}; downloaded ${counted(count, 'time')}, last ${wallTime(lastAt.getTime(), zone)} (${zone}).`;
      }),
      '`daybook statements list --all`',
    ),
    todo: '`daybook audit` says who downloaded them: these figures are out of date, download the days again',
    ...whose(revised),
    since: null,
    runId,
  };
}

/** An account day as one text, to tell which revised days were downloaded. */
export const nameOf = ({ merchantNo, currency, day }: Omit<Downloaded, 'times' | 'lastAt'>): string =>
  `${merchantNo} ${currency} ${day}`;

/** Merchants whose tokens do not work. */
export const tokensRefused = (tokens: readonly TokenEvent[], runId: number): AlertContent => ({
  kind: 'key-problem',
  title: `the ${tokens.length === 1 ? 'token' : 'tokens'} of ${firstOf(tokens.map(({ merchantNo }) => merchantNo))} cannot be used`,
  sentences: firstSentences(
    tokens.map(({ merchantNo, problem }) => `${merchantNo}: ${problem}`),
    `\`daybook runs ${runId}\``,
  ),
  todo:
    'give each a token that works: `daybook merchants add --merchant-no NO --token-stdin`; where a key is named, put it ' +
    'back into DAYBOOK_SECRET_KEYS',
  merchants: tokens.slice(0, NAMED_MAX).map(({ merchantNo }) => merchantNo),
  merchantCount: tokens.length,
  days: [],
  since: null,
  runId,
});
