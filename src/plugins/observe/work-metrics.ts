/** Counts what this process does, as it does it. The registry comes from whoever puts the process together. */
import { Counter, Histogram, type Registry } from 'prom-client';
import type { MerchantOutcome } from '../../run/report.ts';
import { type Observer, STAGES } from '../../run/active-run.ts';

const CALL_BUCKETS_S = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const STAGE_BUCKETS_S = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800];

/** Figures of a merchant's sync, by the word that the label `outcome` has for each. */
const ENTRY_OUTCOMES = {
  new: 'inserted',
  amended: 'amended',
  vanished: 'vanished',
  returned: 'returned',
  quarantined: 'quarantined',
  unchanged: 'unchanged',
} as const;

/** The same words for what is stored of a run (`runFigures`). */
export const ENTRY_FIGURES: Readonly<Record<string, string>> = ENTRY_OUTCOMES;

/** Registers the counters and returns their observer. Labels never hold a merchant or an entry. */
export function createWorkMetrics(registry: Registry): Omit<Observer, 'trace'> {
  const metrics = registered(registry);
  // What may happen starts at 0, so that the first time shows as a rise.
  for (const outcome of Object.keys(ENTRY_OUTCOMES)) metrics.entries.inc({ outcome }, 0);
  for (const outcome of ['certified', 'uncertified']) metrics.windows.inc({ outcome }, 0);
  for (const outcome of ['good', 'trouble']) metrics.merchants.inc({ outcome }, 0);
  for (const kind of ['first', 'later']) metrics.revisions.inc({ kind }, 0);
  for (const stage of STAGES.run) metrics.stages.zero({ stage });
  return {
    onCall: ({ operation, status, ms }) => {
      metrics.calls.inc({ operation, status });
      metrics.callTimes.observe({ operation }, ms / 1_000);
    },
    onRetry: ({ operation }) => metrics.retries.inc({ operation }),
    onSplit: () => metrics.splits.inc(),
    onStage: (stage, ms) => metrics.stages.observe({ stage }, ms / 1_000),
    onMerchant: (outcome) => countMerchant(metrics, outcome),
  };
}

function registered(registry: Registry) {
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter({ name, help, labelNames: [...labelNames], registers: [registry] });
  const histogram = <Label extends string>(
    name: string,
    help: string,
    { labelNames, buckets }: { labelNames: Label[]; buckets: number[] },
  ) => new Histogram({ name, help, labelNames, buckets, registers: [registry] });
  return {
    calls: counter(
      'daybook_platform_calls_total',
      'Calls to the platform, each try counted, by operation and HTTP status; none: no reply, invalid: a 2xx reply outside the contract.',
      ['operation', 'status'],
    ),
    callTimes: histogram(
      'daybook_platform_call_duration_seconds',
      'How long a try of a call to the platform took on the wire.',
      { labelNames: ['operation'], buckets: CALL_BUCKETS_S },
    ),
    retries: counter('daybook_platform_retries_total', 'Calls to the platform that were sent again.', [
      'operation',
    ]),
    splits: counter(
      'daybook_windows_split_total',
      'Windows that had to be read in parts, as they held too much or their pages did not fit together.',
    ),
    windows: counter(
      'daybook_windows_read_total',
      'Windows that were read, by whether they got a certificate.',
      ['outcome'],
    ),
    entries: counter(
      'daybook_entries_total',
      'Entries that were read, by what they were to the stored ones.',
      ['outcome'],
    ),
    stages: histogram('daybook_stage_duration_seconds', 'How long a stage of a run took for one merchant.', {
      labelNames: ['stage'],
      buckets: STAGE_BUCKETS_S,
    }),
    merchants: counter(
      'daybook_merchants_done_total',
      'Merchants that were worked on in runs and backfills, by whether trouble ended their work early.',
      ['outcome'],
    ),
    breaksOpened: counter('daybook_breaks_opened_total', 'Breaks in balance chains that were found.'),
    breaksHealed: counter('daybook_breaks_healed_total', 'Breaks that later entries or figures closed.'),
    revisions: counter(
      'daybook_revisions_published_total',
      'Statements that were published: the first of a day, or a later revision of it.',
      ['kind'],
    ),
  };
}

function countMerchant(metrics: ReturnType<typeof registered>, outcome: MerchantOutcome): void {
  const { sync, reconcile, publish, trouble } = outcome;
  if (sync !== null) {
    const { report } = sync;
    for (const [word, figure] of Object.entries(ENTRY_OUTCOMES))
      metrics.entries.inc({ outcome: word }, report[figure]);
    const uncertified = report.uncertified.length;
    metrics.windows.inc({ outcome: 'certified' }, Math.max(0, report.windows - uncertified));
    metrics.windows.inc({ outcome: 'uncertified' }, uncertified);
  }
  metrics.breaksOpened.inc(reconcile?.opened.length ?? 0);
  metrics.breaksHealed.inc(reconcile?.healed.length ?? 0);
  for (const { revision } of publish?.published ?? [])
    metrics.revisions.inc({ kind: revision === 1 ? 'first' : 'later' });
  const isTrouble = trouble !== null || (sync?.report.failure ?? null) !== null;
  metrics.merchants.inc({ outcome: isTrouble ? 'trouble' : 'good' });
}
