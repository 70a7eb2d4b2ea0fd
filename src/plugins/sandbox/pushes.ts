/** Sends notifications to callback addresses, each until it is answered with 200 (docs/platform.md 6). */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { staysHere } from './field-checks.ts';
import { LATITUDE_DEFAULTS, pushed, type Latitude } from './latitude.ts';

export const pushSchema = z.strictObject({
  /**
   * Ms before the second try; twice as long before each later one. The document shows no interval (docs/platform.md
   * 6.2).
   */
  retryMs: z.int().min(1).default(200),
  retryMsMax: z.int().min(1).default(5_000),
  /** How long a receiver may take to answer, ms. */
  timeoutMs: z.int().min(1).default(5_000),
});
export type PushSettings = z.output<typeof pushSchema>;
export const PUSH_DEFAULTS: PushSettings = pushSchema.parse({});

export interface Push {
  readonly operation: 'sp3101' | 'sp3401';
  readonly url: string;
  readonly payload: object;
}

/** A notification and what became of it so far. */
export interface Delivery extends Push {
  readonly tries: number;
  /** The status that answered the last try, or why there is none. */
  readonly lastAnswer: string;
  readonly isDelivered: boolean;
}

export interface Pushes {
  /** Sends until the answer is 200. Resolves then, or when the sandbox closes. */
  readonly send: (push: Push) => Promise<void>;
  readonly all: () => readonly Delivery[];
  readonly close: () => void;
}

export function createPushes(
  { retryMs, retryMsMax, timeoutMs }: PushSettings,
  latitude: Latitude = LATITUDE_DEFAULTS,
): Pushes {
  const closing = new AbortController();
  const deliveries: { -readonly [Field in keyof Delivery]: Delivery[Field] }[] = [];

  /** The status as text, or what went wrong. Any 200 counts, whatever its body holds (docs/platform.md 6.1). */
  const tryOnce = async ({ url, payload }: Push): Promise<string> => {
    try {
      const response = await fetch(latitude.pushSlash ? `${url}/` : url, {
        method: 'POST',
        headers: latitude.pushType === '' ? {} : { 'content-type': latitude.pushType },
        // Sent as bytes, as fetch would add a content type to text.
        body: pushed(payload, latitude),
        redirect: 'manual',
        signal: AbortSignal.any([closing.signal, AbortSignal.timeout(timeoutMs)]),
      });
      await response.body?.cancel();
      return String(response.status);
    } catch (error) {
      return error instanceof Error ? error.name : String(error);
    }
  };

  const send = async (push: Push): Promise<void> => {
    const delivery = { ...push, tries: 0, lastAnswer: 'not sent', isDelivered: false };
    deliveries.push(delivery);
    if (!staysHere(push.url)) {
      delivery.lastAnswer = 'not sent: the sandbox speaks to this machine only';
      return;
    }
    while (!closing.signal.aborted) {
      delivery.tries += 1;
      delivery.lastAnswer = await tryOnce(push);
      if (delivery.lastAnswer === '200') {
        delivery.isDelivered = true;
        return;
      }
      const waitMs = Math.min(retryMsMax, retryMs * 2 ** (delivery.tries - 1));
      await sleep(waitMs, undefined, { signal: closing.signal }).catch(() => undefined);
    }
  };

  return { send, all: () => deliveries.map((delivery) => ({ ...delivery })), close: () => closing.abort() };
}
