/** Scheduled jobs that read no ledger: one that is off, or lacks what it needs, is never due, and none of them makes a night failed. */
import { afterEach, expect, test } from 'vitest';
import { jobs } from '../../jobs/all.ts';
import { checkForUnfinishedRuns } from '../../src/plugins/alerts/watch.ts';
import { executeReferenceRun, referenceWork } from '../../src/plugins/reference/run.ts';
import { overviewOf } from '../../src/run/health.ts';
import { scheduledJobs } from '../../src/run/schedule/job.ts';
import { statusExitCode, statusOf } from '../../src/run/status.ts';
import { listAlerts } from '../../src/plugins/alerts/outbox.ts';
import { entriesOfAmounts } from '../support/plain-platform.ts';
import { openPlainStage, PLAIN_MERCHANT, type PlainStage } from '../support/plain-stage.ts';

const { merchantNo } = PLAIN_MERCHANT;
const AGENT = { PLATFORM_AGENT_HEADERS: '{"X-Agent":"{agentToken}"}', PLATFORM_AGENT_TOKEN: 'made-up-agent' };

let stage: PlainStage;
afterEach(() => stage.close());

async function open(env: NodeJS.ProcessEnv): Promise<void> {
  const entries = entriesOfAmounts('USD', [
    ['A-1', '2026-03-09 10:00:00', 10_000],
    ['A-2', '2026-03-10 10:00:00', 500],
  ]);
  stage = await openPlainStage(entries, '2026-03-11T01:30:00+08:00', { env });
  await stage.run('2026-03-09', '2026-03-10');
}
const dueNames = () => scheduledJobs(jobs, stage.app().settings).map(({ job }) => job);
const readReference = async () => {
  stage.platform.alter = (honest, { code }) =>
    code === 'sp2502' ? { status: 401, body: { code: '401', message: 'no such agent' } } : honest;
  const work = referenceWork(stage.app(), new AbortController().signal);
  return executeReferenceRun({ ...work, scheduled: { job: 'reference', slot: '2026-03-09 03:00' } });
};
const statusCode = async () => {
  const { settings, database } = stage.app();
  const { runs } = await overviewOf(database.db, { settings, jobs, now: stage.now() });
  const clock = { zone: 'Asia/Shanghai', now: stage.now(), maxAgeMs: null };
  return statusExitCode(await statusOf(database.db, [merchantNo], clock), runs);
};
const alerts = async () => {
  const due = new Set(dueNames());
  const others = jobs.filter(({ isLedger }) => !isLedger).map(({ name }) => name);
  await checkForUnfinishedRuns(stage.app().database.db, {
    ...{ targets: ['hook'], now: stage.now(), zone: 'Asia/Shanghai', ledgerJobs: ['nightly', 'resweep'] },
    otherJobs: others.filter((job) => due.has(job)),
    jobsOff: others.filter((job) => !due.has(job)),
    merchants: () => Promise.resolve([merchantNo]),
  });
  return (await listAlerts(stage.app().database.db, 10)).map(({ kind }) => kind);
};

test('without credentials of the agent the reference data are never due, and a failure of before is over', async () => {
  await open({});
  expect(dueNames()).toEqual(['nightly', 'resweep', 'books']);
  expect(await readReference()).toMatchObject({ exitCode: 4 });
  expect(await statusCode()).toBe(0);
  expect(await alerts()).toEqual([]);
});

test('with them the job is due; its failure is a job’s and needs a person, and no night failed', async () => {
  await open(AGENT);
  expect(dueNames()).toEqual(['nightly', 'resweep', 'books', 'reference']);
  await readReference();
  expect(await statusCode()).toBe(3);
  expect(await alerts()).toEqual(['failed-job']);
});

test.each([
  ['DAYBOOK_SCHEDULE_NIGHTLY', ['resweep', 'reference']],
  ['DAYBOOK_SCHEDULE_RESWEEP', ['nightly', 'books', 'reference']],
  ['DAYBOOK_SCHEDULE_REFERENCE', ['nightly', 'resweep', 'books']],
  ['DAYBOOK_SCHEDULE_BOOKS', ['nightly', 'resweep', 'reference']],
])('%s=off takes its job away', async (name, left) => {
  await open({ ...AGENT, [name]: 'off' });
  expect(dueNames()).toEqual(left);
});

test('a job that is switched off has no failure any more', async () => {
  await open({ ...AGENT, DAYBOOK_SCHEDULE_REFERENCE: 'off' });
  await readReference();
  expect(await statusCode()).toBe(0);
});
