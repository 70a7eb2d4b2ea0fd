/** How the ledgers of all merchants stand, as metrics. */
import { dayWindow } from '../../ledger/business-day.ts';
import type { BusinessDay } from '../../ledger/entry.ts';
import type { Health } from '../../run/health.ts';
import { isNoFailure } from '../../run/run-state.ts';
import type { MerchantStatus } from '../../run/status.ts';
import type { InboxCounts } from '../../store/fleet-counts.ts';
import type { State } from './state.ts';
import { ENTRY_FIGURES } from './work-metrics.ts';

type OfHealth<Result> = (health: Health, state: State) => Result;

/** A metric without labels; null where it is not known. */
const figure = (name: string, help: string, value: OfHealth<number | null | undefined>): StateMetric => ({
  name,
  help,
  samples: (state) => only(state.ledger && value(state.ledger, state)),
});

const labelled = (
  name: string,
  help: string,
  { labels, samples }: { readonly labels: readonly string[]; readonly samples: OfHealth<readonly Sample[]> },
): StateMetric => ({
  name,
  help,
  labels,
  samples: (state) => (state.ledger === null ? [] : samples(state.ledger, state)),
});

const PROOF: readonly StateMetric[] = [
  figure(
    'daybook_last_good_night_timestamp_seconds',
    'When the last run for all merchants and up to yesterday ended with 0 or 3.',
    ({ lastGoodNight }) => lastGoodNight && timestamp(lastGoodNight.at),
  ),
  figure(
    'daybook_oldest_good_reading_timestamp_seconds',
    'When the merchant for whom it is longest ago was last read and nothing was left undone for it.',
    ({ oldestAt }) => oldestAt && timestamp(oldestAt),
  ),
  figure(
    'daybook_proven_through_age_seconds',
    'How long ago the last day ended up to which every merchant is proven; merchants without a proven day left out.',
    ({ provenThrough }, { zone, at }) => {
      const endMs = endOfDayMs(provenThrough, zone);
      return endMs === null ? null : seconds(at.getTime() - endMs);
    },
  ),
  figure('daybook_merchants', 'Merchants whose ledgers are read.', ({ merchants }) => merchants),
  figure(
    'daybook_merchants_never_read',
    'Merchants that no run has read well yet.',
    (health) => health.neverRead,
  ),
  figure('daybook_merchants_unproven', 'Merchants without a proven day.', ({ unproven }) => unproven),
  figure(
    'daybook_merchants_incomplete',
    'Merchants with a day that is over and of which something is missing.',
    ({ merchantsMissing }) => merchantsMissing,
  ),
  figure('daybook_dates_missing', 'Such days of all merchants.', ({ daysMissing }) => daysMissing),
  figure(
    'daybook_windows_uncertified',
    'Windows without a certificate: their last reading failed, or waits for a second reading.',
    ({ uncertified }) => uncertified,
  ),
  labelled(
    'daybook_breaks_open',
    'Open breaks in balance chains: new ones, which the last run or one at work has found, and known ones.',
    {
      labels: ['state'],
      samples: ({ newBreaks, knownBreaks }) => [
        { value: newBreaks, labels: { state: 'new' } },
        { value: knownBreaks, labels: { state: 'known' } },
      ],
    },
  ),
  figure('daybook_breaks_taken', 'Open breaks assigned to a person.', ({ takenBreaks }) => takenBreaks),
  figure(
    'daybook_entries_unreadable',
    'Unacknowledged unreadable entries in quarantine.',
    ({ quarantined }) => quarantined,
  ),
];

/** Figures of the last run, if it has ended. */
const lastFigure = (name: string, help: string, key: string, divisor = 1): StateMetric =>
  figure(name, help, ({ runs: { last } }) => {
    const value = last?.figures[key];
    return last?.state === 'ended' && typeof value === 'number' ? value / divisor : null;
  });

const RUNS: readonly StateMetric[] = [
  labelled('daybook_last_run_state', 'How the last run stands: 1 for the state that it is in.', {
    labels: ['command', 'state'],
    samples: ({ runs: { last } }) =>
      last === null
        ? []
        : ['ended', 'running', 'killed'].map((state) => ({
            value: Number(last.state === state),
            labels: { command: last.command, state },
          })),
  }),
  figure(
    'daybook_last_run_exit_code',
    'The exit code of the last run, if it has ended: 0 or 3 is good, 4 is incomplete.',
    ({ runs: { last } }) => last?.exitCode,
  ),
  figure(
    'daybook_last_run_end_timestamp_seconds',
    'When the last run ended, if it has.',
    ({ runs: { last } }) => last?.finishedAt && timestamp(last.finishedAt),
  ),
  lastFigure(
    'daybook_last_run_duration_seconds',
    'How long the last run took, if it has ended.',
    'elapsedMs',
    1_000,
  ),
  lastFigure('daybook_last_run_calls', 'Ledger calls of the last run, if it has ended.', 'requests'),
  labelled(
    'daybook_last_run_entries',
    'Entries that the last run read, by what they were to the stored ones.',
    {
      labels: ['outcome'],
      samples: ({ runs: { last } }) =>
        last?.state !== 'ended'
          ? []
          : Object.entries(ENTRY_FIGURES).flatMap(([outcome, key]) => {
              const value = last.figures[key];
              return typeof value === 'number' ? [{ value, labels: { outcome } }] : [];
            }),
    },
  ),
  lastFigure(
    'daybook_last_run_published',
    'Statements that the last run published, if it has ended.',
    'published',
  ),
  figure(
    'daybook_runs_not_made_up_for',
    'Scheduled runs of the ledger that did not end well and whose work no later run has done. Without runs that were asked to stop, or lately left work to other processes.',
    ({ runs }, { at }) => runs.notMadeUpFor.filter((run) => !isNoFailure(run, at)).length,
  ),
  labelled('daybook_jobs_failed', 'Scheduled jobs that read no ledger: 1 if the last run did not end well.', {
    labels: ['job'],
    samples: ({ runs }, { at }) =>
      runs.failedJobs
        .filter((run) => !isNoFailure(run, at))
        .map(({ command: job }) => ({ value: 1, labels: { job } })),
  }),
  labelled('daybook_next_run_timestamp_seconds', 'When the schedule runs its next job.', {
    labels: ['job'],
    samples: ({ nextRun }) =>
      nextRun === null ? [] : [{ value: timestamp(nextRun.at), labels: { job: nextRun.job } }],
  }),
  figure(
    'daybook_leases_held',
    'Leases that have not run out: merchants that are worked on now.',
    (health) => health.leases,
  ),
];

const BACKLOG: readonly StateMetric[] = [
  figure('daybook_backfills_open', 'Backfills with days left.', ({ backfills }) => backfills.length),
  figure(
    'daybook_backfill_dates_left',
    'Days of all merchants that open backfills still have to read.',
    (health) => health.backfills.reduce((sum, { daysLeft }) => sum + daysLeft, 0),
  ),
  figure(
    'daybook_backfill_time_left_seconds',
    'How long the open backfills will take at the pace of their last slices, as far as it is known.',
    ({ backfills }) => {
      const known = backfills.flatMap(({ leftMs }) => leftMs ?? []);
      return known.length === 0 ? null : seconds(Math.max(...known));
    },
  ),
  figure(
    'daybook_backfill_merchants_failing',
    'Merchants whose next slice of a backfill has failed.',
    (health) => health.backfills.reduce((sum, { failing }) => sum + failing, 0),
  ),
  labelled('daybook_queue_jobs', 'Jobs for workers, by lane: waiting for one, or at work.', {
    labels: ['lane', 'state'],
    samples: ({ queue }) =>
      (queue?.lanes ?? []).flatMap(({ lane, waiting, active }) => [
        { value: waiting, labels: { lane, state: 'waiting' } },
        { value: active, labels: { lane, state: 'active' } },
      ]),
  }),
  labelled(
    'daybook_queue_oldest_age_seconds',
    'How long the longest waiting job has waited; 0 where none waits.',
    {
      labels: ['lane'],
      samples: ({ queue }, { at }) =>
        (queue?.lanes ?? []).map(({ lane, oldest }) => ({
          value: oldest === null ? 0 : Math.max(0, seconds(at.getTime() - oldest.getTime())),
          labels: { lane },
        })),
    },
  ),
  figure(
    'daybook_queue_jobs_given_up',
    'Jobs that were given up and wait for a person.',
    ({ queue }) => queue?.givenUpCount,
  ),
];

const OWN_BOOKS: readonly StateMetric[] = [
  labelled('daybook_books_unmatched', 'Entries that only the ledger or only an own book has.', {
    labels: ['side'],
    samples: ({ ownBooks }) =>
      ownBooks.length === 0
        ? []
        : (['ledger', 'book'] as const).map((side) => ({
            value: ownBooks.reduce((sum, one) => sum + one[side], 0),
            labels: { side },
          })),
  }),
  figure(
    'daybook_books_oldest_unmatched_age_seconds',
    'How long ago the day of the oldest of these entries ended; 0 where there is none, or its day is not over.',
    ({ ownBooks }, { zone, at }) => {
      if (ownBooks.length === 0) return null;
      const oldest = ownBooks.flatMap((one) => one.oldest ?? []).toSorted()[0] ?? null;
      return Math.max(0, seconds(at.getTime() - (endOfDayMs(oldest, zone) ?? at.getTime())));
    },
  ),
  figure(
    'daybook_books_waiting_for_approval',
    'Matches of people that another person has to approve.',
    ({ ownBooks }) =>
      ownBooks.length === 0 ? null : ownBooks.reduce((sum, { waiting }) => sum + waiting, 0),
  ),
];

export const LEDGER_METRICS: readonly StateMetric[] = [...PROOF, ...RUNS, ...BACKLOG, ...OWN_BOOKS];

const ofEach =
  (value: (status: MerchantStatus, state: State) => number | null): StateMetric['samples'] =>
  (state) =>
    state.merchants.flatMap((status) => {
      const found = value(status, state);
      return found === null ? [] : [{ value: found, labels: { merchant: status.merchantNo } }];
    });

const metric = (name: string, help: string, value: Parameters<typeof ofEach>[0]): StateMetric => ({
  name,
  help,
  labels: ['merchant'],
  samples: ofEach(value),
});

export const MERCHANT_METRICS: readonly StateMetric[] = [
  metric(
    'daybook_merchant_last_good_reading_timestamp_seconds',
    'When the merchant was last read and nothing was left undone for it.',
    ({ lastGoodRunAt }) => lastGoodRunAt && timestamp(lastGoodRunAt),
  ),
  metric(
    'daybook_merchant_proven_through_timestamp_seconds',
    'The end of the last day up to which the merchant is proven.',
    ({ provenThrough }, { zone }) => {
      const endMs = endOfDayMs(provenThrough, zone);
      return endMs === null ? null : seconds(endMs);
    },
  ),
  metric(
    'daybook_merchant_dates_missing',
    'Days of the merchant that are over and of which something is missing.',
    ({ daysMissing }) => daysMissing,
  ),
  metric('daybook_merchant_breaks_open', 'Open breaks of the merchant.', ({ openBreaks }) => openBreaks),
  metric(
    'daybook_merchant_windows_uncertified',
    'Windows of the merchant without a certificate.',
    ({ uncertified }) => uncertified,
  ),
  metric(
    'daybook_merchant_entries_unreadable',
    'Unacknowledged unreadable entries of the merchant.',
    ({ quarantined }) => quarantined,
  ),
];

const ofInbox =
  (value: (inbox: InboxCounts, at: Date) => number | null): StateMetric['samples'] =>
  ({ inbox, at }: State) =>
    only(inbox && value(inbox, at));

export const INBOX_METRICS: readonly StateMetric[] = [
  {
    name: 'daybook_inbox_waiting',
    help: 'Pushed results that are not processed yet, or wait for the reply to our own request.',
    samples: ofInbox(({ waiting }) => waiting),
  },
  {
    name: 'daybook_inbox_oldest_age_seconds',
    help: 'How long the oldest of these has been waiting; 0 where none waits.',
    samples: ofInbox(({ oldestAt }, at) =>
      oldestAt === null ? 0 : seconds(at.getTime() - oldestAt.getTime()),
    ),
  },
  {
    name: 'daybook_inbox_waiting_bytes',
    help: 'How much these take in the database, encrypted.',
    samples: ofInbox(({ waitingBytes }) => waitingBytes),
  },
  {
    name: 'daybook_inbox_needs_person',
    help: 'Pushed results that a person has to check: contradictions, second tokens, and unreadable posts.',
    samples: ofInbox(({ needsPerson }) => needsPerson),
  },
];

interface Sample {
  readonly value: number;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface StateMetric {
  readonly name: string;
  /** One sentence for the person who reads the scrape. */
  readonly help: string;
  readonly labels?: readonly string[];
  /** What is not known is left out: there is no sample then, and no false 0. */
  readonly samples: (state: State) => readonly Sample[];
}

/** One sample without labels; none for null. */
const only = (value: number | null | undefined): Sample[] =>
  value === null || value === undefined ? [] : [{ value }];

const seconds = (ms: number): number => ms / 1_000;

const timestamp = (at: Date): number => seconds(at.getTime());

/** The instant at which a day is over; null for null. */
const endOfDayMs = (day: BusinessDay | null, zone: string | null): number | null =>
  day === null || zone === null ? null : dayWindow(day, zone).endMs + 1;
