/** Every oracle by its kind. */
import { chainOracle } from './chains.ts';
import { historyOracle } from './histories.ts';
import type { Kind, Oracle } from './oracle.ts';

/** Opens one; all but the chains' need a PostgreSQL server with the migrated template. */
export async function openOracle(kind: Kind, serverUrl: () => string): Promise<Oracle<unknown>> {
  switch (kind) {
    case 'chains':
      return chainOracle() as Oracle<unknown>;
    case 'windows':
      throw new Error('not yet');
    case 'histories':
      return (await historyOracle(serverUrl())) as Oracle<unknown>;
  }
}
