/** Words what alerts tell people of nights: of the end of a run, and of work that could not begin. Pure. */
import { counted, firstNamed } from '../../ledger/text.ts';
import { wallTime } from '../../ledger/wall-time.ts';
import {
  ABOUT_NO_MERCHANT,
  firstSentences,
  NAMED_MAX,
  type AlertContent,
  type Condition,
  type EndedRun,
  type Purpose,
} from '../../run/alerts.ts';
import { EXIT, isGoodEnd, exitCodeOf } from '../../run/verdict/exit-codes.ts';
import { SecretKeyWrong } from '../../store/secrets/key-check.ts';
import { SecretUnreadable, UnknownSecretKey } from '../../store/secrets/secrets.ts';

/** Trouble with nights. A good one ends all of it. */
export const NIGHT = 'night';
export const MISSED = 'missed';
export const KEYS = 'keys';

/** How grave a failed night is: a fault more than anything else. */
export const gradeOf = (exitCode: number | null): number => (exitCode === EXIT.fault ? 2 : 1);

type RunEnded = Pick<EndedRun, 'runId' | 'job' | 'exitCode' | 'reasons' | 'from' | 'to'>;

export interface Undone {
  readonly count: number;
  readonly merchants: readonly string[];
}

/** `nightly run 7`; the command `run` needs no name in front. */
const runName = (job: string, runId: number): string => `${job === 'run' ? '' : `${job} `}run ${runId}`;

const distinct = (names: readonly string[]): string[] => [...new Set(names)];

const daysOf = ({ from, to }: RunEnded): string[] => distinct([from, to].filter((day) => day !== null));

export function runFailed(ended: RunEnded, undone: Undone): AlertContent {
  const { runId, job, exitCode, reasons } = ended;
  const grave = reasons.filter((reason) => !isGoodEnd(reason.exitCode));
  const how = exitCode === EXIT.fault ? 'internal error' : 'incomplete';
  const who = undone.count === 0 ? '' : `, ${counted(undone.count, 'merchant is', 'merchants are')} not done`;
  const todos = distinct(grave.flatMap(({ todo }) => todo ?? []));
  return {
    kind: 'failed-night',
    title: `${runName(job, runId)} failed (exit ${exitCode}, ${how})${who}`,
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

/** The same of a job that reads no ledger: no day is missing for it. */
export const jobFailed = (content: AlertContent): AlertContent => ({
  ...content,
  kind: 'failed-job',
  todo: 'see `daybook runs ID`; the schedule tries again by itself, and DAYBOOK_SCHEDULE_... set to off stops a job. No day of the ledger is missing for it',
});

export const runKilled = (run: {
  readonly id: number;
  readonly command: string;
  readonly startedAt: Date;
  readonly zone: string;
}): AlertContent => ({
  kind: 'failed-night',
  title: `${runName(run.command, run.id)} was killed`,
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
  title: `${runName(ended.job, ended.runId)} ended well, after trouble since ${wallTime(since.getTime(), zone)}`,
  sentences: [
    `The failure reported since ${wallTime(since.getTime(), zone)} (${zone}) is over: all merchants are done.`,
  ],
  todo: 'nothing; `daybook status` shows where every merchant stands',
  ...ABOUT_NO_MERCHANT,
  days: daysOf(ended),
  since,
  runId: ended.runId,
});

const KEY_PROBLEMS = [SecretKeyWrong, SecretUnreadable, UnknownSecretKey];

/** Trouble with the beginning of each. That of `serve` and of a worker is over once one begins, that of nights with a good one. */
export const NOT_STARTED: Readonly<Record<Purpose, string>> = {
  night: NIGHT,
  worker: 'worker',
  serve: 'serve',
};

export function notStarted(
  error: unknown,
  purpose: Purpose = 'night',
): { readonly condition: Condition; readonly content: AlertContent } {
  const exitCode = exitCodeOf(error);
  const isKey = KEY_PROBLEMS.some((kind) => error instanceof kind);
  const sentence =
    exitCode === EXIT.fault
      ? 'Internal error; the log says more.'
      : error instanceof Error
        ? error.message
        : String(error);
  const name = isKey ? KEYS : NOT_STARTED[purpose];
  const headline = isKey ? KEY_PROBLEM : ABOUT[purpose](exitCode);
  return {
    condition: { name, grade: gradeOf(exitCode), count: 0 },
    content: { ...headline, sentences: [sentence], ...ABOUT_NO_MERCHANT, condition: name },
  };
}

type Headline = Pick<AlertContent, 'kind' | 'title' | 'todo'>;

const KEY_PROBLEM: Headline = {
  kind: 'key-problem',
  title: 'DAYBOOK_SECRET_KEYS does not open what is stored',
  todo: 'put the key that the sentence names back into DAYBOOK_SECRET_KEYS; until then no run begins',
};

const ABOUT: Readonly<Record<Purpose, (exitCode: number) => Headline>> = {
  night: (exitCode) => ({
    kind: 'failed-night',
    title: `daybook could not begin (exit ${exitCode})`,
    todo: '`daybook doctor` names the problem and its fix; nothing was changed',
  }),
  worker: (exitCode) => ({
    kind: 'failed-night',
    title: `daybook worker could not begin (exit ${exitCode})`,
    todo: '`daybook doctor` names the problem and its fix; other workers go on with the queue',
  }),
  serve: (exitCode) => ({
    kind: 'not-serving',
    title: `daybook serve could not begin (exit ${exitCode})`,
    todo: 'fix what the sentence names and start `daybook serve` again; the platform repeats unanswered pushes',
  }),
};
