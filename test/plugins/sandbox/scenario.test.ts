/** A scenario is either simulated or refused with the place of what is wrong, never a fault of the program. */
import fc from 'fast-check';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, test } from 'vitest';
import { stringify } from 'yaml';
import { parseScenario, ScenarioInvalid } from '../../../src/plugins/sandbox/scenario.ts';
import { createSandbox } from '../../../src/plugins/sandbox/server.ts';
import { daybook } from '../../cli/daybook.ts';

const MERCHANT = { merchantNo: 'SBX-1', token: 'made-up', currencies: ['JPY'] };
const SCENARIO = {
  ...{ seed: 7, timeZone: 'UTC', from: '2026-03-02', to: '2026-03-03', entriesPerDay: 3 },
  merchants: [MERCHANT],
};
const PLACE = { what: 'amount', merchant: 'SBX-1', currency: 'JPY', day: '2026-03-02', nth: 1 };

const WRONG: readonly (readonly [place: string, change: object])[] = [
  ['planted.0.net: 1.5 has more decimals than JPY, which has 0', { planted: [{ ...PLACE, net: '1.5' }] }],
  ['planted.0.net: ', { planted: [{ ...PLACE, net: 1.5 }] }],
  ['timeZone: is no IANA time zone', { timeZone: 'Europe/Nowhere' }],
  ['from: must be a day of the calendar', { from: '2026-02-30' }],
  ['planted.0.day: must be a day of the calendar', { planted: [{ ...PLACE, day: '2026-13-01', net: '1' }] }],
  ['to: is before from, which is 2026-03-02', { to: '2026-03-01' }],
  ['to: makes a ledger of more than 4000 days', { to: '9999-12-31' }],
  ['entriesPerDay: ', { entriesPerDay: -1 }],
  ['entriesPerDay: makes 32000000 entries', { to: '2026-03-17', entriesPerDay: 2_000_000 }],
  ['merchants.0.currencies.0: ', { merchants: [{ ...MERCHANT, currencies: ['YEN!'] }] }],
  [
    'merchants.0.currencies: has a currency twice',
    { merchants: [{ ...MERCHANT, currencies: ['JPY', 'JPY'] }] },
  ],
  ['merchants.1.merchantNo: SBX-1 is there twice', { merchants: [MERCHANT, MERCHANT] }],
  ['latitude.replyType: must be text that a header may hold', { latitude: { replyType: 'text/plain\n' } }],
  ['the scenario: Unrecognized key: "marchants"', { marchants: [] }],
];

it.each(WRONG)('names what is wrong: %s', (place, change) => {
  const make = () => createSandbox(parseScenario(stringify({ ...SCENARIO, ...change }), 'a.yaml'));
  expect(make).toThrow(ScenarioInvalid);
  expect(make).toThrow(`a.yaml cannot be used:\n  ${place}`);
});

it('an unknown zone ends the command with 2, the place, and no stack', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'daybook-sandbox-'));
  const path = join(folder, 'scenario.yaml');
  try {
    await writeFile(path, stringify({ ...SCENARIO, timeZone: 'Europe/Nowhere' }));
    const ended = await daybook(['sandbox', '--port', '0', '--scenario', path], {});
    expect(ended).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('timeZone: is no IANA') as unknown,
    });
    expect(ended.stderr).not.toMatch(/\n\s+at /);
  } finally {
    await rm(folder, { recursive: true });
  }
});

/** Values that some field may take, and others that none does. */
const value = fc.oneof(
  fc.constantFrom(
    '',
    'UTC',
    'JPY',
    'Mars/Base',
    '2026-02-30',
    '2026-03-02',
    '9999-12-31',
    '0000-01-01',
    '1.5',
  ),
  fc.constantFrom('1E+99', '-1E-99', '2026-03-02T00:00:00+23:59', '0000-01-01T00:00:00Z', '\u0000', '\ud800'),
  fc.constantFrom<unknown>(null, true, -1, 0, 1.5, 1e308, Number.NaN, [], {}, [[]], [{}]),
  fc.string(),
);
const FIELDS: readonly string[] = [
  ...['seed', 'timeZone', 'from', 'to', 'now', 'merchants', 'merchants.0', 'merchants.0.merchantNo'],
  ...['merchants.0.token', 'merchants.0.currencies', 'merchants.0.currencies.0', 'planted', 'planted.0'],
  ...['planted.0.what', 'planted.0.merchant', 'planted.0.currency', 'planted.0.day', 'planted.0.nth'],
  ...['planted.0.net', 'planted.0.at', 'planted.0.appears', 'agent', 'signatures', 'reviews', 'pushes'],
  ...['reference', 'walletMethods', 'latitude', 'hostility', 'latitude.replyType', 'hostility.order', 'more'],
];

function changed(base: unknown, [name, ...rest]: readonly string[], to: unknown): unknown {
  if (name === undefined) return to;
  const inner = (typeof base === 'object' && base !== null ? base : {}) as Record<string, unknown>;
  const made = changed(inner[name], rest, to);
  return Array.isArray(base)
    ? base.map((one: unknown, at) => (String(at) === name ? made : one))
    : { ...inner, [name]: made };
}

test('any values in any fields, and any text, are either simulated or refused as a scenario', async () => {
  const base = { ...SCENARIO, planted: [{ ...PLACE, net: '100' }] };
  const scenario = fc
    .array(fc.tuple(fc.constantFrom(...FIELDS), value), { minLength: 1, maxLength: 3 })
    .map((changes) =>
      stringify(changes.reduce<unknown>((one, [path, to]) => changed(one, path.split('.'), to), base)),
    );
  let made = 0;
  await fc.assert(
    fc.asyncProperty(fc.oneof({ weight: 9, arbitrary: scenario }, fc.string()), async (text) => {
      try {
        const sandbox = createSandbox(parseScenario(text, 'a.yaml'));
        made += 1;
        sandbox.entriesOf(sandbox.scenario.merchants[0]!.merchantNo);
        await sandbox.close();
      } catch (error) {
        expect(error).toBeInstanceOf(ScenarioInvalid);
      }
    }),
    { numRuns: 300 },
  );
  expect(made).toBeGreaterThan(10);
});
