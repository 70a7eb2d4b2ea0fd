/** `metrics`: how everything stands, as metrics for Prometheus. */
import type { Command } from 'commander';
import { answerWith, platformSettings } from '../../cli/context.ts';
import { EXIT } from '../../run/verdict/exit-codes.ts';
import { stateText } from './metrics.ts';
import { stateOf } from './state.ts';

const METRICS_HELP = `
Prints the state metrics of /metrics: last successful nightly run, proven, missing and open days, queue and inbox.
docs/reference/metrics.md lists all of them. Ends with 4 where a part could not be read.

Example, after a run from cron, for the textfile collector of Prometheus's node exporter:
  f=/var/lib/prometheus/node-exporter/daybook.prom; daybook metrics > $f.new; test -s $f.new && mv $f.new $f`;

export function metricsCommand(command: Command): void {
  command.addHelpText('after', METRICS_HELP).action(async (_flags: object, self: Command) => {
    const settings = platformSettings(self);
    await answerWith(settings, self, async ({ db, now }) => {
      const state = await stateOf({ settings, db, now })();
      const isComplete = state.reads.every(({ isRead }) => isRead);
      const text = (await stateText(state)).trimEnd();
      return { document: state, text, exitCode: isComplete ? EXIT.done : EXIT.incomplete };
    });
  });
}
