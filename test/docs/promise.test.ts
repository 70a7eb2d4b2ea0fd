/** The promise to the outside, docs/reference/README.md, tells the exit codes and documents that there are. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { EXIT } from '../../src/ledger/ending.ts';
import type { Finding } from '../../src/run/doctor.ts';
import type { PlanReport } from '../../src/run/plan.ts';
import type { RunReport } from '../../src/run/report.ts';
import type { KnownRun } from '../../src/run/run-state.ts';
import type { MerchantStatus } from '../../src/run/status.ts';
import type { Reason } from '../../src/run/verdict/exit-codes.ts';
import type { VerifyReport } from '../../src/verify/verify.ts';
import type { VerifiedChain } from '../../src/verify/chain.ts';
import type { VerifiedFile } from '../../src/verify/days.ts';

const page = readFileSync('docs/reference/README.md', 'utf8');

/** Every key of a document; the compiler asks for those that are missing, and for those that are gone. */
type Keys<Document, More extends string = never> = Readonly<Record<keyof Document | More, 1>>;

const run: Keys<RunReport> = {
  ...{ command: 1, runId: 1, from: 1, to: 1, exitCode: 1, reasons: 1, notes: 1, sync: 1, reconcile: 1 },
  ...{ healingReads: 1, publish: 1, troubles: 1, busy: 1, checked: 1, standing: 1, elapsedMs: 1 },
};
const reason: Keys<Reason> = { exitCode: 1, what: 1, todo: 1, merchantNo: 1, awaitsPerson: 1 };
const plan: Keys<PlanReport> = {
  ...{ from: 1, to: 1, sync: 1, daysChanged: 1, breaksOpened: 1, breaksHealed: 1, troubles: 1 },
};
const status: Keys<
  MerchantStatus,
  'timeZoneProof' | 'lastRun' | 'nextRun' | 'backfills' | 'queue' | 'isRead'
> = {
  ...{ merchantNo: 1, lastGoodRunAt: 1, checked: 1, provenFrom: 1, provenThrough: 1, missing: 1 },
  ...{
    requested: 1,
    openBreaks: 1,
    quarantined: 1,
    notices: 1,
    olderDays: 1,
    ownBooks: 1,
    lateness: 1,
    tooOld: 1,
  },
  ...{ timeZoneProof: 1, lastRun: 1, nextRun: 1, newBreaks: 1, uncertified: 1, daysMissing: 1 },
  ...{
    backfills: 1,
    queue: 1,
    adjustments: 1,
    preparations: 1,
    discrepancies: 1,
    held: 1,
    silent: 1,
    isRead: 1,
  },
};
const runs: Keys<KnownRun, 'reason'> = {
  ...{ id: 1, command: 1, slot: 1, holder: 1, fromDay: 1, toDay: 1, startedAt: 1, finishedAt: 1 },
  ...{ exitCode: 1, figures: 1, isQueued: 1, state: 1, reason: 1 },
};
const doctor: Keys<Finding> = { what: 1, ok: 1, detail: 1, exitCode: 1 };
const verify: Keys<VerifyReport> = {
  ...{ manifests: 1, files: 1, problems: 1, signed: 1, chains: 1, closes: 1, notChecked: 1 },
};
const verified: Keys<VerifiedFile> = {
  ...{ path: 1, merchantNo: 1, day: 1, currency: 1, revision: 1, current: 1, rows: 1, verdict: 1 },
  ...{ breaks: 1, explained: 1, problems: 1 },
};
const chain: Keys<VerifiedChain> = {
  ...{ merchantNo: 1, manifests: 1, from: 1, through: 1, last: 1, outdated: 1, missing: 1, outside: 1 },
};

test('every exit code is told', () => {
  const reported = [...page.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code));
  expect(reported).toEqual(Object.values(EXIT));
});

test.each(
  Object.entries({
    '`run`, `sync`, `reconcile`, `publish`': run,
    'each of their `reasons`': reason,
    '`plan`': plan,
    '`status`': status,
    '`runs`': runs,
    '`doctor`': doctor,
    '`verify`': verify,
    'each of its `files`': verified,
    'each of its `chains`': chain,
  }),
)('the keys of %s are told', (name, keys) => {
  const row = page.split('\n').find((line) => line.startsWith(`| ${name} |`)) ?? '';
  const reported = [...row.slice(name.length + 2).matchAll(/`(\w+)`/g)].map(([, key]) => key);
  expect(reported.sort()).toEqual(Object.keys(keys).sort());
});
