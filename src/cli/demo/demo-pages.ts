/** The pages of `npm start`, on a terminal: they stay open until stopped. */
import { once } from 'node:events';
import type { PlatformApp } from '../../run/app.ts';
import type { ListenAddress } from '../../settings/values/addresses.ts';

/** Where `npx daybook serve` with the demo's settings shows them, too. */
export const DEMO_PAGES: ListenAddress = { host: '127.0.0.1', port: 8082 };

/** Calls `show` with the pages' address once they are served, and closes them after the signal. */
export async function showDemoPages(
  app: PlatformApp,
  signal: AbortSignal,
  show: (url: string) => Promise<void>,
): Promise<void> {
  // Loading the server takes long, and a script has no use for it.
  const { pagesShown } = await import('../pages-shown.ts');
  const { createPagesServer } = await import('../../web/pages-server.ts');
  const { listenOn, ListenRefused } = await import('../../web/server.ts');
  const deps = {
    ...pagesShown({ ...app.settings, pagesListen: DEMO_PAGES }, app)!,
    onRefusal: () => undefined,
  };
  let server = createPagesServer(deps);
  const url = await listenOn(server, DEMO_PAGES).catch(async (error: unknown) => {
    if (!(error instanceof ListenRefused)) throw error;
    // Somebody else has the port.
    server = createPagesServer(deps);
    return listenOn(server, { ...DEMO_PAGES, port: 0 });
  });
  try {
    await show(url);
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    server.server.closeAllConnections();
    await server.close();
  }
}
