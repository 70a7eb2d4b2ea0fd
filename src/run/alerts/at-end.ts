/** Raises what the end of a run tells people, in the transaction that records this end. */
import { sql, type Kysely, type Transaction } from 'kysely';
import type { AlertContent } from '../../alerts/alert.ts';
import { raise, raiseCondition, type Raising, endConditions } from '../../alerts/outbox.ts';
import type { DB } from '../../store/engine/schema.ts';
import type { FoundBy } from '../../store/events.ts';
import type { OpenItems, RunCommand, MerchantOutcome } from '../report.ts';
import { isLostOrRolledBack, retry } from '../../store/engine/retry.ts';
import { undoneInRun } from '../../store/tasks.ts';
import { isGoodEnd } from '../verdict/exit-codes.ts';
import {
  crossOffTokens,
  noteBreaks,
  noteRevised,
  noteTokens,
  takeAlertEvents,
  unreportedDownloads,
  type RevisedDownloads,
  type RevisedEvent,
  type TokenEvent,
} from './alert-events.ts';
import {
  amendments,
  gradeOf,
  KEYS,
  MISSED,
  NIGHT,
  runFailed,
  nameOf,
  newBreaks,
  recovered,
  revisedDownloads,
  tokensRefused,
  type RunEnded,
  type Undone,
} from './run-alerts.ts';
import { PlatformRejected } from '../../platform/errors.ts';
import { SecretUnreadable, UnknownSecretKey } from '../../store/secrets/secrets.ts';
import { forgetDirectlySent, sendDirectOnceADay, recordLastSuccess } from '../../alerts/deliver.ts';
import { targetsOf, ping } from '../../alerts/targets.ts';
import type { SettingsWithoutPlatform } from '../../settings/settings.ts';

export interface RunAlerts {
  readonly targets: readonly string[];
  /** Sends without the database, which is away. Never rejects. */
  readonly direct: (content: AlertContent) => Promise<void>;
  /** Called if an alert could not be stored; the run goes on. */
  readonly onProblem: (error: unknown) => void;
  /** Tells whoever waits for good nights. Never rejects. */
  readonly onSuccess: () => Promise<void>;
}

export interface EndedRun extends RunEnded {
  readonly command: RunCommand;
  readonly isNightly: boolean;
  /** The process was asked to stop. That is no failure: the next run takes up from there. */
  readonly interrupted: boolean;
  /** Merchants left out because another process is at work on them, as far as the run ends badly for that. */
  readonly busy: number;
  /** All merchants left out because another process is at work on them. */
  readonly leftOut: number;
}

const conditionOf = (command: RunCommand): string => (command === 'run' ? NIGHT : `${NIGHT} ${command}`);

/** A server that takes longer for a statement of an end with its alerts ends it, so that nothing stays locked. */
const STATEMENT_MS_MAX = 20_000;

interface Deps {
  readonly db: Kysely<DB>;
  readonly now: () => Date;
  readonly zone: string;
  readonly alerts?: RunAlerts;
}

interface FinishOptions {
  readonly finish: (db: Kysely<DB>) => Promise<boolean>;
  readonly isAway?: boolean;
  readonly statementMsMax?: number;
}

/**
 * Records the end by `finish`, with its alerts in the same transaction. If they cannot be stored, the end is recorded
 * without them, and a failed night is reported directly. Throws what `finish` throws; where the database is away, nothing.
 * Returns what `finish` did: whether it recorded the end. If not, nothing is reported.
 */
export async function finishAlerting(
  { db, now, zone, alerts }: Deps,
  ended: EndedRun,
  { finish, isAway = false, statementMsMax = STATEMENT_MS_MAX }: FinishOptions,
): Promise<boolean> {
  const { targets, direct, onProblem, onSuccess } = alerts!;
  // What is not known of downloads holds up no end.
  const notQueried = (error: unknown): RevisedDownloads => {
    onProblem(error);
    return NOT_QUERIED;
  };
  const queried =
    targets.length === 0 || isAway ? NOT_QUERIED : await unreportedDownloads(db).catch(notQueried);
  const recordAndRaise = (): Promise<boolean> =>
    db.transaction().execute(async (trx) => {
      if (targets.length > 0)
        await sql`SET LOCAL statement_timeout = ${sql.lit(statementMsMax)}`.execute(trx);
      const isDone = await finish(trx);
      if (isDone && targets.length > 0) await raiseAtEnd(trx, ended, { targets, now: now(), zone, queried });
      return isDone;
    });
  const recordAlone = async (): Promise<boolean> => {
    const [end] = await Promise.allSettled([finish(db)]);
    const isDone = end.status === 'fulfilled' && end.value;
    const hasFailed = end.status === 'rejected';
    if (isFailedRun(ended) && (isDone || hasFailed)) await direct(runFailed(ended, NONE_UNDONE));
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

const NOT_QUERIED: RevisedDownloads = { asked: [], downloads: [] };
const NONE_UNDONE: Undone = { count: 0, merchants: [] };

/** Whether other processes are at work on all that keeps the run from a good end. */
export function isLeftToOthers({ exitCode, busy, reasons }: EndedRun): boolean {
  if (isGoodEnd(exitCode) || busy === 0) return false;
  return reasons.filter((reason) => !isGoodEnd(reason.exitCode)).length <= busy;
}

/** Nothing failed where the process was asked to stop, or where other processes are at work on all that is left. */
const isFailedRun = (ended: EndedRun): boolean =>
  ended.isNightly && !isGoodEnd(ended.exitCode) && !ended.interrupted && !isLeftToOthers(ended);

/** Merchants left out are no one's failure, and not done either. */
const isGoodRun = ({ isNightly, exitCode, leftOut }: EndedRun): boolean =>
  isNightly && isGoodEnd(exitCode) && leftOut === 0;

async function raiseAtEnd(
  trx: Transaction<DB>,
  ended: EndedRun,
  { zone, queried, ...raising }: Raising & { readonly zone: string; readonly queried: RevisedDownloads },
): Promise<void> {
  const { runId, command, exitCode } = ended;
  if (isFailedRun(ended)) {
    const undone = await undoneInRun(trx, runId);
    const condition = { name: conditionOf(command), grade: gradeOf(exitCode), count: undone.count };
    await raiseCondition(trx, condition, runFailed(ended, undone), raising);
  } else if (isGoodRun(ended)) {
    const over = command === 'run' ? [NIGHT, MISSED, KEYS] : [conditionOf(command)];
    const since = await endConditions(trx, over);
    if (since !== null) await raise(trx, recovered(ended, since, zone), raising);
  }
  const { breaks, revised, tokens } = await takeAlertEvents(trx, raising.now);
  const reported: AlertContent[] = [
    ...(tokens.length > 0 ? [tokensRefused(tokens, runId)] : []),
    ...reportOfRevised(revised, queried, { runId, zone }),
    ...(breaks.length > 0 ? [newBreaks(breaks, runId)] : []),
  ];
  for (const content of reported) await raise(trx, content, raising);
}

/** What is reported of revised days. One that another run noted in the last moment was not queried. */
function reportOfRevised(
  revised: readonly RevisedEvent[],
  { asked, downloads }: RevisedDownloads,
  { runId, zone }: { readonly runId: number; readonly zone: string },
): AlertContent[] {
  const wereDownloaded = new Set(downloads.map(nameOf));
  const wereAsked = new Set(asked.map(revisionOf));
  const {
    downloaded = [],
    known = [],
    unknown = [],
  } = Object.groupBy(revised, (one) =>
    wereDownloaded.has(nameOf(one)) ? 'downloaded' : wereAsked.has(revisionOf(one)) ? 'known' : 'unknown',
  );
  return [
    ...(downloaded.length > 0 ? [revisedDownloads(downloaded, downloads, { runId, zone })] : []),
    ...(known.length > 0 ? [amendments(known, { runId, isDownloadKnown: true })] : []),
    ...(unknown.length > 0 ? [amendments(unknown, { runId, isDownloadKnown: false })] : []),
  ];
}

const revisionOf = (one: RevisedEvent): string => `${nameOf(one)} r${one.revision}`;

/** Notes new breaks, revised days, and tokens that do not work; crosses off tokens that work again. */
export async function noteForAlerts(
  trx: Transaction<DB>,
  ends: readonly { readonly outcome: MerchantOutcome; readonly standing: OpenItems }[],
  found: FoundBy,
): Promise<void> {
  const outcomes = ends.map(({ outcome }) => outcome);
  const merchants = outcomes.map(({ merchantNo }) => merchantNo);
  if (ends.some(({ standing: { newBreaks, knownBreaks } }) => newBreaks + knownBreaks > 0))
    await noteBreaks(trx, merchants, found);
  const revised = ends
    .flatMap(({ standing }) => standing.revised)
    .filter(({ readsTheSame, wasOpenAtClose }) => !readsTheSame && wasOpenAtClose !== true);
  await noteRevised(trx, revised, found);
  const refused = outcomes.flatMap((outcome) => tokenProblem(outcome) ?? []);
  await noteTokens(trx, refused, found);
  await crossOffTokens(
    trx,
    outcomes.filter(hasTokenThatWorks).map(({ merchantNo }) => merchantNo),
  );
}

function tokenProblem({ merchantNo, sync }: MerchantOutcome): TokenEvent | null {
  if (sync === null) return null;
  const { notJoined, report } = sync;
  if (notJoined?.refusesToken === true) return { merchantNo, problem: notJoined.problem };
  const { failure } = report;
  const isRefused = failure instanceof PlatformRejected && failure.refusesToken;
  if (isRefused || failure instanceof UnknownSecretKey || failure instanceof SecretUnreadable)
    return { merchantNo, problem: failure.message };
  return null;
}

const hasTokenThatWorks = ({ sync }: MerchantOutcome): boolean =>
  sync !== null && sync.notJoined === undefined && sync.report.failure === null;

const PING_TRIES_MAX = 2;
const PING_MS_MAX = 4_000;

export type AlertingSettings = Pick<
  SettingsWithoutPlatform,
  'alerts' | 'allowInsecure' | 'dataDir' | 'databaseUrl'
>;

export const isAlerting = ({ alerts }: Pick<AlertingSettings, 'alerts'>): boolean =>
  alerts.webhooks.length > 0 || alerts.mail !== null || alerts.pingUrl !== null;

/** Undefined where no alerts are set up. `onProblem` is called with what could not be reported. */
export function openRunAlerts(
  settings: AlertingSettings,
  { now, onProblem }: { readonly now: () => Date; readonly onProblem: (error: unknown) => void },
): RunAlerts | undefined {
  if (!isAlerting(settings)) return undefined;
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
