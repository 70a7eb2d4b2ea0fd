/** What `serve` runs: the HTTP server, and the processing of what comes in by it, until it is asked to stop. */
import { createInbox } from '../notifications/inbox.ts';
import { keepProcessing } from '../notifications/keep-processing.ts';
import type { ProcessReport } from '../notifications/process.ts';
import type { House } from '../run/house.ts';
import type { SettingsWithoutPlatform } from '../settings/settings.ts';
import { adoptSecretKey } from '../store/key-check.ts';
import { UnknownSecretKey } from '../store/secrets.ts';
import { readinessOf } from './readiness.ts';
import { createWebServer, listenOn, type WebEvent } from './server.ts';

export interface ServeEvents {
  readonly onRefusal: (event: WebEvent) => void;
  readonly onProcessed: (report: ProcessReport) => void;
  readonly onFault: (error: unknown) => void;
}

export interface Serving {
  readonly url: string;
  /** Resolves after the signal: no request is cut off, and no notification is half looked at. */
  readonly ended: Promise<void>;
}

/**
 * Listens once it resolves. Throws `UnknownSecretKey` where there is no key, `SecretKeyWrong` where it is another than
 * the one known, as nothing could be taken in; or `ListenRefused`.
 */
export async function serve(
  { database, now }: Pick<House, 'database' | 'now'>,
  { secretKeys, listen }: Pick<SettingsWithoutPlatform, 'secretKeys' | 'listen'>,
  signal: AbortSignal,
  { onRefusal, onProcessed, onFault }: ServeEvents,
): Promise<Serving> {
  if (secretKeys.length === 0) {
    throw new UnknownSecretKey(
      'serve keeps what it receives encrypted, and DAYBOOK_SECRET_KEYS is not set: set it to id:base64 with 32 random ' +
        'bytes, such as `k1:$(head -c 32 /dev/urandom | base64)`.',
    );
  }
  const { db } = database;
  await adoptSecretKey(db, secretKeys);
  const stopping = new AbortController();
  const processing = keepProcessing({
    db,
    secretKeys,
    now,
    signal: stopping.signal,
    onReport: onProcessed,
    onFault,
  });
  const server = createWebServer({
    inbox: createInbox({ db, secretKeys, now, onKept: processing.wake }),
    readiness: () => readinessOf({ db, secretKeys, signal }),
    onRefusal,
  });
  const stop = async (): Promise<void> => {
    await server.close();
    stopping.abort();
    await processing.ended;
  };
  try {
    const url = await listenOn(server, listen);
    return { url, ended: aborted(signal).then(stop) };
  } catch (error) {
    await stop();
    throw error;
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  if (signal.aborted) resolve(undefined);
  else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  return promise;
}
