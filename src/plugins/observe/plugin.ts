import { observationSlot } from '../../web/observation.ts';
import { loadFor } from '../../host/packages.ts';
import type { Plugin } from '../../plugin.ts';

export const observe: Plugin = {
  name: 'observe',
  about: 'metrics for Prometheus, and traces by OpenTelemetry',
  settings: async () => (await import('./settings.ts')).observeSettings,
  docs: ['metrics.md', 'runbook.md#metrics-do-not-come-in'],
  commands: [
    {
      usage: 'metrics [options]',
      about: 'the state, as metrics for Prometheus',
      load: async () => (await import('./command.ts')).metricsCommand,
    },
  ],
  register: () =>
    observationSlot.fill({
      asksTraces: async (env) =>
        Object.keys(env).some((name) => name.startsWith('OTEL_')) &&
        (await import('./traces-wanted.ts')).tracesWanted(env) !== null,
      openTraces: async (options) => {
        const { openTraces } = await loadFor('traces', () => import('./traces.ts'));
        return openTraces(options);
      },
      createMetrics: async () => (await import('./metrics.ts')).processMetrics(),
    }),
};
