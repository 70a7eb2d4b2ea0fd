/** `serve`: the HTTP server the platform pushes results to, with the processing of what it pushes. */
import type { Command } from 'commander';
import { serve } from '../web/serve.ts';
import { createLog, offlineSettings, stopSignal, tell, withHouse } from './context.ts';
import { lines } from './text.ts';

export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .description(
      'take in the results the platform pushes, and answer /healthz and /readyz; stop it with SIGTERM or Ctrl-C',
    )
    .addHelpText(
      'after',
      '\nListens on DAYBOOK_LISTEN; the platform reaches it by https under DAYBOOK_PUBLIC_URL, through a proxy that ' +
        'ends TLS.\nNeeds DAYBOOK_SECRET_KEYS.',
    )
    .action(async (_flags: object, self: Command) => {
      const settings = offlineSettings(self);
      const log = createLog(settings.logLevel);
      await withHouse(settings, async (house) => {
        const signal = stopSignal();
        const { url, ended } = await serve(house, settings, signal, {
          onRefusal: (event) => log[event.status < 500 ? 'info' : 'error'](event, 'refused'),
          onProcessed: (report) =>
            log[report.left.length === 0 ? 'info' : 'error'](report, 'notifications looked at'),
          onFault: (error) =>
            log.error({ problem: error instanceof Error ? error.name : 'unknown' }, 'processing failed'),
        });
        tell(self, {
          document: { url, publicUrl: settings.publicUrl },
          text: lines(
            `listening at ${url}: notifications, /healthz, /readyz. Ctrl-C ends it.`,
            settings.publicUrl === null &&
              'DAYBOOK_PUBLIC_URL is not set: applications and registrations submitted now name no address of ours.',
          ),
        });
        await ended;
        log.info('no longer listening');
      });
    });
}
