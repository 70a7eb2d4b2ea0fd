import { afterEach, describe, expect, test } from 'vitest';
import { parseScenario, ScenarioInvalid, type Planted } from '../../../src/plugins/sandbox/scenario.ts';
import { MERCHANT, openClient, WHOLE_DAY, type Client } from './client.ts';

let client: Client;
afterEach(() => client.sandbox.close());

const place = { merchant: MERCHANT.merchantNo, currency: 'USD', day: '2026-03-02', nth: 30 };
const open = async (...planted: Planted[]) => (client = await openClient({ planted }));
const seen = () => client.sandbox.entriesOf(MERCHANT.merchantNo);
const at = (iso: string) => client.sandbox.setNow(Date.parse(iso));
/** The entry at that place in a ledger without anything planted. */
const original = async () => {
  const calm = await openClient();
  await calm.sandbox.close();
  return calm.sandbox
    .entriesOf(MERCHANT.merchantNo)
    .filter(({ currency, busiDate }) => currency === 'USD' && busiDate.startsWith(place.day))[place.nth]!;
};
const shown = () => seen().find((entry) => entry.batchNo === batchNo)!;
let batchNo: string;

describe('an entry planted', () => {
  test('missing is never shown, and all other entries stay the same', async () => {
    ({ batchNo } = await original());
    await open({ what: 'missing', ...place });
    expect(shown()).toBeUndefined();
    expect(seen()).toHaveLength(499);
    client.sandbox.putBack(MERCHANT.merchantNo, batchNo);
    expect(shown()).toMatchObject({ ...(await original()), visibleFromMs: Number.NEGATIVE_INFINITY });
  });

  test('late is shown from the given instant on', async () => {
    ({ batchNo } = await original());
    await open({ what: 'late', ...place, appears: '2026-03-07T00:00:00+08:00' });
    expect((await client.page(WHOLE_DAY)).total).toBe(249);
    at('2026-03-06T23:59:59.999+08:00');
    expect(shown()).toBeUndefined();
    at('2026-03-07T00:00:00+08:00');
    expect(shown()).toBeDefined();
    expect((await client.page(WHOLE_DAY)).total).toBe(250);
  });

  test('vanished is shown until the given instant', async () => {
    ({ batchNo } = await original());
    await open({ what: 'vanished', ...place, at: '2026-03-07T00:00:00+08:00' });
    at('2026-03-06T23:59:59.999+08:00');
    expect(shown()).toBeDefined();
    at('2026-03-07T00:00:00+08:00');
    expect(shown()).toBeUndefined();
    expect(await client.page({ batchNo })).toMatchObject({ total: 0 });
  });

  test('amended has another type from the given instant on, here and on the wire, and its first type before', async () => {
    const { busiType } = await original();
    ({ batchNo } = await original());
    await open({ what: 'amended', ...place, at: '2026-03-07T00:00:00+08:00', busiType: 'CORRECTED' });
    at('2026-03-07T00:00:00+08:00');
    expect(shown()).toMatchObject({ busiType: 'CORRECTED' });
    expect((await client.page({ batchNo })).list).toMatchObject([{ busiType: 'CORRECTED' }]);
    expect(await client.page({ batchNo, busiType: 'CORRECTED' })).toMatchObject({ total: 1 });
    at('2026-03-06T00:00:00+08:00');
    expect(shown()).toMatchObject({ busiType });
  });

  test('malformed has both amounts', async () => {
    ({ batchNo } = await original());
    await open({ what: 'malformed', ...place });
    const [row] = (await client.page({ batchNo })).list;
    expect(row!.inAmount).not.toBeNull();
    expect(row!.inAmount).toBe(row!.outAmount);
  });

  test('as a burst brings that many more in its second', async () => {
    const { bookedMs } = await original();
    await open({ what: 'burst', ...place, count: 240 });
    const here = seen().filter((entry) => entry.bookedMs === bookedMs && entry.currency === 'USD');
    expect(here.length).toBeGreaterThanOrEqual(241);
    expect(seen()).toHaveLength(740);
  });

  test('with an amount has exactly these digits on the wire', async () => {
    await open({ what: 'amount', ...place, net: '-12345678901234567.80' });
    const { text } = await client.post({ flowType: '2', currency: 'USD' });
    expect(text).toContain('"inAmount":null,"outAmount":12345678901234567.80,');
  });
});

test('an entry is not shown before it is booked', async () => {
  await open();
  at('2026-03-02T12:00:00+08:00');
  const bookedBy = Date.parse('2026-03-02T12:00:00+08:00');
  expect(seen().length).toBeGreaterThan(50);
  expect(seen().every(({ bookedMs }) => bookedMs <= bookedBy)).toBe(true);
  at('2026-03-06T00:00:00+08:00');
  expect(seen()).toHaveLength(500);
});

test('a scenario file is read, and each unusable value is named by its place', async () => {
  await open();
  const text =
    'from: 2026-03-01\nto: 2026-03-02\nmerchants: [{merchantNo: M, token: t, currencies: [USD]}]\n';
  expect(parseScenario(text, 'a.yaml')).toMatchObject({
    seed: 1,
    planted: [],
    hostility: { order: 'ascending' },
  });
  expect(() => parseScenario(text.replace('USD', 'usd'), 'a.yaml')).toThrow(
    /a\.yaml.*\n.*merchants\.0\.currencies\.0/,
  );
  const burst = '{what: burst, merchant: M, currency: USD, day: 2026-03-01, nth: 1, count: 0}';
  expect(() => parseScenario(`${text}planted: [${burst}]`, 'a.yaml')).toThrow(/planted\.0\.count/);
  expect(() => parseScenario('from: [', 'a.yaml')).toThrow(ScenarioInvalid);
});
