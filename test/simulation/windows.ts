/** Checks the reading of windows against a misbehaving platform that knows what it served. */
import { createDirectoryStore } from '../../src/objects/directory.ts';
import { executeRun } from '../../src/run/run.ts';
import type { RunReport } from '../../src/run/report.ts';
import { isClockOff } from '../../src/store/installation.ts';
import { acceptAllHeld } from '../support/held.ts';
import { covers } from './history-state.ts';
import type { Oracle } from './oracle.ts';
import { MERCHANT, openRig, type Rig } from './rig.ts';
import { windowCases, type Reading, type WindowCase } from './window-cases.ts';
import { wrongCopy } from './window-copy-law.ts';
import {
  SLACK_MS,
  TOLERANCE_S,
  vanishedThoughHeld,
  wrongCertificates,
  type CertifiedWindow,
  type StoredRow,
} from './window-laws.ts';
import {
  createWindowPlatform,
  FIRST_DAY,
  FIRST_MS,
  LAST_DAY,
  type Call,
  type WindowPlatform,
} from './window-platform.ts';

const ASKED = { beginMs: FIRST_MS, endMs: FIRST_MS + 2 * 86_400_000 - 1 };
const NOW_MS = ASKED.endMs + 3_600_000;
const CALM: Reading = { happenings: [], misdeed: { what: 'none' } };
/** When the second reading comes. It counts if it is at least an hour after the first. */
const SECOND_READING_MS = 2 * 3_600_000;

interface Read {
  readonly calls: readonly Call[];
  readonly report: RunReport | null;
  readonly error: Error | null;
}

/** One run, `afterMs` after the first. */
async function read(rig: Rig, platform: WindowPlatform, reading: Reading, afterMs: number): Promise<Read> {
  const { reader, calls } = platform.open(reading);
  const deps = rig.deps({
    db: rig.db,
    reader,
    // Never opened, as a sync publishes nothing.
    objects: createDirectoryStore('/nonexistent'),
    zone: 'UTC',
    nowMs: NOW_MS + afterMs,
    resweepDays: 0,
    toleranceS: TOLERANCE_S,
  });
  const range = { from: FIRST_DAY, to: LAST_DAY };
  try {
    const request = { command: 'sync', range, merchants: [MERCHANT], currencies: null } as const;
    return { calls, report: await executeRun(request, deps), error: null };
  } catch (error) {
    return { calls, report: null, error: error as Error };
  }
}

interface Stored {
  readonly rows: readonly StoredRow[];
  /** Windows that are certified, wait for no second reading, and were not read in vain by a later run. */
  readonly windows: readonly CertifiedWindow[];
  readonly kept: ReadonlySet<string>;
}

async function storedIn({ db }: Rig): Promise<Stored> {
  const entries = await db.selectFrom('ledger_entry').selectAll().orderBy('batch_no').execute();
  const versions = await db.selectFrom('ledger_entry_version').select(['batch_no', 'credit']).execute();
  const read = await db.selectFrom('certificate').where('read_at', 'is not', null).selectAll().execute();
  const isInVain = (row: (typeof read)[number]) => row.problem !== null;
  const meet = (one: (typeof read)[number], other: (typeof read)[number]) =>
    one.begin_ms! <= other.through_ms! && one.through_ms! >= other.begin_ms!;
  const runOf = (row: (typeof read)[number]) => row.run_id ?? 0;
  const windows = read.filter(
    (row) =>
      !isInVain(row) && !read.some((one) => isInVain(one) && runOf(one) > runOf(row) && meet(one, row)),
  );
  const waiting = await db.selectFrom('absent_entry').select(['begin_ms', 'end_ms']).execute();
  return {
    rows: entries.map((row) => ({
      batchNo: row.batch_no,
      bookedMs: row.booked_ms,
      version: Number(row.credit),
      vanished: row.vanished_at !== null,
    })),
    windows: windows
      .filter((row) => !waiting.some((one) => row.begin_ms! <= one.end_ms && row.through_ms! >= one.begin_ms))
      .map((row) => ({ beginMs: row.begin_ms!, endMs: row.through_ms!, runId: row.run_id })),
    kept: new Set([...entries, ...versions].map((row) => `${row.batch_no} v${Number(row.credit)}`)),
  };
}

const namedErrors = ['TimeZoneUnproven', 'TimeZoneWrong'];

async function check(rig: Rig, drawn: WindowCase): Promise<readonly string[]> {
  await rig.empty();
  const platform = createWindowPlatform(drawn);
  const findings: string[] = [];
  let before = await storedIn(rig);
  for (const [nth, reading] of drawn.readings.entries()) {
    const { calls, report, error } = await read(rig, platform, reading, nth * 60_000);
    const after = await storedIn(rig);
    const known = new Set(before.windows.map(({ runId }) => runId));
    const fresh = after.windows.filter(({ runId }) => !known.has(runId));
    const say = (list: readonly string[]) =>
      void findings.push(...list.map((one) => `reading ${nth}: ${one}`));
    if (error !== null && !namedErrors.includes(error.name))
      say([`a reading threw ${error.name}: ${error.message}`]);
    say(
      after.rows
        .filter(
          ({ batchNo, bookedMs }) => Math.floor(platform.trueMsOf(batchNo) / 1_000) * 1_000 !== bookedMs,
        )
        .map(({ batchNo }) => `an entry is stored at a shifted instant: ${batchNo}`)
        .slice(0, 1),
    );
    if (drawn.zoneOffMinutes === 0) {
      const emptied = reading.misdeed.what === 'emptyOnce';
      const liesInTotals = reading.misdeed.what === 'totals';
      const step = { before: before.rows, after: after.rows, emptied, liesInTotals };
      if (!emptied && report?.sync[0]?.report.failure === null)
        say(wrongCertificates(platform, calls, fresh, step));
      say(vanishedThoughHeld(platform, calls, step));
    }
    say(
      [...before.kept].filter((one) => !after.kept.has(one)).map((one) => `a stored content is lost: ${one}`),
    );
    if (report !== null && [0, 3].includes(report.exitCode) && !covers(after.windows, ASKED))
      say(['exit 0 or 3, but not all that was asked for is certified']);
    before = after;
  }
  if (drawn.zoneOffMinutes === 0) findings.push(...(await calmly(rig, platform, drawn)));
  return findings;
}

/** Once the platform behaves well, two readings make the copy exact and prove all of it. */
async function calmly(rig: Rig, platform: WindowPlatform, drawn: WindowCase): Promise<readonly string[]> {
  const firstMs = drawn.readings.length * 60_000;
  for (const afterMs of [firstMs, firstMs + SECOND_READING_MS]) {
    await acceptAllHeld(rig.db, new Date(afterMs));
    const before = await storedIn(rig);
    const { report, error } = await read(rig, platform, CALM, afterMs);
    if (error !== null && error.name === 'TimeZoneUnproven') return [];
    if (error !== null) return [`a calm reading threw ${error.name}: ${error.message}`];
    const { rows, windows, kept } = await storedIn(rig);
    const lost = [...before.kept].find((one) => !kept.has(one));
    if (lost !== undefined) return [`a stored content is lost: ${lost}`];
    const { exitCode } = report!;
    const hasWreck = [...platform.held().values()].some(({ wreck }) => wreck !== null);
    if (exitCode === 0 && hasWreck) return ['exit 0, though an entry cannot be read'];
    if (afterMs === firstMs) continue;
    // If the platform's order changes with each call, a window may stay uncertified by bad luck.
    const clockSkewMs = (await isClockOff(rig.db)) ? SLACK_MS : 0;
    const broken = wrongCopy(platform, { rows, windows, exitCode, clockSkewMs });
    return drawn.order === 'restless' && ![0, 3].includes(exitCode) ? [] : broken;
  }
  return [];
}

/** Needs a PostgreSQL server with the migrated template. */
export async function windowOracle(serverUrl: string): Promise<Oracle<WindowCase>> {
  const rig = await openRig(serverUrl);
  return { kind: 'windows', cases: windowCases, check: (drawn) => check(rig, drawn), close: rig.close };
}
