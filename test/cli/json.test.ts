import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FROM, MERCHANT, openStage, scenario, TO, type Stage } from '../support/stage.ts';
import { daybook, envOf, type Env } from './daybook.ts';

const place = { merchant: MERCHANT.merchantNo, currency: 'USD', day: '2026-03-03' };
let stage: Stage;
let env: Env;
beforeAll(async () => {
  const planted = [
    { what: 'missing', ...place, nth: 4 },
    { what: 'malformed', ...place, nth: 11 },
    { what: 'amended', ...place, nth: 15, at: '2026-03-06T01:00:00+08:00', busiType: 'CORRECTED' },
  ] as const;
  stage = await openStage({ scenario: scenario({ entriesPerDay: 20, planted: [...planted] }) });
  // The most detailed level. Log lines must not get into the JSON.
  env = { ...envOf(stage), DAYBOOK_LOG_LEVEL: 'trace' };
  stage.sandbox.setNow(Date.parse('2026-03-06T00:30:00+08:00'));
  await stage.run();
  stage.setNow('2026-03-06T01:30:00+08:00');
});
afterAll(() => stage.close());

const RANGE = ['--from', FROM, '--to', TO];

test.each<[string[], number, unknown]>([
  [['plan', ...RANGE], 0, { from: FROM, to: TO }],
  [['run', ...RANGE], 3, { exitCode: 3, from: FROM, to: TO }],
  [['sync', ...RANGE], 3, { command: 'sync' }],
  [['reconcile', ...RANGE], 3, { command: 'reconcile' }],
  [['publish', ...RANGE], 3, { command: 'publish' }],
  [
    ['status', '--max-age', '26h'],
    3,
    [
      {
        merchantNo: MERCHANT.merchantNo,
        provenFrom: FROM,
        provenThrough: FROM,
        requested: [],
        openBreaks: 2,
        quarantined: 1,
        lastRun: { command: 'publish', state: 'ended', exitCode: 3 },
        nextRun: { job: 'resweep', at: '2026-03-06T05:30:00.000Z' },
      },
    ],
  ],
  [
    ['runs'],
    0,
    [{ command: 'publish' }, { command: 'reconcile' }, { command: 'sync' }, { command: 'run' }, { id: 1 }],
  ],
  [['runs', '1'], 0, { id: 1, command: 'run', state: 'ended', exitCode: 3, figures: { breaksNew: 2 } }],
  [['breaks'], 0, [{ day: '2026-03-03' }, { day: '2026-03-03' }]],
  [['amendments'], 0, expect.anything()],
  [['quarantine'], 0, expect.anything()],
  [['statements', 'list'], 0, expect.arrayContaining([expect.objectContaining({ day: FROM })])],
  [['merchants', 'list'], 0, expect.anything()],
  [['doctor'], 0, expect.arrayContaining([expect.objectContaining({ what: 'time zone', ok: true })])],
])('%j --json prints one document, and nothing else on stdout', async (args, code, document) => {
  const ended = await daybook([...args, '--json'], env);
  expect(ended.code, ended.stderr).toBe(code);
  expect(JSON.parse(ended.stdout)).toMatchObject(document as object);
  expect(ended.stdout + ended.stderr).not.toContain(MERCHANT.token);
});

test('a statement is downloaded and checked offline, and a changed byte is found', async () => {
  const out = join(stage.app.settings.dataDir, 'downloads');
  const get = ['statements', 'get', '--merchant', MERCHANT.merchantNo, '--currency', 'KWD', '--day', FROM];
  const got = await daybook([...get, '--out', out, '--json'], env);
  expect(got.code, got.stderr).toBe(0);
  const { path } = JSON.parse(got.stdout) as { path: string };
  for (const named of [out, path]) {
    const good = await daybook(['verify', named, '--json'], {});
    expect(JSON.parse(good.stdout)).toMatchObject({ problems: [], files: [{ currency: 'KWD' }] });
    expect(good).toMatchObject({ code: 0, stderr: '' });
  }

  const text = await readFile(path, 'utf8');
  await writeFile(
    path,
    text.replace(/(\d)\r\n$/, (_, digit: string) => `${(Number(digit) + 1) % 10}\r\n`),
  );
  const bad = await daybook(['verify', out, '--json'], {});
  expect(bad.code).toBe(3);
  expect((JSON.parse(bad.stdout) as { problems: unknown[] }).problems.length).toBeGreaterThan(0);
  await rm(out, { recursive: true });
});
