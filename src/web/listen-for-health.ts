/** Answers `/healthz`, `/readyz` and `/metrics` of a process that serves nothing else: `schedule` and `worker`. */
import type { ListenAddress } from '../settings/values/addresses.ts';
import { createHealthServer, listenOn, type HealthServerDeps } from './server.ts';

export interface HealthListener {
  readonly url: string;
  readonly close: () => Promise<void>;
}

/** Resolves once it listens. Throws `ListenRefused`. */
export async function listenForHealth(
  address: ListenAddress,
  deps: HealthServerDeps,
): Promise<HealthListener> {
  const server = createHealthServer(deps);
  const close = async (): Promise<void> => {
    server.server.closeAllConnections();
    await server.close();
  };
  try {
    return { url: await listenOn(server, address, 'DAYBOOK_HEALTH_LISTEN'), close };
  } catch (error) {
    await close();
    throw error;
  }
}
