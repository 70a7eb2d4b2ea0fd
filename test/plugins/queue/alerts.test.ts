/**
 * What receivers get of a night that workers do, by the real commands as processes.
 *
 * @module-tag long
 */
import { randomBytes } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { installQueue } from '../../../src/plugins/queue/queue.ts';
import { addMerchant } from '../../../src/store/merchants.ts';
import { daybook, envOf, startDaybook } from '../../cli/daybook.ts';
import { startReceiver } from '../../support/receivers.ts';
import { MERCHANT, openStage, OTHER, scenario } from '../../support/stage.ts';

test('a night that workers do is told at its end, in one message for all merchants', async () => {
  const merchants = [MERCHANT, OTHER].map((merchant) => ({ ...merchant, currencies: ['USD'] }));
  const stage = await openStage({ scenario: scenario({ entriesPerDay: 5, merchants }) });
  const hook = await startReceiver();
  const { db } = stage.app.database;
  await installQueue(db);
  const key = randomBytes(32);
  await addMerchant(db, { ...OTHER, secretKeys: [{ id: 'k1', key }], now: stage.app.now() });
  const queued = {
    ...envOf(stage),
    DAYBOOK_ALERT_URL: hook.url,
    DAYBOOK_ALERT_SECRET: 'a secret of the receiver',
    DAYBOOK_WORKERS: 'queue',
    DAYBOOK_SCHEDULE_RESWEEP: '30 1 * * *',
    DAYBOOK_SECRET_KEYS: `k1:${key.toString('base64')}`,
  };
  stage.sandbox.setHostility({ http500Every: 1 });
  const schedule = startDaybook(['schedule'], queued);
  const runs = () => db.selectFrom('run').select('id').where('request', 'is not', null).execute();
  await vi.waitFor(async () => expect(await runs()).toHaveLength(1), { timeout: 60_000 });
  schedule.child.kill('SIGTERM');
  await schedule.ended;
  const worker = await daybook(['worker', '--until-empty'], queued);
  expect(worker.code, worker.stderr).toBe(0);
  expect(hook.documents()).toMatchObject([
    {
      kind: 'failed-night',
      title: expect.stringMatching(/, 2 merchants are not done$/),
      merchants: [MERCHANT.merchantNo, OTHER.merchantNo],
      merchantCount: 2,
    },
  ]);
  await stage.close();
  await hook.close();
}, 180_000);
