/** What headers say of a single try: known answers, each try anew, and nothing of it in messages. */
import { describe, expect, test } from 'vitest';
import { PlatformRejected, PlatformUnreachable } from '../../src/platform/errors.ts';
import {
  AGENT_TOKEN,
  answer,
  callOf,
  MERCHANT,
  outOfScope,
  rejection,
  stillTime,
  transportTo,
} from './stranger.ts';

const KEY = 'a made-up key';
const AGENT = { access: { kind: 'agent' } } as const;
const signedBy = (template: string, key = KEY) => ({ signing: { template, key } });
const countingNonce = () => {
  let count = 0;
  return { nonce: () => `N-${(count += 1)}`, count: () => count };
};

describe('a signature', () => {
  test.each([
    [
      'Jefe',
      'what do ya want for nothing?',
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    ],
    [
      'key',
      'The quick brown fox jumps over the lazy dog',
      'f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8',
    ],
  ])('with the key %s is the published one (RFC 4231 and others)', async (key, text, mac) => {
    const { url, received } = await outOfScope(answer('ok'));
    const headers = { a: 'v1={signature}', b: '{signatureBase64}' };
    await transportTo(url, { headers, ...signedBy(text, key) }).post();
    expect(received[0]!.headers).toMatchObject({
      a: `v1=${mac}`,
      b: Buffer.from(mac, 'hex').toString('base64'),
    });
  });

  test('is over the bytes that are sent: the path with its prefix, the time, the nonce, the hash of the body', async () => {
    const { url, received } = await outOfScope(answer('ok'));
    const template = '{method}\n{path}\n{timestamp}\n{nonce}\n{bodySha256}\n{merchantNo}{agentToken}';
    const headers = {
      sign: '{signature}',
      sign64: '{signatureBase64}',
      time: '{timestamp}',
      hash: '{bodySha256}',
    };
    const deps = { ...stillTime(), nonce: countingNonce().nonce };
    await transportTo(`${url}/gateway`, { headers, ...signedBy(template) }, deps).post(undefined, {
      a: 'é€',
    });
    // By openssl.
    expect(received[0]!.headers).toMatchObject({
      sign: 'af15ee94a946e96d3795cd9bd379a84fdaf138378d7e5c47950fe729d6ae25fe',
      sign64: 'rxXulKlG6W03lc2b03moT9rxODeNflxHlQ/nKdauJf4=',
      time: '1775001600000',
      hash: '7d076f860d8db0fcc8b3e8ac32712424430f0856dc588c5f9b8a499bda530000',
    });
  });

  test('of the agent’s call has the agent’s values, and nothing of a merchant', async () => {
    const { url, received } = await outOfScope(answer('ok'));
    const settings = {
      agentHeaders: { sign: '{signature}', time: '{timestampS}' },
      ...signedBy('{referralChannel}{merchantNo}{token}{timestampS}{body}'),
    };
    await transportTo(url, settings, stillTime()).transport.post(callOf({ ...AGENT, body: { a: 1 } }));
    expect(received[0]!.headers).toMatchObject({
      sign: '751e37cfddbd01b054ae2be6f5706c46df3047306701054c7a940c06f485d40f',
      time: '1775001600',
    });
  });
});

describe('each try', () => {
  const headers = { time: '{timestamp}', nonce: '{nonce}', sign: '{signature}' };
  const signed = { headers, ...signedBy('{timestamp}{nonce}{body}') };

  test('has its own time, nonce and signature', async () => {
    const { url, received } = await outOfScope(answer('', 500), answer('', 500), answer('ok'));
    await transportTo(url, signed, { random: () => 0.5 }).post();
    const sent = received.map(({ headers: { time, nonce, sign } }) => ({ time, nonce, sign }));
    expect(sent.map(({ time }) => time)).toEqual(['1775001600000', '1775001600125', '1775001600375']);
    for (const name of ['nonce', 'sign'] as const) expect(new Set(sent.map((one) => one[name])).size).toBe(3);
    expect(sent[0]!.nonce).toMatch(/^[0-9a-f]{32}$/);
  });

  test('has the time at which it is sent, however long it waited for its turn', async () => {
    const { url, received } = await outOfScope(answer('ok'));
    const { post } = transportTo(url, { ...signed, rateLimitPerS: 2, concurrency: 1 });
    await Promise.all([post(), post(), post()]);
    expect(received.map((one) => one.headers['time'])).toEqual([
      '1775001600000',
      '1775001600500',
      '1775001601000',
    ]);
  });

  test('computes nothing that no template names', async () => {
    const { url } = await outOfScope(answer('ok'));
    for (const [named, count] of [
      [{ headers: { time: '{timestamp}' }, ...signedBy('{nonce}') }, 0],
      [{ headers: { a: '{token}' } }, 0],
      [{ headers: { sign: '{signature}' }, ...signedBy('{nonce}') }, 1],
    ] as const) {
      const nonces = countingNonce();
      await transportTo(url, named, { nonce: nonces.nonce }).post();
      expect(nonces.count()).toBe(count);
    }
  });

  test('leaves a token alone that resembles a template', async () => {
    const { url, received } = await outOfScope(answer('ok'));
    const settings = { headers: { a: '{token} {nonce}' } };
    const { transport } = transportTo(url, settings, { nonce: () => '{timestamp}' });
    const merchant = { merchantNo: 'M0001', token: '{nonce}{signature}' };
    await transport.post(callOf({ access: { kind: 'merchant', merchant } }));
    expect(received[0]!.headers['a']).toBe('{nonce}{signature} {timestamp}');
  });
});

describe('a message', () => {
  const settings = {
    headers: {
      Authorization: 'Bearer {token}',
      sign: 'v1={signature};{signatureBase64}',
      time: '{timestamp}',
    },
    agentHeaders: { sign: '{signature}' },
    ...signedBy('{timestamp}{nonce}{body}'),
    retriesMax: 1,
  };
  /** Repeats the headers of this try and of the one before. */
  const echoing = (status: number) => {
    const seen: string[] = [];
    return outOfScope((response, { headers }) => {
      const sign = String(headers['sign']);
      seen.push(sign.replace(/^v1=|;.*$/g, ''), ...sign.split(';').slice(1));
      const [forms, time] = [seen.flatMap((one) => [one, one.toUpperCase()]), String(headers['time'])];
      response.writeHead(status).end(JSON.stringify({ time, forms }));
    });
  };

  test.each([401, 400, 503])(
    'repeats neither key nor signature of a reply with %d, and names what to check',
    async (status) => {
      const { url, received } = await echoing(status);
      for (const access of [callOf().access, AGENT.access]) {
        const error = await rejection(transportTo(url, settings).transport.post(callOf({ access })));
        expect(error).toBeInstanceOf(status === 503 ? PlatformUnreachable : PlatformRejected);
        const told = error.message + ((error as PlatformRejected).replyText() ?? '') + JSON.stringify(error);
        for (const secret of [KEY, MERCHANT.token, AGENT_TOKEN]) expect(told).not.toContain(secret);
        for (const { headers } of received) {
          const [signature = '', base64] = String(headers['sign']).replace('v1=', '').split(';');
          for (let at = 0; at + 8 <= signature.length; at += 8)
            expect(told.toLowerCase()).not.toContain(signature.slice(at, at + 8));
          if (base64 !== undefined) expect(told).not.toContain(base64.slice(0, 12));
        }
        if (status === 401)
          expect(error.message).toMatch(
            /PLATFORM_SIGNATURE_KEY, PLATFORM_SIGNATURE_TEMPLATE, and PLATFORM_(?:AGENT_)?HEADERS/,
          );
      }
    },
  );

  test('of an unsigned call names no setting of signatures', async () => {
    const { url } = await echoing(401);
    expect((await rejection(transportTo(url).post())).message).not.toContain('SIGNATURE');
  });
});
