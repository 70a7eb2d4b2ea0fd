/** A token that the platform refused is not sent again by calls of the same run, and other merchants' calls go on. */
import { describe, expect, test } from 'vitest';
import { readReply, refusedWithToken } from '../../src/platform/reply.ts';
import type { PlatformCall } from '../../src/platform/transport.ts';
import { answer, callOf, outOfScope, transportTo, type Act } from './stranger.ts';

const EMPTY = { pageNum: 1, pageSize: 100, total: 0, list: [] };
const shape = { expected: Object.keys(EMPTY), data: ['list'] };
const read: PlatformCall<string>['read'] = (text, context) => {
  const { refusal } = readReply(text, context, shape);
  if (refusal !== null) throw refusedWithToken(refusal, text, context.excerpt);
  return text;
};
const callFor = (merchant: object, more: Partial<PlatformCall<string>> = {}): PlatformCall<string> =>
  callOf({ access: { kind: 'merchant', merchant: merchant as never }, read, ...more });
const reply = (fields: object, status = 200): Act => answer(JSON.stringify(fields), status);
const CONCURRENCY = 4;

/** How many calls of 20 arrive, where `act` answers those of merchant BAD. */
async function arriving(
  act: Act,
): Promise<{ readonly bad: number; readonly good: number; again: () => Promise<number> }> {
  const { url, received } = await outOfScope((response, one, call) =>
    (one.headers['merchantno'] === 'BAD' ? act : reply(EMPTY))(response, one, call),
  );
  const { transport } = transportTo(url, { concurrency: CONCURRENCY });
  const [bad, good] = ['BAD', 'GOOD'].map((merchantNo) => ({ merchantNo, token: 'made-up' }));
  const of = (merchantNo: string) =>
    received.filter(({ headers }) => headers['merchantno'] === merchantNo).length;
  const ask = (merchant: object, count: number) =>
    Promise.allSettled(Array.from({ length: count }, () => transport.post(callFor(merchant))));
  await ask(bad!, 20);
  await ask(bad!, 20);
  await ask(good!, 3);
  return {
    ...{ bad: of('BAD'), good: of('GOOD') },
    again: async () => {
      const before = of('BAD');
      await ask({ ...bad! }, 1);
      return of('BAD') - before;
    },
  };
}

describe('no further call begins', () => {
  test.each<[string, Act]>([
    ['401', reply({ code: 'E40100' }, 401)],
    ['403', reply({}, 403)],
  ])('after %s, but those under way', async (_, act) => {
    const { bad, good, again } = await arriving(act);
    expect(bad).toBeLessThanOrEqual(CONCURRENCY);
    expect(good).toBe(3);
    // The next run takes the token anew, and tries it once more.
    expect(await again()).toBe(1);
  });

  // While one reply is read, another call takes its slot.
  test.each<[string, Act]>([
    ['a code of HTTP in the body', reply({ code: 'E40100', message: 'no' })],
    ['the same as a number', reply({ data: { respCode: 401 } })],
    ['a code that names the token', reply({ respCode: 'INVALID_TOKEN', ...EMPTY })],
    ['a message that does', reply({ success: false, code: 'A0230', message: 'access token expired' })],
  ])('after %s', async (_, act) => {
    const { bad, good } = await arriving(act);
    expect(bad).toBeLessThanOrEqual(2 * CONCURRENCY);
    expect(good).toBe(3);
  });
});

test.each<[string, Act]>([
  ['a window', reply({ code: 'E10001', message: 'the window is too long' })],
  ['an amount that resembles a code', reply({ respCode: 'E99999', total: 401, balanceCode: '40100X' })],
  ['a path', reply({}, 404)],
])('a refusal of %s is no refusal of the token', async (_, act) => {
  expect((await arriving(act)).bad).toBe(40);
});
