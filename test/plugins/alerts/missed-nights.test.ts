/** What processes that live find by themselves: which merchants a night was missed for, and which runs no one reported of. */
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runWatchdog } from '../../../src/plugins/alerts/process.ts';
import { PlatformRejected } from '../../../src/platform/errors.ts';
import { runAlerts } from '../../../src/plugins/alerts/run-end.ts';
import { checkForMissedRun, checkForUnfinishedRuns } from '../../../src/plugins/alerts/watch.ts';
import { claimWatchdogCheck, listAlerts } from '../../../src/plugins/alerts/outbox.ts';
import { addMerchant, setMerchantStatus } from '../../../src/store/merchants.ts';
import { startRun } from '../../../src/store/runs.ts';
import type { RunDeps } from '../../../src/run/active-run.ts';
import { FROM, MERCHANT, openStage, scenario, TO, ZONE, type Stage } from '../../support/stage.ts';

const { merchantNo } = MERCHANT;
const HOUR_MS = 3_600_000;
const targets = ['json 1'];
const alerts = runAlerts({
  targets,
  direct: () => Promise.resolve(),
  directlySent: () => Promise.resolve(new Map()),
  onSuccess: () => Promise.resolve(),
  onProblem: (error) => {
    throw error;
  },
});
let stage: Stage;
beforeEach(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 20 }) });
  await stage.run({ range: { from: FROM, to: TO } }, { alerts });
});
afterEach(() => stage.close());

const dbOf = () => stage.app.database.db;
const raising = () => ({ targets, now: stage.app.now(), zone: ZONE });
const lookAtNights = (own: readonly string[] = [merchantNo]) =>
  checkForMissedRun(dbOf(), own, { ...raising(), maxAgeMs: 26 * HOUR_MS });
const lookAtRuns = () =>
  checkForUnfinishedRuns(dbOf(), {
    ...{ ...raising(), ledgerJobs: ['nightly', 'resweep'], otherJobs: ['reference'] },
    merchants: () => Promise.resolve([merchantNo]),
  });
const kinds = async () => (await listAlerts(dbOf(), 10)).map(({ kind }) => kind);
const refusing = (error: Error): Partial<RunDeps> => ({
  alerts,
  reader: { page: () => Promise.reject(error) },
});
const down = () => refusing(new PlatformRejected('sp2404: the platform answered 400'));

test('a merchant that is enabled after months has missed no night before its first one had its chance', async () => {
  const token = { merchantNo, token: null, secretKeys: [] };
  await addMerchant(dbOf(), { ...token, now: stage.app.now() });
  await setMerchantStatus(dbOf(), merchantNo, 'disabled', stage.app.now());
  stage.setNow('2026-08-01T12:00:00+08:00');
  await lookAtNights([]);
  await setMerchantStatus(dbOf(), merchantNo, 'active', stage.app.now());
  await lookAtNights([]);
  expect(await kinds()).toEqual([]);
  stage.setNow('2026-08-02T14:01:00+08:00');
  await lookAtNights([]);
  expect(await kinds()).toEqual(['missed-night']);
});

test('a merchant that fails every night is told as that, and not as missed, too', async () => {
  for (const night of ['2026-03-06', '2026-03-07', '2026-03-08']) {
    stage.setNow(`${night}T01:40:00+08:00`);
    await stage.run({ range: null }, down());
    await lookAtNights();
  }
  expect(await kinds()).toEqual(['failed-night', 'failed-night', 'failed-night']);
  stage.setNow('2026-03-09T04:00:00+08:00');
  await lookAtNights();
  expect(await kinds()).toEqual(['missed-night', 'failed-night', 'failed-night', 'failed-night']);
});

test('a run by hand of one merchant or of dates is no night: not told if it fails, and hides none that was killed', async () => {
  await stage.run({ range: null, isByName: true }, down());
  await stage.run({ range: { from: FROM, to: TO } }, down());
  await lookAtRuns();
  expect(await kinds()).toEqual([]);
  await startRun(dbOf(), {
    ...{ command: 'run', holder: 'gone:1:-', fromDay: TO, toDay: TO, isNightly: true },
    now: new Date(stage.app.now().getTime() + 1_000),
  });
  stage.setNow('2026-03-06T01:40:00+08:00');
  await stage.run({ range: null, isByName: true }, down());
  await lookAtRuns();
  expect((await listAlerts(dbOf(), 10)).map(({ content }) => (content as { title: string }).title)).toEqual([
    'run 4 was killed',
  ]);
});

test('a token that is refused is told again where the merchant was given another one or was enabled since', async () => {
  const refused = () =>
    refusing(new PlatformRejected('sp2404: the platform answered 401', false, null, true));
  const night = async (at: string): Promise<number> => {
    stage.setNow(at);
    await stage.run({ range: null }, refused());
    return (await kinds()).filter((kind) => kind === 'key-problem').length;
  };
  expect(await night('2026-03-06T01:40:00+08:00')).toBe(1);
  expect(await night('2026-03-06T02:40:00+08:00')).toBe(1);
  await addMerchant(dbOf(), { merchantNo, token: null, secretKeys: [], now: stage.app.now() });
  expect(await night('2026-03-06T03:40:00+08:00')).toBe(2);
});

test('of several processes one looks, as often as is asked for', async () => {
  const claims = await Promise.all([1, 2, 3].map(() => claimWatchdogCheck(dbOf(), 'nights', HOUR_MS)));
  expect(claims.filter(Boolean)).toHaveLength(1);
  expect(await claimWatchdogCheck(dbOf(), 'nights', HOUR_MS)).toBe(false);
  expect(await claimWatchdogCheck(dbOf(), 'runs', HOUR_MS)).toBe(true);
  expect(await claimWatchdogCheck(dbOf(), 'nights', 0)).toBe(true);
});

test('a process that does no nights looks for missed ones only where none of the others did for longer', async () => {
  const mail = { to: ['ops@x.example'], from: 'daybook@x.example', smtpUrl: 'smtp://127.0.0.1:1' };
  const settings = { ...stage.app.settings, alerts: { webhooks: [], secret: null, mail, pingUrl: null } };
  const look = async (minutesSince: number, seesRuns: boolean): Promise<string[]> => {
    await sql`UPDATE installation SET nights_checked_at = now() - ${minutesSince} * interval '1 minute',
      runs_checked_at = now() - ${minutesSince} * interval '1 minute'`.execute(dbOf());
    await runWatchdog({ ...stage.app, settings }, { seesRuns });
    return kinds();
  };
  stage.setNow('2026-03-07T04:00:00+08:00');
  expect(await look(6, false)).toEqual([]);
  expect(await look(6, true)).toEqual(['missed-night']);
  await dbOf().deleteFrom('alert_condition').execute();
  expect(await look(11, false)).toEqual(['missed-night', 'missed-night']);
});
