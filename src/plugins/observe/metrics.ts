/** The text of `/metrics` and of `daybook metrics`: what this process does, and how everything stands. */
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Observer } from '../../run/active-run.ts';
import { INBOX_METRICS, LEDGER_METRICS, MERCHANT_METRICS, type StateMetric } from './ledger-metrics.ts';
import type { ProcessMetrics } from '../../web/observation.ts';
import { stateOf, type State } from './state.ts';
import { createWorkMetrics } from './work-metrics.ts';

export const METRICS_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

const READS: readonly StateMetric[] = [
  {
    name: 'daybook_state_read',
    help: 'Whether a part of the state could be read in time: database, ledger, inbox, merchants. Where it is 0, the metrics of the part are left out.',
    labels: ['part'],
    samples: ({ reads }) => reads.map(({ part, isRead }) => ({ value: Number(isRead), labels: { part } })),
  },
  {
    name: 'daybook_state_read_duration_seconds',
    help: 'How long reading the part took.',
    labels: ['part'],
    samples: ({ reads }) => reads.map(({ part, seconds }) => ({ value: seconds, labels: { part } })),
  },
];

/** All metrics of the state, in order of output. */
export const STATE_METRICS: readonly StateMetric[] = [
  ...READS,
  ...LEDGER_METRICS,
  ...INBOX_METRICS,
  ...MERCHANT_METRICS,
];

export async function stateText(state: State): Promise<string> {
  const registry = new Registry();
  for (const { name, help, labels = [], samples } of STATE_METRICS) {
    const found = samples(state);
    if (found.length === 0) continue;
    const gauge = new Gauge({ name, help, labelNames: [...labels], registers: [registry] });
    for (const { value, labels: own = {} } of found) gauge.set(own, value);
  }
  return registry.metrics();
}

export interface CountedProcess {
  /** Receives the events of the process's work. */
  readonly observer: Omit<Observer, 'trace'>;
  readonly registry: Registry;
  /** The complete text; `state` supplies the state metrics. */
  readonly text: (state: State) => Promise<string>;
}

/** The metrics of this process. Each call makes new ones; nothing is shared. */
export function createMetrics(): CountedProcess {
  const registry = new Registry();
  const observer = createWorkMetrics(registry);
  collectDefaultMetrics({ register: registry });
  return {
    observer,
    registry,
    text: async (state) => (await registry.metrics()) + (await stateText(state)),
  };
}

/** The same, with what is stored read when the page is asked for. */
export function processMetrics(): ProcessMetrics {
  const { observer, text } = createMetrics();
  return {
    observer,
    page: (source) => {
      const state = stateOf(source);
      return { contentType: METRICS_TYPE, text: async () => text(await state()) };
    },
  };
}
