/** `metrics`: the state as text for Prometheus; for a node that runs daybook from cron and has no port. */
import type { Command } from 'commander';
import { EXIT } from '../run/verdict/exit-codes.ts';
import { platformSettings, print, withApp } from './context.ts';
import { stateOf } from './observed.ts';

const HELP = `
Prints the state metrics of /metrics: last successful nightly run, proven, missing and open days, queue and inbox.
docs/reference/metrics.md lists all of them. Ends with 4 where a part could not be read.

Example, after a run from cron, for the textfile collector of Prometheus's node exporter:
  f=/var/lib/prometheus/node-exporter/daybook.prom; daybook metrics > $f.new; test -s $f.new && mv $f.new $f`;

export function addMetricsCommand(program: Command): void {
  program
    .command('metrics')
    .description('the state, as metrics for Prometheus')
    .addHelpText('after', HELP)
    .action(async (_flags: object, self: Command) => {
      const settings = platformSettings(self);
      const { stateText } = await import('../observe/metrics.ts');
      await withApp(settings, async ({ database: { db }, now }) => {
        const state = await (await stateOf({ settings, db, now }))();
        const isComplete = state.reads.every(({ isRead }) => isRead);
        print(self, {
          document: state,
          text: (await stateText(state)).trimEnd(),
          exitCode: isComplete ? EXIT.done : EXIT.incomplete,
        });
      });
    });
}
