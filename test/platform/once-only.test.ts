import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { PlatformRejected, PlatformUnreachable } from '../../src/platform/errors.ts';
import {
  AGENT_TOKEN,
  answer,
  breakOff,
  callOf,
  rejection,
  reset,
  stall,
  outOfScope,
  transportTo,
  type Act,
} from './stranger.ts';

const ONCE = { operation: 'sp1101', access: { kind: 'agent' }, repeatable: false } as const;
/** How often the platform got the call and how the call ended. A second call would get a good answer. */
async function sendOnce(first: Act, more: Parameters<typeof transportTo>[1] = {}) {
  const { url, received } = await outOfScope(first, answer('ok'));
  // Long enough for the call to be sent on a busy machine.
  const { transport } = transportTo(url, { timeoutMs: first === stall ? 2_000 : 30_000, ...more });
  const outcome = await transport.post(callOf(ONCE)).catch((error: unknown) => error as Error);
  return { outcome, calls: received.length };
}

describe('a call that must not be sent twice', () => {
  test.each<[string, Act]>([
    ['a connection reset after it was sent', reset],
    ['no answer in time', stall],
    ['an answer that breaks off', breakOff('x'.repeat(1_000))],
    ['500', answer('', 500)],
    ['502 with Retry-After', answer('', 502, { 'retry-after': '1' })],
    ['503 that asks for nothing', answer('', 503)],
    ['429 that asks for nothing', answer('', 429)],
    ['408', answer('', 408)],
    ['a redirect to what it led to', answer('', 303, { location: '/elsewhere' })],
    ['bytes that are no text', answer(Buffer.from([0xff]))],
  ])('is not sent again after %s, and the error says that it may have arrived', async (_, act) => {
    const { outcome, calls } = await sendOnce(act);
    expect(outcome).toMatchObject({ mayHaveArrived: true });
    expect(calls).toBe(1);
  });

  test.each<[string, Act]>([
    ['429', answer('', 429, { 'retry-after': '1' })],
    ['503', answer('', 503, { 'retry-after': '1' })],
  ])(
    'is not repeated automatically after a %s with a time to wait, and counts as not arrived',
    async (_, act) => {
      const { outcome, calls } = await sendOnce(act);
      expect(outcome).toMatchObject({ name: 'PlatformUnreachable', mayHaveArrived: false });
      expect(calls).toBe(1);
    },
  );

  test.each<[string, Act]>([
    ['400', answer('{"code":"E40000"}', 400)],
    ['401', answer('', 401)],
    ['308', answer('', 308, { location: '/elsewhere' })],
  ])('was certainly not done after %s', async (_, act) => {
    const { outcome, calls } = await sendOnce(act);
    expect(outcome).toBeInstanceOf(PlatformRejected);
    expect(outcome).toMatchObject({ mayHaveArrived: false });
    expect(calls).toBe(1);
  });

  test('is sent again without a listening server, as it certainly did not arrive', async () => {
    const { transport, retries } = transportTo('http://127.0.0.1:1', { retriesMax: 2 });
    const error = await rejection(transport.post(callOf(ONCE)));
    expect(error).toBeInstanceOf(PlatformUnreachable);
    expect(error).toMatchObject({ mayHaveArrived: false });
    expect(retries).toHaveLength(2);
  });

  test('did not arrive if its time ran out before there was a connection', async () => {
    // Accepts connections and sends nothing, so that no TLS session is made.
    const mute = createServer(() => undefined);
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void mute.close());
    const { port } = mute.address() as AddressInfo;
    const { transport } = transportTo(`https://127.0.0.1:${port}`, { timeoutMs: 80, retriesMax: 0 });
    const error = await rejection(transport.post(callOf(ONCE)));
    expect(error).toMatchObject({ name: 'PlatformUnreachable', mayHaveArrived: false });
  });
});

test('a call may have arrived if any of its tries may have', async () => {
  const { url, received } = await outOfScope(reset, answer('', 429, { 'retry-after': '1' }));
  const { transport } = transportTo(url, { retriesMax: 1 });
  expect(await rejection(transport.post(callOf()))).toMatchObject({ mayHaveArrived: true });
  expect(received).toHaveLength(2);
});

describe('the agent’s calls', () => {
  test('carry the agent’s headers and none of a merchant’s', async () => {
    const { url, received } = await outOfScope(answer('ok'));
    await transportTo(url).transport.post(callOf({ access: { kind: 'agent' } }));
    expect(received[0]!.headers).toMatchObject({ authorization: `Agent ${AGENT_TOKEN}`, channel: 'A0001' });
    expect(received[0]!.headers.merchantno).toBeUndefined();
  });

  test('say what to do about a 401, without the token', async () => {
    const { url } = await outOfScope(answer(`who is ${AGENT_TOKEN}?`, 401));
    const error = await rejection(transportTo(url).transport.post(callOf(ONCE)));
    expect(error.message).toBe(
      'sp1101 for the agent: the platform answered 401; check PLATFORM_AGENT_TOKEN, and PLATFORM_AGENT_HEADERS ' +
        '(now Authorization, channel): who is ***?',
    );
  });
});

describe('the reply to a call with personal data', () => {
  const body = {
    email: 'zhang.wei@example.test',
    phoneNum: '13800001111',
    director: [{ certName: 'Zhang Wei', certNo: 'E4000012', currentAddress: '1 Long Road' }],
  };
  const refusal = async (reply: string, status = 400) => {
    const { url } = await outOfScope(answer(reply, status));
    const { transport } = transportTo(url, { retriesMax: 0 });
    return rejection(transport.post(callOf({ ...ONCE, confidential: true, body })));
  };

  test('is quoted only by its code and the fields it names', async () => {
    const reply =
      '{"code":"E40001","message":"certNo E4000012 of ZHANG WEI: director must be 18; phoneNum?"}';
    const error = await refusal(reply);
    expect(error.message).toBe(
      'sp1101 for the agent: the platform answered 400: code E40001, naming phoneNum, director, certNo ' +
        '(the rest may repeat personal data and is not shown)',
    );
    expect(error instanceof PlatformRejected && error.replyText()).toBe(reply);
  });

  test.each([
    ['a code that is a piece of what was sent', '{"code":"E40000"}'],
    ['a code in lower case', '{"code":"e40001"}'],
    ['text', 'ZHANG WEI is known to us'],
    ['an array', '["Zhang Wei"]'],
  ])('%s is not shown', async (_, reply) => {
    expect((await refusal(reply)).message).toBe(
      'sp1101 for the agent: the platform answered 400: (the reply may repeat personal data and is not shown)',
    );
  });

  test('no error shows it to a serializer', async () => {
    const error = await refusal('{"code":"E1","message":"Zhang Wei"}');
    const shown = JSON.stringify([error, Object.entries(error), error.stack, error.message]);
    expect(shown).not.toMatch(/zhang/i);
  });
});
