/** Words what alerts tell people: of the end of a run, of what was noted meanwhile, and of work that could not begin. Pure. */
import { moneyText } from '../../ledger/money.ts';
import { ABOUT_NO_MERCHANT, type AlertContent, firstSentences, NAMED_MAX } from '../../alerts/alert.ts';
import { counted, firstNamed } from '../../ledger/text.ts';
import { wallTime } from '../../ledger/wall-time.ts';
import type { BreakEvent, Downloaded, RevisedEvent, TokenEvent } from './alert-events.ts';
import { EXIT, isGoodEnd, exitCodeOf, type Reason } from '../verdict/exit-codes.ts';
import type { Condition } from '../../alerts/outbox.ts';
import { SecretKeyWrong } from '../../store/secrets/key-check.ts';
import { SecretUnreadable, UnknownSecretKey } from '../../store/secrets/secrets.ts';

/** Trouble with nights. A good one ends all of it. */
export const NIGHT = 'night';
export const MISSED = 'missed';
export const KEYS = 'keys';

/** How grave a failed night is: a fault more than anything else. */
export const gradeOf = (exitCode: number | null): number => (exitCode === EXIT.fault ? 2 : 1);

export interface RunEnded {
  readonly runId: number;
  readonly exitCode: number;
  readonly reasons: readonly Reason[];
  /** Business days; null if the run is about none. */
  readonly from: string | null;
  readonly to: string | null;
}

export interface Undone {
  readonly count: number;
  readonly merchants: readonly string[];
}

const distinct = (names: readonly string[]): string[] => [...new Set(names)];

const daysOf = ({ from, to }: RunEnded): string[] => distinct([from, to].filter((day) => day !== null));

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
      ...(undone.count === 0 ? [] : [`Not done: ${firstNamed(undone.merchants, NAMED_MAX, undone.count)}.`]),
      ...firstSentences(distinct(grave.map(({ what }) => what)), `\`daybook runs ${runId}\``),
    ],
    todo:
      todos[0] ??
      `see \`daybook runs ${runId}\`; the schedule tries again by itself, and what is certified is kept`,
    ...{ merchants: undone.merchants, merchantCount: undone.count },
    ...{ days: daysOf(ended), since: null, runId },
  };
}

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
  ...ABOUT_NO_MERCHANT,
  runId: run.id,
});

export const recovered = (ended: RunEnded, since: Date, zone: string): AlertContent => ({
  kind: 'recovered',
  title: `run ${ended.runId} ended well, after trouble since ${wallTime(since.getTime(), zone)}`,
  sentences: [
    `The failure reported since ${wallTime(since.getTime(), zone)} (${zone}) is over: all merchants are done.`,
  ],
  todo: 'nothing; `daybook status` shows where every merchant stands',
  ...ABOUT_NO_MERCHANT,
  days: daysOf(ended),
  since,
  runId: ended.runId,
});

export function newBreaks(breaks: readonly BreakEvent[], runId: number): AlertContent {
  const merchants = distinct(breaks.map(({ merchantNo }) => merchantNo));
  return {
    kind: 'new-break',
    title: `${counted(breaks.length, 'new break')} of ${firstNamed(merchants, NAMED_MAX)}`,
    sentences: firstSentences(
      breaks.map(
        ({ id, merchantNo, currency, day, missingNet }) =>
          `Break ${id}: ${merchantNo} ${currency} ${day}, unexplained difference: ${moneyText(missingNet, currency)}.`,
      ),
      '`daybook breaks`',
    ),
    todo: '`daybook breaks show ID` has the message to the platform; a jump that is right is closed with `daybook breaks resolve`',
    ...foundBy(runId, breaks),
  };
}

/** Whose days a run's alert is about, the first of them by name. */
function foundBy(runId: number, all: readonly { readonly merchantNo: string; readonly day?: string }[]) {
  const merchants = distinct(all.map(({ merchantNo }) => merchantNo));
  const days = distinct(all.flatMap(({ day }) => day ?? [])).sort();
  return {
    ...{ merchants: merchants.slice(0, NAMED_MAX), merchantCount: merchants.length },
    ...{ days: days.slice(0, NAMED_MAX), since: null, runId },
  };
}

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
  ...foundBy(runId, revised),
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
    ...foundBy(runId, revised),
  };
}

/** An account day as one text, to tell which revised days were downloaded. */
export const nameOf = ({ merchantNo, currency, day }: Omit<Downloaded, 'times' | 'lastAt'>): string =>
  `${merchantNo} ${currency} ${day}`;

export const tokensRefused = (tokens: readonly TokenEvent[], runId: number): AlertContent => ({
  kind: 'key-problem',
  title: `the ${tokens.length === 1 ? 'token' : 'tokens'} of ${firstNamed(
    tokens.map(({ merchantNo }) => merchantNo),
    NAMED_MAX,
  )} cannot be used`,
  sentences: firstSentences(
    tokens.map(({ merchantNo, problem }) => `${merchantNo}: ${problem}`),
    `\`daybook runs ${runId}\``,
  ),
  todo:
    'give each a token that works: `daybook merchants add --merchant-no NO --token-stdin`; where a key is named, put it ' +
    'back into DAYBOOK_SECRET_KEYS',
  ...foundBy(runId, tokens),
});

const KEY_PROBLEMS = [SecretKeyWrong, SecretUnreadable, UnknownSecretKey];

/** What could not begin: a night, or the taking in of results. */
export type NotBegun = 'night' | 'serve';

/** Trouble with `serve`. It is over once one listens. */
export const SERVE = 'serve';

export function notStarted(
  error: unknown,
  what: NotBegun = 'night',
): { readonly condition: Condition; readonly content: AlertContent } {
  const exitCode = exitCodeOf(error);
  const isKey = KEY_PROBLEMS.some((kind) => error instanceof kind);
  const sentence =
    exitCode === EXIT.fault
      ? 'Internal error; the log says more.'
      : error instanceof Error
        ? error.message
        : String(error);
  const name = isKey ? KEYS : what === 'serve' ? SERVE : NIGHT;
  const headline = isKey ? KEY_PROBLEM : ABOUT[what](exitCode);
  return {
    condition: { name, grade: gradeOf(exitCode), count: 0 },
    content: { ...headline, sentences: [sentence], ...ABOUT_NO_MERCHANT },
  };
}

type Headline = Pick<AlertContent, 'kind' | 'title' | 'todo'>;

const KEY_PROBLEM: Headline = {
  kind: 'key-problem',
  title: 'DAYBOOK_SECRET_KEYS does not open what is stored',
  todo: 'put the key that the sentence names back into DAYBOOK_SECRET_KEYS; until then no run begins',
};

const ABOUT: Readonly<Record<NotBegun, (exitCode: number) => Headline>> = {
  night: (exitCode) => ({
    kind: 'failed-night',
    title: `daybook could not begin (exit ${exitCode})`,
    todo: '`daybook doctor` names the problem and its fix; nothing was changed',
  }),
  serve: (exitCode) => ({
    kind: 'not-serving',
    title: `daybook serve could not begin (exit ${exitCode})`,
    todo: 'fix what the sentence names and start `daybook serve` again; the platform repeats unanswered pushes',
  }),
};
