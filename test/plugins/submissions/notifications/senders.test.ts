/** Floods by one sender and by many, posted to `serve`: whoever knows a path cannot silence it, and nothing is answered 200 that is not kept. */
import { request } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { serve } from '../../../../src/plugins/submissions/serve.ts';
import { createGate, INBOX_LIMITS } from '../../../../src/plugins/submissions/inbox.ts';
import { newNotifySecret } from '../../../../src/store/notify-path.ts';
import { emptyTables, freshDatabase } from '../../../support/database.ts';
import { accepted, onboardingResult } from './subjects.ts';
import { KEYS, NOW } from './support.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
beforeAll(async () => (database = await freshDatabase()));
afterAll(() => database.close());
beforeEach(() => emptyTables(database.db));

interface Sender {
  /** The address that the connection comes from. */
  readonly localAddress?: string;
  /** What a trusted proxy says of it. */
  readonly forwarded?: string;
}

/** `serve`, with posts to it; all of them are given to `work`. */
async function served(
  work: (post: (path: string, sender: Sender, body?: string) => Promise<number>) => Promise<void>,
) {
  const controller = new AbortController();
  const { url, ended } = await serve(
    { database, now: () => NOW },
    { secretKeys: KEYS, listen: { host: '127.0.0.1', port: 0 } },
    controller.signal,
    {
      onRefusal: () => undefined,
      onProcessed: () => undefined,
      onFault: (error) => expect.fail(String(error)),
    },
  );
  const post = (path: string, { localAddress, forwarded }: Sender, body = '{}'): Promise<number> =>
    new Promise((resolve, reject) => {
      const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
      request(
        `${url}${path}`,
        { method: 'POST', headers, ...(localAddress !== undefined && { localAddress }) },
        (response) => {
          response.resume().on('end', () => resolve(response.statusCode!));
        },
      )
        .on('error', reject)
        .end(body);
    });
  try {
    await work(post);
  } finally {
    controller.abort();
    await ended;
  }
}

const kept = async () => (await database.db.selectFrom('notification').select('id').execute()).length;

it.each<[string, (n: number) => Sender]>([
  ['connections of their own', (n) => ({ localAddress: `127.0.0.${n}` })],
  ['a trusted proxy', (n) => ({ forwarded: `198.51.100.${n}` })],
  ['a trusted proxy, in IPv6', (n) => ({ forwarded: `2001:db8:${n.toString(16)}::7` })],
])(
  'a sender gets its result in, whatever ten others flood its path with, by %s',
  { timeout: 60_000 },
  async (_way, senderOf) => {
    const one = await accepted(database.db, 'A1');
    await served(async (post) => {
      const statuses: number[] = [];
      for (let n = 10; n < 20; n += 1)
        for (let posts = 0; posts < 70; posts += 1) statuses.push(await post(one.path, senderOf(n)));
      expect(new Set(statuses)).toEqual(new Set([200, 429]));
      expect(await kept()).toBe(statuses.filter((status) => status === 200).length);
      expect(await kept()).toBeLessThan(INBOX_LIMITS.pathPosts + 10 * INBOX_LIMITS.senderPosts + 1);
      expect(await post(one.path, senderOf(99), JSON.stringify(onboardingResult(one)))).toBe(200);
    });
    const { state } = await database.db.selectFrom('application').select('state').executeTakeFirstOrThrow();
    expect(['accepted', 'approved']).toContain(state);
  },
);

it('the networks of one customer are one sender of a path that is flooded', async () => {
  const one = await accepted(database.db, 'A1');
  await served(async (post) => {
    const senders = Array.from({ length: 300 }, (_, n) => ({ forwarded: `2001:db8:5:${n.toString(16)}::1` }));
    const statuses = [];
    for (const sender of senders) statuses.push(await post(one.path, sender));
    expect(statuses.filter((status) => status === 200)).toHaveLength(
      INBOX_LIMITS.pathPosts + INBOX_LIMITS.senderPosts,
    );
    expect(await post(one.path, { forwarded: '2001:db8:6::1' })).toBe(200);
  });
});

it(
  'of a flood by unknown paths nothing is answered with 200 that is not kept',
  { timeout: 60_000 },
  async () => {
    await served(async (post) => {
      const statuses: number[] = [];
      for (let n = 0; n < INBOX_LIMITS.unknownSourcePosts + 30; n += 1)
        statuses.push(await post(`/notify/onboarding/${newNotifySecret()}`, { localAddress: '127.0.0.9' }));
      expect(new Set(statuses)).toEqual(new Set([200, 429]));
      expect(await kept()).toBe(statuses.filter((status) => status === 200).length);
    });
  },
);

it('a flood of random paths does not make it forget how much a known path had', () => {
  const gate = createGate(INBOX_LIMITS, () => 0);
  const inLetIn = (count: number) =>
    Array.from({ length: count }, (_, n) => gate.letsIn('known', `192.0.2.${n % 250}`, true)).filter(Boolean)
      .length;
  const first = inLetIn(5_000);
  expect(first).toBeLessThanOrEqual(INBOX_LIMITS.pathPosts + INBOX_LIMITS.senderPostsInAll);
  for (let n = 0; n < 50_000; n += 1) gate.letsIn(`random ${n}`, '198.51.100.1', false);
  expect(inLetIn(5_000)).toBe(0);
});

it('what a proxy wrote that is no address is one sender, however long and often it changes', () => {
  const gate = createGate(INBOX_LIMITS, () => 0);
  const letIn = Array.from({ length: 500 }, (_, n) =>
    gate.letsIn('p', `garbage ${n} ${'x'.repeat(1_000)}`, true),
  );
  expect(letIn.filter(Boolean)).toHaveLength(INBOX_LIMITS.pathSourcePosts);
});
