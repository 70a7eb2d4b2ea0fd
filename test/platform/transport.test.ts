import { describe, expect, test, vi } from 'vitest';
import { REPLY_BYTES_MAX } from '../../src/platform/attempt.ts';
import { PlatformRejected, PlatformReplyInvalid, PlatformUnreachable } from '../../src/platform/errors.ts';
import { RETRY_AFTER_MAX_MS } from '../../src/platform/tries.ts';
import type { Hold, SharedLimit, TimeSource } from '../../src/platform/rate-limiter.ts';
import type { Transport } from '../../src/platform/transport.ts';
import { virtualTime } from '../support/virtual-time.ts';
import {
  type Act,
  MERCHANT,
  TOKEN,
  answer,
  breakOff,
  callOf,
  rejection,
  reset,
  stall,
  stillTime,
  outOfScope,
  transportTo,
} from './stranger.ts';

describe('what is sent', () => {
  test('a POST with the merchant’s headers, below the path of the base address', async () => {
    const { url, received } = await outOfScope(answer('ok'));
    const { post } = transportTo(`${url}/gateway`);
    expect(await post(undefined, { pageNum: 1 })).toBe('ok');
    expect(received).toMatchObject([
      {
        path: '/gateway/api/sp2404',
        body: '{"pageNum":1}',
        headers: {
          authorization: `Bearer ${TOKEN}`,
          merchantno: 'M0001',
          'content-type': 'application/json',
        },
      },
    ]);
  });

  test('a token that resembles a template is not filled in again', async () => {
    const { url, received } = await outOfScope(answer('ok'));
    const { transport } = transportTo(url);
    const merchant = { merchantNo: 'M0001', token: '{merchantNo}$&' };
    await transport.post(callOf({ access: { kind: 'merchant', merchant } }));
    expect(received[0]!.headers.authorization).toBe('Bearer {merchantNo}$&');
  });

  test('connections are reused, and there are never more than the calls allowed at once', async () => {
    const sockets = new Set<unknown>();
    let now = 0;
    let most = 0;
    const { url, received } = await outOfScope((response) => {
      sockets.add(response.socket);
      most = Math.max(most, (now += 1));
      setImmediate(() => {
        now -= 1;
        response.end('ok');
      });
    });
    const { post } = transportTo(url, { concurrency: 3 });
    await Promise.all(Array.from({ length: 24 }, () => post()));
    expect(received).toHaveLength(24);
    expect(most).toBeLessThanOrEqual(3);
    expect(sockets.size).toBeLessThanOrEqual(3);
  });

  test('a rate limit spaces out the calls of all merchants together', async () => {
    const { url } = await outOfScope(answer('ok'));
    const time = stillTime();
    const { post } = transportTo(url, { rateLimitPerS: 4, concurrency: 1 }, time);
    const begin = time.clock();
    await Promise.all(Array.from({ length: 9 }, () => post()));
    expect(time.clock() - begin).toBe(8 * 250);
  });
});

describe('the platform’s clock', () => {
  const clockOf = async (headers: Record<string, string>) => {
    const { url } = await outOfScope(answer('ok', 200, headers));
    const { transport } = transportTo(url);
    let reported: unknown;
    await transport.post(callOf({ read: (text, { clock }) => ((reported = clock), text) }));
    return reported;
  };
  const nowMs = Date.UTC(2026, 3, 1);

  test('is read from the Date header, to the second', async () => {
    const date = new Date(nowMs - 600_000).toUTCString();
    expect(await clockOf({ date })).toEqual({ aheadMinMs: -600_000, aheadMaxMs: -599_001 });
  });

  test('is unknown without a Date header, with an unreadable one, and in a reply from a cache', async () => {
    const date = new Date(nowMs - 600_000).toUTCString();
    expect(await clockOf({})).toBeNull();
    expect(await clockOf({ date: 'half past nine' })).toBeNull();
    expect(await clockOf({ date, age: '600' })).toBeNull();
  });

  test('is as exact as the time from the call to the reply’s headers', async () => {
    let nowAtMs = nowMs;
    const { url } = await outOfScope((response) => {
      nowAtMs += 7_000;
      response.writeHead(200, { date: new Date(nowMs + 3_000).toUTCString() }).end('ok');
    });
    const { transport } = transportTo(url, {}, { machineClock: () => nowAtMs });
    let reported: unknown;
    await transport.post(callOf({ read: (text, { clock }) => ((reported = clock), text) }));
    expect(reported).toEqual({ aheadMinMs: -4_000, aheadMaxMs: 3_999 });
  });
});

describe('what is sent again', () => {
  test.each([
    ['a reset connection', reset],
    ['a reply that breaks off', breakOff('x'.repeat(1_000))],
    ['408', answer('', 408)],
    ['429', answer('', 429)],
    ['500', answer('oops', 500)],
    ['503', answer('', 503)],
  ])('%s, until the call succeeds', async (_, act) => {
    const { url, received } = await outOfScope(act, act, answer('ok'));
    const { post, retries } = transportTo(url);
    expect(await post()).toBe('ok');
    expect(received).toHaveLength(3);
    expect(retries.map(({ retry }) => retry)).toEqual([1, 2]);
  });

  test('not for ever: the error has the last reply and the number of tries', async () => {
    const { url, received } = await outOfScope(answer('{"msg":"maintenance"}', 503));
    const error = await rejection(transportTo(url).post());
    expect(error).toBeInstanceOf(PlatformUnreachable);
    expect(error.message).toBe(
      'sp2404 for merchant M0001: the platform answered 503: {"msg":"maintenance"}; tried 4 times',
    );
    expect(received).toHaveLength(4);
  });

  test('no listening server', async () => {
    const error = await rejection(transportTo('http://127.0.0.1:1', { retriesMax: 1 }).post());
    expect(error).toBeInstanceOf(PlatformUnreachable);
    expect(error.message).toMatch(/the connection failed \(connect ECONNREFUSED .*tried 2 times/);
  });

  test('waits grow up to a limit, with full jitter', async () => {
    const { url } = await outOfScope(answer('', 500));
    const longest = transportTo(url, { retriesMax: 10 }, { random: () => 1 });
    await rejection(longest.post());
    expect(longest.slept).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 20_000, 20_000, 20_000]);
    const halved = transportTo(url, { retriesMax: 3 }, { random: () => 0.5 });
    await rejection(halved.post());
    expect(halved.slept).toEqual([125, 250, 500]);
  });

  test.each([
    ['seconds', '7', 7_000],
    ['an HTTP date', new Date(Date.UTC(2026, 3, 1, 0, 0, 9)).toUTCString(), 9_000],
    ['a date in the past', new Date(Date.UTC(2026, 2, 1)).toUTCString(), 0],
    ['the longest wait accepted', '600', RETRY_AFTER_MAX_MS],
    ['nonsense', 'soon', 0],
  ])('Retry-After is obeyed: %s', async (_, header, waitMs) => {
    const { url } = await outOfScope(answer('', 429, { 'retry-after': header }), answer('ok'));
    const { post, slept } = transportTo(url);
    await post();
    expect(slept.reduce((sum, ms) => sum + ms, 0)).toBe(waitMs);
  });

  test.each([
    ['an hour', '3600', '3600 s'],
    ['a second too long', '601', '601 s'],
    ['a date of tomorrow', new Date(Date.UTC(2026, 3, 2)).toUTCString(), '86400 s'],
  ])(
    'Retry-After is never shortened: asked to wait %s, the call is given up at once, and others wait no longer than it would have',
    async (_, header, said) => {
      const { url, received } = await outOfScope(answer('', 503, { 'retry-after': header }), answer('ok'));
      const time = stillTime();
      const { post, slept } = transportTo(url, {}, time);
      const error = await rejection(post());
      expect(error).toBeInstanceOf(PlatformUnreachable);
      expect(error.message).toContain(
        `answered 503; it asks to wait ${said} (Retry-After), and a call waits 600 s at most: run again after that`,
      );
      expect([received.length, slept]).toEqual([1, []]);
      const begin = time.clock();
      await post();
      expect(time.clock() - begin).toBe(RETRY_AFTER_MAX_MS);
    },
  );

  test('the Retry-After of one call also applies to the others', async () => {
    const { url, received } = await outOfScope(answer('', 429, { 'retry-after': '60' }), answer('ok'));
    const time = stillTime();
    const { post } = transportTo(url, { retriesMax: 0 }, time);
    const begin = time.clock();
    await rejection(post());
    expect(time.clock() - begin).toBe(0);
    await post();
    expect(time.clock() - begin).toBe(60_000);
    expect(received).toHaveLength(2);
  });

  test(
    'a reply that stops and one that comes byte by byte both run into the time-out',
    { tags: ['long'] },
    async () => {
      const drip = await outOfScope((response) => {
        const timer = setInterval(() => response.write(' '), 5);
        response.on('close', () => clearInterval(timer));
      });
      for (const url of [(await outOfScope(stall)).url, drip.url]) {
        const error = await rejection(transportTo(url, { timeoutMs: 500, retriesMax: 1 }).post());
        expect(error).toBeInstanceOf(PlatformUnreachable);
        expect(error.message).toBe(
          'sp2404 for merchant M0001: no complete reply within 500 ms (PLATFORM_TIMEOUT_MS); tried 2 times',
        );
      }
    },
  );
});

test('a Retry-After reaches the other processes, the longest of each merchant, before the transport is closed', async () => {
  const { url } = await outOfScope(
    answer('', 429, { 'retry-after': '60' }),
    answer('', 429, { 'retry-after': '7' }),
  );
  const reported: (readonly Hold[])[] = [];
  let release: () => void = () => undefined;
  const shared: SharedLimit = {
    take: () => Promise.reject(new Error('there is no rate')),
    holds: () => Promise.resolve([]),
    sendHolds: (holds) => {
      reported.push(holds);
      return new Promise((resolve) => (release = resolve));
    },
  };
  const { transport, post } = transportTo(url, { retriesMax: 1 }, { shared });
  await rejection(post());
  await rejection(transport.post(callOf({ access: { kind: 'agent' } })));
  let isClosed = false;
  const closed = transport.close().then(() => (isClosed = true));
  expect(reported).toEqual([[{ owner: 'merchant M0001', forMs: 60_000 }]]);
  release();
  await vi.waitFor(() => expect(reported).toHaveLength(2));
  expect(isClosed).toBe(false);
  release();
  await closed;
  expect(reported[1]).toEqual([
    { owner: 'merchant M0001', forMs: 7_000 },
    { owner: 'the agent', forMs: 7_000 },
  ]);
});

describe('one merchant and the others', () => {
  const callFor = (merchantNo: string) =>
    callOf({ access: { kind: 'merchant', merchant: { merchantNo, token: TOKEN } } });
  /** Acts as `bad` for merchant BAD, and answers all others. */
  const badFor = (bad: Act): Act => {
    return (response, received, call) =>
      received.headers['merchantno'] === 'BAD' ? bad(response, received, call) : void response.end('ok');
  };
  const answers = (transport: Transport, merchantNo: string, count: number, signal?: AbortSignal) =>
    Promise.all(Array.from({ length: count }, () => transport.post(callFor(merchantNo), signal)));

  test('Retry-After for one merchant delays only that merchant', async () => {
    const time = virtualTime();
    const { url } = await outOfScope(badFor(answer('', 429, { 'retry-after': '5' })));
    const { transport } = transportTo(url, { retriesMax: 1, concurrency: 2 }, time);
    const begin = time.clock();
    const asleep: TimeSource['sleep'] = () => new Promise(() => undefined);
    const held = transportTo(url, { retriesMax: 1, concurrency: 2 }, { clock: time.clock, sleep: asleep });
    const stop = new AbortController();
    const bad = answers(held.transport, 'BAD', 8, stop.signal).catch(() => undefined);
    // Nothing ever wakes those sleeps. If one kept its slot, the slot would be lost for good.
    await answers(held.transport, 'GOOD', 20);
    stop.abort();
    await bad;
    expect(time.clock()).toBe(begin);
    const rejected = await rejection(transport.post(callFor('BAD')));
    expect([rejected.message, time.clock() - begin]).toEqual([
      expect.stringContaining('tried 2 times'),
      5_000,
    ]);
  });

  test('one whose calls are never answered leaves the others their slots', async () => {
    const { url } = await outOfScope(badFor(stall));
    const { transport } = transportTo(url, { timeoutMs: 60_000 });
    const stop = new AbortController();
    const bad = answers(transport, 'BAD', 32, stop.signal).catch(() => undefined);
    for (let round = 0; round < 5; round += 1) {
      expect(await answers(transport, 'GOOD', 8)).toHaveLength(8);
      expect(await answers(transport, `GOOD ${round}`, 2)).toHaveLength(2);
    }
    stop.abort();
    await bad;
  });

  test('one whose calls always fail takes no slot between its tries', async () => {
    const { url } = await outOfScope(badFor(answer('', 500)));
    const asleep = { clock: () => 0, sleep: () => new Promise<void>(() => undefined) };
    const { transport, retries } = transportTo(url, { concurrency: 1 }, asleep);
    void transport.post(callFor('BAD')).catch(() => undefined);
    expect(await answers(transport, 'GOOD', 3)).toEqual(['ok', 'ok', 'ok']);
    expect(retries).toHaveLength(1);
  });
});

describe('what is not sent again', () => {
  test.each([401, 403])('%d points to the token and the headers', async (status) => {
    const { url, received } = await outOfScope(answer(`{"bad":"Bearer ${TOKEN}"}`, status));
    const error = await rejection(transportTo(url).post());
    expect(error).toBeInstanceOf(PlatformRejected);
    expect(error.message).toBe(
      `sp2404 for merchant M0001: the platform answered ${status}; check the merchant's token, and PLATFORM_HEADERS ` +
        '(now Authorization, merchantNo): {"bad":"***"}',
    );
    expect(received).toHaveLength(1);
  });

  test('another 4xx', async () => {
    const { url, received } = await outOfScope(answer('no such path', 404));
    const error = await rejection(transportTo(url).post());
    expect(error).toBeInstanceOf(PlatformRejected);
    expect(error.message).toContain('answered 404: no such path');
    expect(received).toHaveLength(1);
  });

  test.each([301, 302, 303, 307, 308])('a redirect (%d) is named, not followed', async (status) => {
    const elsewhere = await outOfScope(answer('ok'));
    const location = `${elsewhere.url}/login?token=${encodeURIComponent(TOKEN)}`;
    const { url, received } = await outOfScope(answer('', status, { location }));
    const error = await rejection(transportTo(url).post());
    expect(error).toBeInstanceOf(PlatformRejected);
    expect(error.message).toContain(`redirects to ${elsewhere.url}/login (${status})`);
    expect([received.length, elsewhere.received.length]).toEqual([1, 0]);
  });

  test('a reply larger than the limit is cut off while it comes in', async () => {
    let sentBytes = 0;
    const { url } = await outOfScope((response) => {
      const chunk = Buffer.alloc(65_536, 32);
      const pour = (): void => {
        while (!response.destroyed && sentBytes < 10 * REPLY_BYTES_MAX) {
          sentBytes += chunk.length;
          if (!response.write(chunk)) return void response.once('drain', pour);
        }
        response.end();
      };
      pour();
    });
    const error = await rejection(transportTo(url, { retriesMax: 0 }).post());
    expect(error).toBeInstanceOf(PlatformReplyInvalid);
    expect(error.message).toContain(`more than ${REPLY_BYTES_MAX} bytes`);
    expect(sentBytes).toBeLessThan(5 * REPLY_BYTES_MAX);
  });

  test('bytes that are not UTF-8 are refused, not replaced', async () => {
    const { url, received } = await outOfScope(answer(Buffer.from([0x22, 0xff, 0xfe, 0x22])));
    const error = await rejection(transportTo(url, { retriesMax: 9 }).post());
    expect(error).toBeInstanceOf(PlatformReplyInvalid);
    expect(received).toHaveLength(3);
  });

  test('a token that cannot be put into a header is refused before anything is sent', async () => {
    const { url, received } = await outOfScope(answer('ok'));
    const { transport } = transportTo(url);
    const merchant = { merchantNo: 'M0001', token: 'abcdef\r\nX-Other: 1' };
    const error = await rejection(transport.post(callOf({ access: { kind: 'merchant', merchant } })));
    expect(error).toBeInstanceOf(PlatformRejected);
    expect(error.message).not.toContain('abcdef');
    expect(received).toHaveLength(0);
  });
});

describe('a caller that gives up', () => {
  test('before, while waiting for the reply, and between retries: the call rejects with its reason', async () => {
    const reason = new Error('enough');
    const { url } = await outOfScope(stall);
    const { post } = transportTo(url);
    expect(await rejection(post(AbortSignal.abort(reason)))).toBe(reason);

    const during = new AbortController();
    const pending = rejection(post(during.signal));
    setImmediate(() => during.abort(reason));
    expect(await pending).toBe(reason);

    const between = new AbortController();
    const failing = await outOfScope(answer('', 500));
    const retrying = transportTo(failing.url, {}, { onRetry: () => between.abort(reason) });
    expect(await rejection(retrying.post(between.signal))).toBe(reason);
    expect(failing.received).toHaveLength(1);
  });
});

test('no message and no reason of a retry ever shows the token, however the reply repeats it', async () => {
  const echoes = [
    TOKEN,
    JSON.stringify({ token: TOKEN }),
    TOKEN.replaceAll('/', '\\/'),
    encodeURIComponent(TOKEN),
    Buffer.from(TOKEN).toString('base64'),
    `${'x'.repeat(110)}${TOKEN}`,
  ];
  const forbidden = [
    TOKEN,
    'tok/3f',
    'tok\\/3f',
    'very=secret',
    encodeURIComponent(TOKEN),
    Buffer.from(TOKEN).toString('base64'),
  ];
  for (const echo of echoes) {
    for (const act of [
      answer(echo, 500),
      answer(echo, 401),
      answer(echo, 418),
      answer('', 302, { location: `/${echo}` }),
    ]) {
      const { url } = await outOfScope(act);
      const { post, retries } = transportTo(url, {
        retriesMax: 1,
        headers: { Auth: 'Key {token}', M: '{merchantNo}' },
      });
      const error = await rejection(post());
      const reported = JSON.stringify([
        error.message,
        error.stack,
        error.cause,
        Object.entries(error),
        retries,
      ]);
      for (const secret of forbidden) expect(reported).not.toContain(JSON.stringify(secret).slice(1, -1));
      expect(reported).toContain(MERCHANT.merchantNo);
    }
  }
});
