/** Raises what the end of a run tells people, in the transaction that records this end. */
import { sql, type Kysely, type Transaction } from 'kysely';
import type { AlertContent, Alerts, EndedRun, FinishOptions, RunAlerts } from '../../run/alerts.ts';
import type { RunCommand } from '../../run/report.ts';
import { isGoodEnd, isLeftToOthers } from '../../run/verdict/exit-codes.ts';
import type { SettingsWithoutPlatform } from '../../settings/settings.ts';
import { isLostOrRolledBack, retry } from '../../store/engine/retry.ts';
import type { DB } from '../../store/engine/schema.ts';
import { undoneInRun } from '../../store/run-merchants.ts';
import { noteBreaks } from './breaks.ts';
import { directlySent, forgetDirectlySent, recordLastSuccess, sendDirectOnceADay } from './deliver.ts';
import { askBeforehand, noteEvents, sayEvents, type Answers } from './event-alerts.ts';
import { gradeOf, KEYS, MISSED, NIGHT, recovered, runFailed, type Undone } from './nights.ts';
import { endConditions, raise, raiseCondition, type Raising } from './outbox.ts';
import { ping, targetsOf } from './targets.ts';

/** To whom runs report. */
export interface Receivers {
  readonly targets: readonly string[];
  /** Sends without the database, which is away. Never rejects. */
  readonly direct: (content: AlertContent) => Promise<void>;
  /** What was sent so, and is not known to be over: the time of each by its condition. Never rejects. */
  readonly directlySent: () => Promise<ReadonlyMap<string, Date>>;
  /** Called if an alert could not be stored; the run goes on. */
  readonly onProblem: (error: unknown) => void;
  /** Tells whoever waits for good nights. Never rejects. */
  readonly onSuccess: () => Promise<void>;
}

const conditionOf = (command: RunCommand): string => (command === 'run' ? NIGHT : `${NIGHT} ${command}`);

/** A server that takes longer for a statement of an end with its alerts ends it, so that nothing stays locked. */
const STATEMENT_MS_MAX = 20_000;

interface Deps {
  readonly db: Kysely<DB>;
  readonly now: () => Date;
  readonly zone: string;
  readonly alerts: Receivers;
}

/** Records an end, as `RunAlerts` says. */
export async function finishAlerting(
  { db, now, zone, alerts }: Deps,
  ended: EndedRun,
  {
    finish,
    isAway = false,
    statementMsMax = STATEMENT_MS_MAX,
  }: FinishOptions & { readonly statementMsMax?: number },
): Promise<boolean> {
  const { targets, direct, directlySent, onProblem, onSuccess } = alerts;
  const answers: Answers = targets.length === 0 || isAway ? new Map() : await askBeforehand(db, onProblem);
  const recordAndRaise = (): Promise<boolean> =>
    db.transaction().execute(async (trx) => {
      if (targets.length > 0)
        await sql`SET LOCAL statement_timeout = ${sql.lit(statementMsMax)}`.execute(trx);
      const isDone = await finish(trx);
      if (isDone && targets.length > 0)
        await raiseAtEnd(trx, ended, { targets, now: now(), zone, answers, direct: await directlySent() });
      return isDone;
    });
  const recordAlone = async (): Promise<boolean> => {
    const [end] = await Promise.allSettled([finish(db)]);
    const isDone = end.status === 'fulfilled' && end.value;
    const hasFailed = end.status === 'rejected';
    if (isFailedRun(ended) && (isDone || hasFailed))
      await direct({ ...runFailed(ended, NONE_UNDONE), condition: conditionOf(ended.command) });
    if (hasFailed && !isAway) throw end.reason;
    return isDone;
  };
  // A lease may be lost, or a question unanswered, and the database be there again.
  if (isAway) return recordAndRaise().catch(recordAlone);
  const isDone = await retry(recordAndRaise, { isPassing: isLostOrRolledBack }).catch((error: unknown) => {
    onProblem(error);
    return recordAlone();
  });
  if (isDone && ended.command === 'run' && isGoodRun(ended)) await onSuccess();
  return isDone;
}

const NONE_UNDONE: Undone = { count: 0, merchants: [] };

/** Nothing failed where the process was asked to stop, or where other processes are at work on all that is left. */
const isFailedRun = (ended: EndedRun): boolean =>
  ended.isNightly && !isGoodEnd(ended.exitCode) && !ended.interrupted && !isLeftToOthers(ended);

/** Merchants left out are no one's failure, and not done either. */
const isGoodRun = ({ isNightly, exitCode, leftOut }: EndedRun): boolean =>
  isNightly && isGoodEnd(exitCode) && leftOut === 0;

async function raiseAtEnd(
  trx: Transaction<DB>,
  ended: EndedRun,
  {
    zone,
    answers,
    direct,
    ...raising
  }: Raising & {
    readonly zone: string;
    readonly answers: Answers;
    readonly direct: ReadonlyMap<string, Date>;
  },
): Promise<void> {
  const { runId, command, exitCode } = ended;
  if (isFailedRun(ended)) {
    const undone = await undoneInRun(trx, runId);
    const condition = { name: conditionOf(command), grade: gradeOf(exitCode), count: undone.count };
    await raiseCondition(trx, condition, runFailed(ended, undone), raising);
  } else if (isGoodRun(ended)) {
    const over = command === 'run' ? [NIGHT, MISSED, KEYS] : [conditionOf(command)];
    await endConditions(trx, over, raising, { content: (since) => recovered(ended, since, zone), direct });
  }
  for (const content of await sayEvents(trx, raising.now, { runId, zone, answers }))
    await raise(trx, content, raising);
}

const PING_TRIES_MAX = 2;
const PING_MS_MAX = 4_000;

/** The receivers of these settings. `onProblem` is called with what could not be reported. */
function receiversOf(
  settings: SettingsWithoutPlatform,
  { now, onProblem }: { readonly now: () => Date; readonly onProblem: (error: unknown) => void },
): Receivers {
  const targets = targetsOf(settings);
  const { dataDir, databaseUrl, alerts } = settings;
  const { pingUrl } = alerts;
  return {
    targets: targets.map(({ key }) => key),
    onProblem,
    direct: async (content) => {
      for (const { target, problem } of await sendDirectOnceADay(targets, content, { dataDir, now }))
        if (problem !== null) onProblem(new Error(`${target}: ${problem}`));
    },
    directlySent: () => directlySent(dataDir),
    onSuccess: async () => {
      await forgetDirectlySent(dataDir).catch(onProblem);
      if (databaseUrl === null) await recordLastSuccess(dataDir, now()).catch(onProblem);
      if (pingUrl === null) return;
      for (let tries = 1; ; tries += 1) {
        const sent = await ping(pingUrl, { timeoutMs: PING_MS_MAX, now });
        if (sent.ok) return;
        if (tries < PING_TRIES_MAX) continue;
        onProblem(new Error(`DAYBOOK_PING_URL: ${sent.problem}`));
        return;
      }
    },
  };
}

/** What runs report to these receivers. */
export const runAlerts = (alerts: Receivers): RunAlerts => ({
  noteEnds: async (trx, ends, found) => {
    if (alerts.targets.length > 0) await noteEvents(trx, ends, found);
  },
  noteBreaks: async (trx, merchants, found) => {
    if (alerts.targets.length > 0) await noteBreaks(trx, merchants, found);
  },
  finish: (deps, ended, options) => finishAlerting({ ...deps, alerts }, ended, options),
});

export const openRunAlerts: Alerts['ofRuns'] = (settings, options) =>
  runAlerts(receiversOf(settings, options));
