/**
 * Every statement on a ledger table says of which merchants, so that these tables can lie on several servers, divided by
 * merchant_no (docs/decisions/workers.md).
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../../src/store/engine/connection.ts';
import { daybook, envOf } from '../cli/daybook.ts';
import { startFaultyWire } from '../support/faulty-wire.ts';
import { FROM, MERCHANT, openStage, OTHER, scenario, TO, type Stage } from '../support/stage.ts';
import { unfiltered } from './merchant-filter.ts';

/** Statements that check all merchants, by words that they have, and why. */
const OVER_ALL_MERCHANTS: readonly { readonly words: string; readonly why: string }[] = [
  { words: 'of_ledger_entry', why: 'finds merchants that have a ledger here and are not read' },
  { words: 'shared AS MATERIALIZED', why: 'finds entries that another merchant has as well' },
];

let stage: Stage;
let statements: string[];

beforeAll(async () => {
  const place = { merchant: MERCHANT.merchantNo, currency: 'USD', day: '2026-03-03' };
  const planted = [
    { what: 'missing', ...place, nth: 4 },
    { what: 'malformed', ...place, nth: 11 },
    { what: 'amended', ...place, nth: 15, at: '2026-03-06T01:00:00+08:00', busiType: 'CORRECTED' },
  ] as const;
  const merchants = [
    { ...MERCHANT, currencies: ['USD', 'KWD'] },
    { ...OTHER, currencies: ['USD'] },
  ];
  stage = await openStage({ scenario: scenario({ entriesPerDay: 20, merchants, planted: [...planted] }) });
  const wire = await startFaultyWire(stage.app.settings.databaseUrl!);
  const { db, close } = await openDatabase({ databaseUrl: wire.url, dataDir: '' });
  const both = { merchants: [MERCHANT, OTHER] };
  stage.sandbox.setNow(Date.parse('2026-03-06T00:30:00+08:00'));
  await stage.run(both, { db });
  stage.setNow('2026-03-06T01:30:00+08:00');
  await stage.run(both, { db });
  await stage.run(
    { ...both, range: null },
    { db, checks: ['frontier', 'wide', 'zone', 'empty', 'first', 'shared'] },
  );
  const env = { ...envOf(stage), DATABASE_URL: wire.url };
  const one = ['--merchant', MERCHANT.merchantNo];
  for (const args of [
    ['publish', '--from', FROM, '--to', TO],
    ['reconcile', '--from', FROM, '--to', TO],
    ['status'],
    ['plan'],
    ['breaks', ...one],
    ['breaks', ...one, '--all'],
    ['amendments', ...one],
    ['quarantine', ...one],
    ['entries', ...one],
    ['statements', 'list', ...one],
    ['statements', 'get', ...one, '--currency', 'USD', '--day', '2026-03-03', '--stdout'],
    ['statements', 'diff', ...one, '--currency', 'USD', '--day', '2026-03-03'],
  ])
    await daybook(args, env);
  statements = [...new Set(wire.takeStatements())];
  await close();
  await wire.close();
}, 120_000);
afterAll(() => stage.close());

test('a night, a rerun, publishing, status and lists say of each ledger table which merchants they mean', () => {
  expect(statements.length).toBeGreaterThan(100);
  const unknown = statements
    .filter((statement) => !OVER_ALL_MERCHANTS.some(({ words }) => statement.includes(words)))
    .flatMap(unfiltered);
  expect(unknown).toEqual([]);
});

test('each exception is still there', () => {
  for (const { words } of OVER_ALL_MERCHANTS)
    expect(statements.filter((one) => one.includes(words)).flatMap(unfiltered), words).not.toEqual([]);
});

test.each([
  ['SELECT * FROM ledger_entry WHERE batch_no = $1', 1],
  ['SELECT * FROM ledger_entry WHERE merchant_no = $1', 0],
  ['SELECT (SELECT count(*) FROM account_day) FROM statement s WHERE s.merchant_no = ANY ($1)', 1],
  ['delete from "changed_day" where "merchant_no" in ($1)', 0],
  ['INSERT INTO certificate (merchant_no, begin_ms) VALUES ($1, $2)', 0],
  ['UPDATE continuity_break SET status = $1 WHERE id = $2', 1],
  ['SELECT * FROM run WHERE id = $1', 0],
])('%s names %i', (statement, count) => {
  expect(unfiltered(statement)).toHaveLength(count);
});
