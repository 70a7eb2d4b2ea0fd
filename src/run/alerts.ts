/** Alerts, as runs and commands know them: what one says, and what is asked of the option that sends them. */
import { slot } from '../host/slot.ts';
import type { Kysely, Transaction } from 'kysely';
import type { Logger } from 'pino';
import { counted } from '../ledger/text.ts';
import type { SettingsWithoutPlatform } from '../settings/settings.ts';
import type { DB } from '../store/engine/schema.ts';
import type { FoundBy } from '../store/events.ts';
import type { MerchantOutcome, OpenItems, RunCommand } from './report.ts';
import type { Reason } from './verdict/exit-codes.ts';

/** What an alert is about, and the heading in docs/runbook.md that says what to do. */
export const RUNBOOK_HEADINGS = {
  'failed-night': 'Alert: a night failed',
  'failed-job': 'Alert: a job failed',
  recovered: 'Alert: recovered',
  'missed-night': 'Alert: a night was missed',
  'new-break': 'Alert: a new break',
  amendment: 'Alert: published days were revised',
  'revised-download': 'Alert: a downloaded day was revised',
  'not-serving': 'Alert: results are not taken in',
  unmatched: 'Alert: entries of own books are unmatched',
  'key-problem': 'Alert: a key or token does not work',
  test: 'Alert: a test',
} as const;

export type AlertKind = keyof typeof RUNBOOK_HEADINGS;

/** An alert without its number. It holds no token and no personal data. */
export interface AlertContent {
  readonly kind: AlertKind;
  /** The lasting trouble that it reports, or the end of. Left out: something that happened once. */
  readonly condition?: string;
  /** `resolved`: the trouble is over. Left out: `firing`. */
  readonly status?: 'firing' | 'resolved';
  readonly title: string;
  /** What happened, one sentence each; the first few where there are very many. */
  readonly sentences: readonly string[];
  readonly todo: string;
  readonly merchants: readonly string[];
  readonly merchantCount: number;
  readonly days: readonly string[];
  readonly since: Date | null;
  readonly runId: number | null;
}

/** Of an alert about the installation. */
export const ABOUT_NO_MERCHANT = {
  ...{ merchants: [], merchantCount: 0, days: [], since: null, runId: null },
} satisfies Partial<AlertContent>;

export const NAMED_MAX = 5;

export function firstSentences(sentences: readonly string[], where: string): string[] {
  const more = sentences.length - NAMED_MAX;
  return more <= 0
    ? [...sentences]
    : [...sentences.slice(0, NAMED_MAX), `and ${counted(more, 'more', 'more')}: ${where}`];
}

/** Trouble that lasts: it is reported when it begins, when it gets worse, and once a day. */
export interface Condition {
  readonly name: string;
  /** Higher is graver. */
  readonly grade: number;
  readonly count: number;
}

/** Trouble that a long-running process sees itself. Each function throws what the database throws. */
export interface Troubles {
  readonly raise: (condition: Condition, content: AlertContent) => Promise<unknown>;
  /** It is over; an alert says so. */
  readonly end: (name: string) => Promise<unknown>;
  readonly noteSeen: (name: string) => Promise<void>;
  /** Ends it if no process has seen it since then. */
  readonly endUnseen: (name: string, since: Date) => Promise<void>;
}

export interface EndedRun {
  readonly runId: number;
  readonly command: RunCommand;
  /** The scheduled job, or the command. */
  readonly job: string;
  readonly exitCode: number;
  readonly reasons: readonly Reason[];
  /** Business days; null if the run is about none. */
  readonly from: string | null;
  readonly to: string | null;
  readonly isNightly: boolean;
  /** The process was asked to stop. That is no failure: the next run takes up from there. */
  readonly interrupted: boolean;
  /** Merchants left out because another process is at work on them, as far as the run ends badly for that. */
  readonly busy: number;
  /** All merchants left out because another process is at work on them. */
  readonly leftOut: number;
}

export interface FinishOptions {
  readonly finish: (db: Kysely<DB>) => Promise<boolean>;
  readonly isAway?: boolean;
}

/** What is reported of runs, called with what causes it. */
export interface RunAlerts {
  /** Notes what the end of a run reports of these merchants, in the transaction of their ends. */
  readonly noteEnds: (
    trx: Transaction<DB>,
    ends: readonly { readonly outcome: MerchantOutcome; readonly standing: OpenItems }[],
    found: FoundBy,
  ) => Promise<void>;
  /** The same of breaks alone, where merchants were worked on and came to no end. */
  readonly noteBreaks: (trx: Transaction<DB>, merchants: readonly string[], found: FoundBy) => Promise<void>;
  /**
   * Records the end by `finish`, with its alerts in the same transaction. If they cannot be stored, the end is recorded
   * without them, and a failed night is reported directly. Throws what `finish` throws; where the database is away, nothing.
   * Returns what `finish` did: whether it recorded the end. If not, nothing is reported.
   */
  readonly finish: (
    deps: { readonly db: Kysely<DB>; readonly now: () => Date; readonly zone: string },
    ended: EndedRun,
    options: FinishOptions,
  ) => Promise<boolean>;
}

export interface AlertingApp {
  readonly database: { readonly db: Kysely<DB> };
  readonly now: () => Date;
  readonly settings: SettingsWithoutPlatform;
}

/** What a process is there for: nights, work of the queue, or the taking in of results. */
export type Purpose = 'night' | 'worker' | 'serve';

export interface AlertingOptions {
  /** Default: nights. */
  readonly purpose?: Purpose;
  /** Raises trouble of the process itself, every half minute. */
  readonly check?: (troubles: Troubles) => Promise<void>;
}

/** Alerts that did not reach a target: how many wait after a failed try, and how many were given up of late. */
export type Undelivered = Readonly<{ failing: number; givenUp: number }>;

/** The alerts of a command. What is said to never reject does not change the end of a command. */
export interface Alerts {
  /** `onProblem` is called with what could not be reported. */
  readonly ofRuns: (
    settings: SettingsWithoutPlatform,
    options: { readonly now: () => Date; readonly onProblem: (error: unknown) => void },
  ) => RunAlerts;
  /** Sends what is due, in bounded time. Never rejects. */
  readonly deliverAtEnd: (app: AlertingApp, log: Logger) => Promise<void>;
  /** Raises what is wrong and sends what is due, as a person or cron asked for it. `maxAgeMs`: null is that of the schedule. */
  readonly checkNow: (app: AlertingApp, log: Logger, maxAgeMs: number | null) => Promise<void>;
  /** Sends alerts in the background of `work` and checks for what no run reports, and sends once more at its end. */
  readonly withAlerting: <Result>(
    app: AlertingApp,
    log: Logger,
    work: () => Promise<Result>,
    options?: AlertingOptions,
  ) => Promise<Result>;
  /** Reports that something could not start, at most once a day; nothing where another process is at work. Never rejects. */
  readonly reportNotStarted: (
    settings: SettingsWithoutPlatform,
    error: unknown,
    log: Logger,
    purpose?: Purpose,
  ) => Promise<unknown>;
  /**
   * Reports the error that ended a run started in this app, unless reported as the end of its run, or another run is at work.
   * Never rejects.
   */
  readonly reportThrown: (app: AlertingApp, error: unknown, log: Logger) => Promise<void>;
  /** Reports a schedule whose ticks fail. */
  readonly createFailingTicks: (
    settings: SettingsWithoutPlatform,
    log: Logger,
  ) => { readonly worked: () => void; readonly failed: (error: unknown) => Promise<void> };
  readonly undelivered: (db: Kysely<DB>) => Promise<Undelivered>;
}

/** Loads what sends alerts. */
export const alertsSlot = slot<() => Promise<Alerts>>('alerts');

/** The alerts that these settings ask for; null where they ask for none, or no plugin sends any. */
export const alertsOf = async ({
  alerts: { webhooks, mail, pingUrl },
}: Pick<SettingsWithoutPlatform, 'alerts'>): Promise<Alerts | null> =>
  webhooks.length > 0 || mail !== null || pingUrl !== null ? ((await alertsSlot.part()?.()) ?? null) : null;
