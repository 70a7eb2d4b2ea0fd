/**
 * Plays histories on a real database and store. Checks the laws after each step, and compares the end with a fresh
 * reading.
 */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { addDays, dayOf, dayWindow } from '../../src/ledger/business-day.ts';
import { openObjectStore } from '../../src/objects/open.ts';
import type { ObjectStore } from '../../src/objects/object-store.ts';
import type { DayRange } from '../../src/run/range.ts';
import type { RunReport } from '../../src/run/report.ts';
import { executeRun } from '../../src/run/run.ts';
import type { RunRequest } from '../../src/run/active-run.ts';
import { verifyPaths } from '../../src/verify/verify.ts';
import { notChainedByLaw } from '../support/chain-law.ts';
import { acceptAllHeld } from '../support/held.ts';
import { historyCases, type Act, type Fault, type HistoryCase } from './history-cases.ts';
import { differences, endingOf } from './history-end.ts';
import { notGreen, wronglyPublished, wronglyVanished } from './history-laws.ts';
import { createHistoryPlatform, CURRENCIES, type HistoryPlatform } from './history-platform.ts';
import { stateOf, type State } from './history-state.ts';
import { createKillSwitch } from './kill-switch.ts';
import type { Oracle } from './oracle.ts';
import { readPublished, type Published } from './published.ts';
import { needlessRevisions, notAsRecorded, openings, wrongStatements } from './published-laws.ts';
import { MERCHANT, openRig, type Rig } from './rig.ts';

const MINUTE_MS = 60_000;
/** Statements are synced to disk as they are written. In memory that costs nothing. */
const FOLDERS = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
/** A nightly run begins at 01:30. */
const NIGHT_MS = 90 * MINUTE_MS;
/**
 * The first calm run finds what is gone all at the same time and holds it; a person accepts it. The second believes it. Where days at
 * the start of an account are empty then, the third takes their balance from the next entry. Then all is at rest.
 */
const CLOSING_RUNS = 4;
/** The pause between these runs. A second reading counts only if it comes that much later. */
const CLOSING_PAUSE_MS = 120 * MINUTE_MS;

interface Stage {
  readonly rig: Rig;
  readonly drawn: HistoryCase;
  readonly platform: HistoryPlatform;
  readonly folder: string;
  readonly objects: ObjectStore;
  nowMs: number;
  /** A step was killed, and nothing has been published completely since then. */
  unsettled: boolean;
  /** Ranges that were to be read in every currency. */
  readonly asked: { from: string; to: string }[];
  /** The first day that was to be read in any currency. */
  firstAsked: string;
  lastExitCode: number;
  /** The database after the last step. */
  state: State;
}

interface Ended {
  readonly report: RunReport | null;
  readonly error: Error | null;
  readonly died: boolean;
}

async function play(stage: Stage, request: RunRequest, fault: Fault | null): Promise<Ended> {
  const { rig, drawn, platform, nowMs } = stage;
  const kill = createKillSwitch(fault?.what === 'kill' ? fault.kill : null);
  await rig.endLease();
  const deps = rig.deps({
    db: kill.database(rig.db),
    reader: kill.reader(platform.reader(nowMs, fault)),
    objects: kill.objects(stage.objects),
    zone: platform.zone,
    nowMs,
    resweepDays: drawn.resweepDays,
    toleranceS: drawn.toleranceS,
  });
  try {
    return { report: await executeRun(request, deps), error: null, died: kill.isDead() };
  } catch (error) {
    // Waits until the work that was under way when the process was killed has ended.
    if (kill.isDead()) await new Promise((resolve) => setTimeout(resolve, 5));
    return { report: null, error: error as Error, died: kill.isDead() };
  }
}

/** What the act asks for, and when it happens. */
function requestOf(act: Act, stage: Stage): RunRequest {
  const { platform } = stage;
  const currencies = act.account === null ? null : [CURRENCIES[act.account]!];
  const merchants = [MERCHANT];
  if (act.what === 'night') {
    const today = addDays(dayOf(stage.nowMs, platform.zone), act.later);
    stage.nowMs = dayWindow(today, platform.zone).beginMs + NIGHT_MS;
    return { command: 'run', range: null, merchants, currencies };
  }
  stage.nowMs += 20 * MINUTE_MS;
  const today = dayOf(stage.nowMs, platform.zone);
  const earliest = (a: string, b: string) => (a < b ? a : b);
  const range =
    act.range === null
      ? null
      : {
          from: earliest(addDays(platform.firstDay, act.range.from), today),
          to: earliest(addDays(platform.firstDay, act.range.from + act.range.days - 1), today),
        };
  return { command: act.what, range, merchants, currencies };
}

const IN_TWO_STATEMENTS = / is in the current statement of /;

/** Laws of what is in the store. They hold after every step that was not killed. */
async function standingLaws(stage: Stage, published: Published): Promise<string[]> {
  const { statements } = stage.state;
  const { problems } = published.statements.size === 0 ? { problems: [] } : await verifyPaths([stage.folder]);
  // An entry that moved while its day is held stays in that day's last statement as well. The run ends with 4.
  const isNamed = (problem: string) => stage.lastExitCode === 4 && IN_TWO_STATEMENTS.test(problem);
  return [
    ...notAsRecorded(published, statements),
    ...openings(published).wrong,
    ...problems
      .filter(({ problem }) => !isNamed(problem))
      .map(({ problem }) => `verify is not green: ${problem}`),
  ];
}

async function step(stage: Stage, request: RunRequest, fault: Fault | null): Promise<string[]> {
  const { platform, nowMs, rig } = stage;
  const before = stage.state;
  const { report, error, died } = await play(stage, request, fault);
  const after = await stateOf(rig.db);
  stage.state = after;
  const published = await readPublished(stage.folder, MERCHANT.merchantNo);
  if (request.command === 'run' || request.command === 'sync') {
    const range = report ?? request.range;
    // A nightly run that was killed left no report. These are the days that it would at least have read.
    const from = range?.from ?? addDays(dayOf(nowMs, platform.zone), -1 - stage.drawn.resweepDays);
    if (from < stage.firstAsked) stage.firstAsked = from;
    if (range !== null && request.currencies === null) stage.asked.push({ from: range.from, to: range.to });
  }
  const common = {
    platform,
    nowMs,
    request,
    before,
    after,
    published,
    asked: stage.asked,
    lied: fault?.what === 'emptyOnce',
  };
  const findings = [
    ...published.damages,
    ...wrongStatements(published, after.booked, stage.drawn.toleranceS),
    ...wronglyVanished(common),
    ...needlessRevisions(after.statements),
    ...(await notChainedByLaw({
      ...{ db: rig.db, merchantNo: MERCHANT.merchantNo, zone: platform.zone, near: platform.firstDay },
    })),
  ];
  if (died) stage.unsettled = true;
  else if (error !== null && !isExpected(error, fault))
    findings.push(`a run threw ${error.name}: ${error.message}`);
  if (died || report === null) return findings;
  stage.lastExitCode = report.exitCode;
  const outcome = { ...common, report };
  const whole = request.command === 'run' || (request.command === 'publish' && request.range === null);
  if (whole && request.currencies === null && (report.exitCode === 0 || report.exitCode === 3))
    stage.unsettled = false;
  if (!stage.unsettled) findings.push(...(await standingLaws(stage, published)));
  findings.push(...wronglyPublished(outcome));
  if (report.exitCode === 0) findings.push(...notGreen(outcome));
  return findings;
}

/** If the zone cannot be proven while the platform misbehaves, the run ends before it writes a row. That is right. */
const isExpected = (error: Error, fault: Fault | null): boolean =>
  error.name === 'TimeZoneUnproven' && fault !== null && fault.what !== 'kill';

async function newStage(rig: Rig, drawn: HistoryCase, platform: HistoryPlatform): Promise<Stage> {
  await rig.empty();
  const folder = await mkdtemp(join(FOLDERS, 'daybook-history-'));
  const objects = await openObjectStore({
    statementsUrl: pathToFileURL(folder).href,
    s3ForcePathStyle: null,
    env: {},
  });
  return {
    rig,
    drawn,
    platform,
    folder,
    objects,
    nowMs: dayWindow(addDays(platform.firstDay, 1), platform.zone).beginMs + NIGHT_MS,
    unsettled: false,
    asked: [],
    firstAsked: addDays(platform.firstDay, -1),
    lastExitCode: 0,
    state: await stateOf(rig.db),
  };
}

/** When the calm at the end begins, and the days of its runs: all days of the ledger and all that were asked for. */
function calmOf({ platform, nowMs, firstAsked }: Stage): {
  readonly nowMs: number;
  readonly range: DayRange;
} {
  const afterAll = [addDays(dayOf(nowMs, platform.zone), 1), addDays(platform.lastDay, 2)].sort()[1]!;
  return {
    nowMs: dayWindow(afterAll, platform.zone).beginMs + NIGHT_MS,
    range: { from: firstAsked, to: addDays(afterAll, -1) },
  };
}

/** Runs over all days while nothing goes wrong. Returns the findings and the database's state. */
async function close(stage: Stage, range: DayRange, runs: number) {
  const request: RunRequest = { command: 'run', range, merchants: [MERCHANT], currencies: null };
  const findings: string[] = [];
  for (let run = 1; run <= runs; run += 1) {
    findings.push(...(await step(stage, request, null)));
    stage.nowMs += CLOSING_PAUSE_MS;
    await acceptAllHeld(stage.rig.db, new Date(stage.nowMs));
  }
  const published = await readPublished(stage.folder, MERCHANT.merchantNo);
  return { findings, ending: await endingOf(stage.rig.db, published) };
}

async function check(rig: Rig, drawn: HistoryCase): Promise<readonly string[]> {
  const platform = createHistoryPlatform(drawn);
  const stage = await newStage(rig, drawn, platform);
  const folders = [stage.folder];
  const broken: string[] = [];
  try {
    for (const [at, { changes, act, fault }] of drawn.steps.entries()) {
      for (const change of changes) platform.change(change);
      const findings = await step(stage, requestOf(act, stage), fault);
      broken.push(...findings.map((finding) => `step ${at} (${act.what}): ${finding}`));
    }
    platform.mendAll();
    const calm = calmOf(stage);
    stage.nowMs = calm.nowMs;
    const { findings, ending } = await close(stage, calm.range, CLOSING_RUNS);
    const right = stage.state.openBreaks.length > 0 ? 3 : 0;
    if (stage.lastExitCode !== right)
      findings.push(
        `a calm run ends with another code than what is open asks for: ${stage.lastExitCode}, not ${right}`,
      );
    broken.push(...findings.map((finding) => `at the end: ${finding}`));
    const fresh = await newStage(rig, drawn, platform);
    folders.push(fresh.folder);
    fresh.nowMs = stage.nowMs;
    const read = await close(fresh, calm.range, 1);
    return [
      ...broken,
      ...read.findings.map((finding) => `fresh tables: ${finding}`),
      ...differences(ending, read.ending).map((finding) => `at the end: ${finding}`),
    ];
  } finally {
    for (const folder of folders) await rm(folder, { recursive: true, force: true });
  }
}

/** Needs a PostgreSQL server with the migrated template. */
export async function historyOracle(serverUrl: string): Promise<Oracle<HistoryCase>> {
  const rig = await openRig(serverUrl);
  return { kind: 'histories', cases: historyCases, check: (drawn) => check(rig, drawn), close: rig.close };
}
