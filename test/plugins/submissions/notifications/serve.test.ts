import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ProcessReport } from '../../../../src/plugins/submissions/notifications.ts';
import { markAccepted } from '../../../../src/plugins/submissions/applications.ts';
import { ListenRefused } from '../../../../src/web/server.ts';
import { serve, type Serving } from '../../../../src/plugins/submissions/serve.ts';
import { accepted, onboardingResult, submitting } from './subjects.ts';
import { KEYS, NOW } from './support.ts';
import { freshDatabase } from '../../../support/database.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
beforeAll(async () => (database = await freshDatabase()));
afterAll(() => database.close());

const LISTEN = { host: '127.0.0.1', port: 0 };

interface Started extends Serving {
  readonly stop: () => Promise<void>;
  /** The next report that has processed something. */
  readonly processed: () => Promise<ProcessReport>;
}

async function started(): Promise<Started> {
  const controller = new AbortController();
  const reports: ProcessReport[] = [];
  let reported = Promise.withResolvers<undefined>();
  const serving = await serve(
    { database, now: () => NOW },
    { secretKeys: KEYS, listen: LISTEN },
    controller.signal,
    {
      onRefusal: () => undefined,
      onProcessed: (report) => {
        reports.push(report);
        reported.resolve(undefined);
      },
      onFault: (error) => expect.fail(String(error)),
    },
  );
  return {
    ...serving,
    stop: async () => {
      controller.abort();
      await serving.ended;
    },
    processed: async () => {
      if (reports.length === 0) await reported.promise;
      reported = Promise.withResolvers();
      return reports.shift()!;
    },
  };
}

const push = (url: string, path: string, payload: object) =>
  fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(payload),
  });

it('an approval is applied right after its notification is answered', async () => {
  const one = await accepted(database.db, 'A1');
  const serving = await started();
  expect((await push(serving.url, one.path, onboardingResult(one))).status).toBe(200);
  expect(await serving.processed()).toEqual({ outcomes: { applied: 1 }, left: [] });
  await serving.stop();
  await expect(fetch(`${serving.url}/healthz`)).rejects.toThrow();
});

it('a stop that was asked for before it listens ends it at once', { timeout: 10_000 }, async () => {
  const events = { onRefusal: () => undefined, onProcessed: () => undefined, onFault: () => undefined };
  const app = { database, now: () => NOW };
  const { url, ended } = await serve(app, { secretKeys: KEYS, listen: LISTEN }, AbortSignal.abort(), events);
  await ended;
  await expect(fetch(`${url}/healthz`)).rejects.toThrow();
});

it('a notification from before a stop is processed after the next start, once our own reply is stored', async () => {
  const one = await submitting(database.db, 'A2');
  const first = await started();
  await push(first.url, one.path, onboardingResult(one));
  expect((await first.processed()).outcomes).toEqual({ waiting: 1 });
  await first.stop();
  await markAccepted(database.db, one.id, { bizFlow: one.flow, now: NOW });
  const second = await started();
  expect((await second.processed()).outcomes).toEqual({ applied: 1 });
  await second.stop();
});

it('does not start without a key, nor on a port that is taken, and leaves nothing running', async () => {
  const signal = new AbortController().signal;
  const events = { onRefusal: () => undefined, onProcessed: () => undefined, onFault: () => undefined };
  const app = { database, now: () => NOW };
  await expect(serve(app, { secretKeys: [], listen: LISTEN }, signal, events)).rejects.toThrow(
    /DAYBOOK_SECRET_KEYS/,
  );
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as { port: number };
  await expect(
    serve(app, { secretKeys: KEYS, listen: { host: '127.0.0.1', port } }, signal, events),
  ).rejects.toThrow(ListenRefused);
  taken.close();
});
