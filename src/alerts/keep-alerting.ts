/** What a process that lives does about alerts, beside its work: sends what is due, and looks for what nobody noticed. */
import { setTimeout as sleep } from 'node:timers/promises';

const SEND_EVERY_MS = 10_000;
/** How often it is looked for nights that were missed, and the like. */
const LOOK_EVERY_MS = 30_000;

export interface Alerting {
  /** Sends what is due. */
  readonly deliver: () => Promise<unknown>;
  /** Raises what nobody else would. */
  readonly look: () => Promise<unknown>;
  /** Called with what failed. The next try comes in its time. */
  readonly onFault: (error: unknown) => void;
  readonly signal: AbortSignal;
  readonly sendEveryMs?: number;
  readonly lookEveryMs?: number;
}

/** Goes on until the signal aborts, and sends once more then. Never rejects. */
export async function keepAlerting({
  deliver,
  look,
  onFault,
  signal,
  sendEveryMs = SEND_EVERY_MS,
  lookEveryMs = LOOK_EVERY_MS,
}: Alerting): Promise<void> {
  let lookedMs = -Infinity;
  while (!signal.aborted) {
    try {
      if (performance.now() - lookedMs >= lookEveryMs) {
        lookedMs = performance.now();
        await look();
      }
      await deliver();
    } catch (error) {
      onFault(error);
    }
    await sleep(sendEveryMs, undefined, { signal }).catch(() => undefined);
  }
  await deliver().catch(onFault);
}
