/**
 * Plays nights, backfills, reconciles, kills and adoptions in any order over sparse accounts. After each step the law of green
 * holds, as tables and published files show it, or the step's end says what differs.
 */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { EXIT } from '../../src/ledger/ending.ts';
import { openObjectStore } from '../../src/objects/open.ts';
import type { ObjectStore } from '../../src/objects/object-store.ts';
import type { LedgerPage, LedgerPageQuery, LedgerReader } from '../../src/platform/ledger-reader.ts';
import { PlatformUnreachable } from '../../src/platform/errors.ts';
import type { RunDeps } from '../../src/run/active-run.ts';
import { underLeasesAsNeeded } from '../../src/run/leases.ts';
import { executeRun } from '../../src/run/run.ts';
import type { Reason } from '../../src/run/verdict/exit-codes.ts';
import { adoptStore } from '../../src/months/adopt.ts';
import { unbalanced, wrongSums } from '../support/balance-law.ts';
import { notChainedByLaw } from '../support/chain-law.ts';
import { differencesFromLaw } from '../support/positive-law.ts';
import { acceptAllHeld } from '../support/held.ts';
import { createKillSwitch, KILLED_AT, type Kill } from './kill-switch.ts';
import type { Oracle } from './oracle.ts';
import { MERCHANT, openRig, type Rig } from './rig.ts';
import fc from 'fast-check';

const DAY_MS = 86_400_000;
const FIRST_MS = Date.UTC(2026, 0, 1);
/** Entries lie in so many days; every range ends before the first night. */
const DAYS = 40;
/** Where a run may have been held up by absent entries, so many more nights of the entire range settle everything. */
const CALM_RUNS = 2;
const PAGE_SIZE = 100;
const FOLDERS = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

interface Line {
  readonly day: number;
  readonly second: number;
  readonly net: number;
  readonly currency: 'USD' | 'EUR';
}

type Act =
  | { readonly what: 'night' | 'adopt' }
  | { readonly what: 'backfill' | 'reconcile'; readonly from: number; readonly days: number };

interface Step {
  /** Moves an entry to another day, books a new one, or neither. */
  readonly change:
    | { readonly what: 'none' }
    | { readonly what: 'move'; readonly pick: number; readonly day: number }
    | { readonly what: 'book'; readonly line: Line };
  readonly act: Act;
  /** A day of which nothing can be read, or a kill. */
  readonly fault: { readonly failedDay: number } | { readonly kill: Kill } | null;
}

export interface ProofCase {
  readonly lines: readonly Line[];
  readonly steps: readonly Step[];
}

const days = fc.nat(DAYS - 1);
const lines: fc.Arbitrary<Line> = fc.record({
  day: days,
  second: fc.integer({ min: 0, max: 86_399 }),
  net: fc.constantFrom(-7, -3, 2, 5, 11),
  currency: fc.constantFrom<Line['currency']>('USD', 'USD', 'USD', 'EUR'),
});
const acts: fc.Arbitrary<Act> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Act>({ what: 'night' }) },
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constantFrom('backfill' as const, 'backfill' as const, 'reconcile' as const),
      from: days,
      days: fc.integer({ min: 1, max: 10 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Act>({ what: 'adopt' }) },
);
const kills = fc.record({
  kill: fc.record({ on: fc.constantFrom(...KILLED_AT), at: fc.nat(60), done: fc.boolean() }),
});
const steps: fc.Arbitrary<Step> = fc.record({
  change: fc.oneof(
    { weight: 3, arbitrary: fc.constant({ what: 'none' as const }) },
    { weight: 1, arbitrary: fc.record({ what: fc.constant('move' as const), pick: fc.nat(20), day: days }) },
    { weight: 1, arbitrary: fc.record({ what: fc.constant('book' as const), line: lines }) },
  ),
  act: acts,
  fault: fc.oneof(
    { weight: 3, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.record({ failedDay: days }) },
    { weight: 1, arbitrary: kills },
  ),
});
const proofCases: fc.Arbitrary<ProofCase> = fc.record({
  lines: fc.array(lines, { minLength: 1, maxLength: 8 }),
  steps: fc.array(steps, { minLength: 2, maxLength: 7 }),
});

const dayText = (nth: number): string => new Date(FIRST_MS + nth * DAY_MS).toISOString().slice(0, 10);

/** The platform's books: entries keep their numbers, and balances follow the order of time. */
function createBooks(drawn: readonly Line[]) {
  const booked = drawn.map((line, nth) => ({ batchNo: `B${nth}`, ...line }));
  const change = (wanted: Step['change']): void => {
    if (wanted.what === 'book') booked.push({ batchNo: `B${booked.length}`, ...wanted.line });
    if (wanted.what === 'move') {
      const at = wanted.pick % booked.length;
      booked[at] = { ...booked[at]!, day: wanted.day };
    }
  };
  const entries = () => {
    const balances = new Map<string, number>();
    return [...booked]
      .sort((a, b) => a.day - b.day || a.second - b.second || (a.batchNo < b.batchNo ? -1 : 1))
      .map(({ batchNo, day, second, net, currency }) => {
        const balance = (balances.get(currency) ?? 0) + net;
        balances.set(currency, balance);
        const bookedMs = FIRST_MS + day * DAY_MS + second * 1_000;
        return {
          ...{ batchNo, currency, transactionType: 'T', balance: `${balance}.00`, bookedMs },
          credit: net > 0 ? `${net}.00` : null,
          debit: net > 0 ? null : `${-net}.00`,
          bookedAt: new Date(bookedMs).toISOString().slice(0, 19).replace('T', ' '),
        };
      });
  };
  const page = (nowMs: number, { window, currency, batchNo, pageNum }: LedgerPageQuery): LedgerPage => {
    const found = entries().filter(
      (entry) =>
        entry.bookedMs <= nowMs &&
        entry.bookedMs >= window.beginMs &&
        entry.bookedMs <= window.endMs &&
        (currency === undefined || entry.currency === currency) &&
        (batchNo === undefined || entry.batchNo === batchNo),
    );
    const shown = found.slice((pageNum - 1) * PAGE_SIZE, pageNum * PAGE_SIZE);
    return { total: found.length, entries: shown, unreadable: [], notices: [] };
  };
  const reader = (nowMs: number, failedDay: number | null): LedgerReader => ({
    page: (query) => {
      const beginMs = FIRST_MS + (failedDay ?? 0) * DAY_MS;
      const isFailed =
        failedDay !== null && query.window.beginMs < beginMs + DAY_MS && query.window.endMs >= beginMs;
      return isFailed ? Promise.reject(new PlatformUnreachable('away')) : Promise.resolve(page(nowMs, query));
    },
  });
  return { change, reader };
}

const adopt = ({ db, holder, signal, objects, now }: RunDeps) =>
  underLeasesAsNeeded({ db, holder, signal }, (leaseOf, held) =>
    adoptStore({ db, leaseOf, objects, now, signal: held }),
  );

interface Stage {
  readonly rig: Rig;
  readonly books: ReturnType<typeof createBooks>;
  readonly folder: string;
  readonly objects: ObjectStore;
  nowMs: number;
  /** False while a store was not adopted completely: publishing refuses what it does not know then. */
  isAdopted: boolean;
}

const depsOf = (
  { rig, books, nowMs, objects }: Stage,
  kill: ReturnType<typeof createKillSwitch>,
  failedDay: number | null,
): RunDeps =>
  rig.deps({
    db: kill.database(rig.db),
    reader: kill.reader(books.reader(nowMs, failedDay)),
    objects: kill.objects(objects),
    ...{ zone: 'UTC', nowMs, resweepDays: 2, toleranceS: 2 },
  });

/** What is wrong after the step; nothing if the law holds or the step's end says that something differs. */
async function play(stage: Stage, { act, fault, change }: Step): Promise<string[]> {
  const { rig } = stage;
  stage.books.change(change);
  stage.nowMs += act.what === 'night' ? DAY_MS : 2 * 3_600_000;
  const kill = createKillSwitch(fault !== null && 'kill' in fault ? fault.kill : null);
  await rig.endLease();
  const deps = depsOf(stage, kill, fault !== null && 'failedDay' in fault ? fault.failedDay : null);
  try {
    if (act.what === 'adopt') {
      await rig.empty();
      stage.isAdopted = false;
      await adopt(deps);
      stage.isAdopted = true;
      return [];
    }
    const range = 'from' in act ? { from: dayText(act.from), to: dayText(act.from + act.days - 1) } : null;
    const command = act.what === 'reconcile' ? 'reconcile' : 'run';
    const asked = { command, range, merchants: [MERCHANT], currencies: null } as const;
    const { exitCode, reasons } = await executeRun(asked, deps);
    if (kill.isDead()) return [];
    const differing = await differencesIn(stage, command === 'run');
    if (command === 'run' && exitCode !== EXIT.incomplete)
      differing.push(
        ...(await wrongSums({ db: rig.db, merchantNo: MERCHANT.merchantNo, folder: stage.folder })),
      );
    if (exitCode === 0) return differing.map((one) => `exit 0, but a day differs: ${one}`);
    return notNamed(differing, reasons).map((one) => `exit ${exitCode} does not name what differs: ${one}`);
  } catch (error) {
    if (kill.isDead()) await new Promise((resolve) => setTimeout(resolve, 5));
    else if (fault === null) return [`a step threw ${(error as Error).message}`];
    return [];
  }
}

/** What of the days to chain is found by another way than all rows show. It holds after every step, whatever became of it. */
const wronglyChosen = ({ rig: { db } }: Stage): Promise<string[]> =>
  notChainedByLaw({ db, merchantNo: MERCHANT.merchantNo, zone: 'UTC', near: dayText(0) });

async function differencesIn({ rig, folder, nowMs }: Stage, isPublished: boolean): Promise<string[]> {
  const beginOf = (day: string) => Date.parse(`${day}T00:00:00Z`);
  const asked = { db: rig.db, folder, merchantNo: MERCHANT.merchantNo, nowMs, beginOf };
  const { figures, statements } = await differencesFromLaw(asked);
  return [...figures, ...(isPublished ? statements : [])];
}

const DAY_NAMED = /\d{4}-\d\d-\d\d/g;

/** A reason names a day by itself, or an earlier one, as later days wait for it. */
function notNamed(differing: readonly string[], reasons: readonly Reason[]): string[] {
  const named = reasons.flatMap(({ what, todo }) => `${what} ${todo ?? ''}`.match(DAY_NAMED) ?? []);
  return differing.filter((one) => {
    const day = one.match(DAY_NAMED)?.[0];
    return day !== undefined && !named.some((other) => other <= day);
  });
}

async function check(rig: Rig, drawn: ProofCase): Promise<readonly string[]> {
  await rig.empty();
  const folder = await mkdtemp(join(FOLDERS, 'daybook-proofs-'));
  const statementsUrl = pathToFileURL(folder).href;
  const objects = await openObjectStore({ statementsUrl, s3ForcePathStyle: null, env: {} });
  const nowMs = FIRST_MS + (DAYS + 4) * DAY_MS + 5_400_000;
  const stage: Stage = { rig, books: createBooks(drawn.lines), folder, objects, nowMs, isAdopted: true };
  const broken: string[] = [];
  try {
    for (const [at, step] of drawn.steps.entries()) {
      const wrong = [
        ...(await play(stage, step)),
        ...(await wronglyChosen(stage)),
        ...(await unbalanced({ db: rig.db, merchantNo: MERCHANT.merchantNo })),
      ];
      broken.push(...wrong.map((one) => `step ${at} (${step.act.what}): ${one}`));
    }
    await rig.endLease();
    if (!stage.isAdopted) await adopt(depsOf(stage, createKillSwitch(null), null));
    const through = Math.floor((stage.nowMs - FIRST_MS) / DAY_MS);
    const all: Step = {
      change: { what: 'none' },
      act: { what: 'backfill', from: 0, days: through },
      fault: null,
    };
    for (let run = 0; run < CALM_RUNS; run += 1) {
      broken.push(...(await play(stage, all)).map((one) => `in the end: ${one}`));
      await acceptAllHeld(rig.db, new Date(stage.nowMs));
    }
    const { figures, statements } = await differencesFromLaw({
      ...{ db: rig.db, folder, merchantNo: MERCHANT.merchantNo, nowMs: stage.nowMs },
      beginOf: (day) => Date.parse(`${day}T00:00:00Z`),
    });
    return [...broken, ...[...figures, ...statements].map((one) => `in the end a day differs: ${one}`)];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Needs a PostgreSQL server with the migrated template. */
export async function proofOracle(serverUrl: string): Promise<Oracle<ProofCase>> {
  const rig = await openRig(serverUrl);
  return { kind: 'proofs', cases: proofCases, check: (drawn) => check(rig, drawn), close: rig.close };
}
