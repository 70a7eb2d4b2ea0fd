/** Makes docs/reference/metrics.md, from the metrics that there are. */
import type { Registry } from 'prom-client';
import { createMetrics, STATE_METRICS } from '../../src/plugins/observe/metrics.ts';
import { cell, code, MADE_BY, table } from './markdown.ts';

interface Told {
  readonly name: string;
  readonly kind: string;
  readonly labels: readonly string[];
  readonly help: string;
}

/** The metrics of work of a process, without those of Node. */
async function workMetrics(): Promise<Told[]> {
  const { registry } = createMetrics();
  const all = await registry.getMetricsAsJSON();
  return all
    .filter(({ name }) => name.startsWith('daybook_'))
    .map(({ name, help, type }) => ({ name, help, kind: String(type), labels: labelsOf(registry, name) }));
}

/** The package tells a metric's labels in no type. */
const labelsOf = (registry: Registry, name: string): readonly string[] =>
  (registry.getSingleMetric(name) as unknown as { readonly labelNames: readonly string[] }).labelNames;

const rowsOf = (metrics: readonly Told[]): string[][] =>
  metrics.map(({ name, kind, labels, help }) => [code(name), kind, labels.map(code).join(', '), cell(help)]);

/** docs/reference/metrics.md, before it is formatted. */
export async function metricsPage(): Promise<string> {
  const state = STATE_METRICS.map(({ name, help, labels = [] }) => ({ name, help, labels, kind: 'gauge' }));
  const columns = ['metric', 'kind', 'labels', 'what it tells'];
  return [
    '# Metrics',
    MADE_BY,
    'What `/metrics` tells, where DAYBOOK_HEALTH_LISTEN gives it an address; `daybook metrics` prints the second part. ' +
      '[metrics.md](../metrics.md) has how to scrape them, the alerts, the dashboard and traces.',
    '## What the process does',
    'Counted since it began, by `schedule` and `worker`. Beside them are the default metrics of Node (`process_...`, `nodejs_...`).',
    table(columns, rowsOf(await workMetrics())),
    '## How everything stands',
    'Read from the database, by whichever process is asked. What is not known has no sample. Those with the label `merchant` ' +
      'are told only with DAYBOOK_METRICS_MERCHANTS.',
    table(columns, rowsOf(state)),
  ].join('\n\n');
}
