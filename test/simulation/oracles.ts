/** All oracles, by their kind. */
import { absenceOracle } from './absences.ts';
import { chainOracle } from './chains.ts';
import { historyOracle } from './histories.ts';
import { orderOracle } from './orders.ts';
import { proofOracle } from './proofs.ts';
import { refusalOracle } from './refusals.ts';
import { stretchOracle } from './stretches.ts';
import { windowOracle } from './windows.ts';
import type { Kind, Oracle } from './oracle.ts';

/** Opens an oracle. All except that of the chains need a PostgreSQL server with the migrated template. */
export async function openOracle(kind: Kind, serverUrl: () => string): Promise<Oracle<unknown>> {
  switch (kind) {
    case 'chains':
      return chainOracle() as Oracle<unknown>;
    case 'windows':
      return (await windowOracle(serverUrl())) as Oracle<unknown>;
    case 'histories':
      return (await historyOracle(serverUrl())) as Oracle<unknown>;
    case 'proofs':
      return (await proofOracle(serverUrl())) as Oracle<unknown>;
    case 'refusals':
      return (await refusalOracle(serverUrl())) as Oracle<unknown>;
    case 'absences':
      return (await absenceOracle(serverUrl())) as Oracle<unknown>;
    case 'orders':
      return (await orderOracle(serverUrl())) as Oracle<unknown>;
    case 'stretches':
      return (await stretchOracle(serverUrl())) as Oracle<unknown>;
  }
}
