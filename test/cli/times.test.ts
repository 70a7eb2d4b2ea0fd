/** Times for people are in the platform's zone, which is named once. `--json` has them in UTC. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { accepted } from '../plugins/submissions/notifications/subjects.ts';
import { FROM, MERCHANT, NIGHT, openStage, scenario, type Stage } from '../support/stage.ts';
import { daybook, envOf, type Env } from './daybook.ts';

const { merchantNo } = MERCHANT;
/** The stage's current time, 2026-03-06T01:30+08:00, is still the evening before in UTC. */
const HERE = '2026-03-06 01:30:00';
const THERE = '2026-03-05 17:30:00';
const ISO = /\d{4}-\d\d-\d\dT\d\d:\d\d/;
const place = { merchant: merchantNo, currency: 'USD', day: '2026-03-03' };

let stage: Stage;
let env: Env;
beforeAll(async () => {
  const planted = [
    { what: 'missing', ...place, nth: 4 },
    { what: 'malformed', ...place, nth: 11 },
  ] as const;
  stage = await openStage({ scenario: scenario({ entriesPerDay: 20, planted: [...planted] }) });
  await stage.run();
  const [amended, vanishes] = stage.sandbox
    .entriesOf(merchantNo)
    .filter(({ currency }) => currency === 'KWD');
  stage.sandbox.amend(merchantNo, amended!.batchNo, { busiType: 'CHANGED' });
  stage.sandbox.takeOut(merchantNo, vanishes!.batchNo);
  await stage.run();
  env = envOf(stage);
  await storeTheRest(stage);
  await daybook(['breaks', 'resolve', '1', '--note', 'case 4711', '--by', 'Ada'], env);
  await daybook(['quarantine', 'acknowledge', '1', '--note', 'case 4711', '--by', 'Ada'], env);
}, 120_000);
afterAll(() => stage.close());

/** Stores what no run of a ledger makes: merchants, an application, a registration, a notification, a list, a range. */
async function storeTheRest({ app: { database, now } }: Stage): Promise<void> {
  const { db } = database;
  await accepted(db, 'T1');
  await db.updateTable('application').set({ submitted_at: now(), changed_at: now() }).execute();
  await db.insertInto('merchant').values({ merchant_no: 'M2', added_at: now(), joined_at: now() }).execute();
  await db
    .insertInto('beneficiary')
    .values({
      mer_order_no: 'P1',
      merchant_no: merchantNo,
      biz_mode: 'B',
      payee_key: 'k',
      payload_ciphertext: 'x',
      recorded_at: now(),
    })
    .execute();
  await db
    .insertInto('notification')
    .values({
      id: randomUUID(),
      kind: 'onboarding',
      notify_hash: 'h',
      body_ciphertext: 'x',
      received_at: now(),
      outcome: 'contradiction',
      processed_at: now(),
    })
    .execute();
  await db.insertInto('reference_list').values({ kind: 'purpose', item_count: 1, read_at: now() }).execute();
  await db
    .insertInto('reference_item')
    .values({ kind: 'purpose', code: '01', name: 'Goods', first_seen_at: now(), last_seen_at: null })
    .execute();
  await db
    .insertInto('request')
    .values({
      ...{ asked_by: 'run', what: 'read', number: 99, state: 'waiting', merchant_no: merchantNo },
      ...{ from_day: '2026-02-01', to_day: '2026-02-02', requested_at: now() },
    })
    .execute();
}

it.each([
  [['audit']],
  [['amendments']],
  [['beneficiary', 'status']],
  [['breaks', '--all']],
  [['merchants', 'list']],
  [['notifications', '--all']],
  [['onboard', 'list']],
  [['onboard', 'status']],
  [['onboard', 'status', '1']],
  [['quarantine', '--all']],
  [['runs']],
  [['runs', '1']],
  [['statements', 'list', '--all']],
  [['status']],
  [['sync', '--from', FROM, '--to', FROM]],
])('%j', async (command) => {
  const { stdout, stderr } = await daybook(command, env);
  expect(stderr).not.toContain('daybook:');
  expect(stdout).toContain(HERE);
  expect(stdout).not.toContain(THERE);
  expect(stdout).not.toMatch(ISO);
  expect(stdout.match(/Times are in .*/g)).toEqual(['Times are in Asia/Shanghai.']);
});

it('the days on which a code was seen are in the platform’s zone too', async () => {
  const { stdout } = await daybook(['reference', 'list', 'purpose'], env);
  expect(stdout).toMatch(/01 +Goods +2026-03-06/);
  expect(stdout).toContain('1 code; days are of Asia/Shanghai');
});

it('without the platform’s settings times are in UTC, and the output says so', async () => {
  const rest = { ...env, PLATFORM_BASE_URL: '', PLATFORM_TIME_ZONE: '' };
  const { stdout } = await daybook(['audit'], rest);
  expect(stdout).toContain(THERE);
  expect(stdout).toContain('Times are in UTC: PLATFORM_BASE_URL and PLATFORM_TIME_ZONE are not both set.');
});

it('--json has times in UTC, and names no zone', async () => {
  const { stdout } = await daybook(['audit', '--json'], env);
  const [auditEvent] = JSON.parse(stdout) as { at: string }[];
  expect(auditEvent!.at).toBe(new Date(NIGHT).toISOString());
});

it('when a range was asked for is shown in the platform’s zone', async () => {
  const { stdout } = await daybook(['status', '--json'], env);
  expect(stdout).toContain(`asked for ${HERE} (range `);
});
