/** Finds out what `run` with the same flags would do: does it all on the database, rolls it back, and reports it. */
import { addDays, dayOf, dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay, Account, Window } from '../ledger/entry.ts';
import type { BreakRow } from '../store/breaks/breaks.ts';
import { rehearse } from '../store/engine/rehearsal.ts';
import type { DayRange } from './range.ts';
import { startRun } from '../store/runs.ts';
import {
  checkedBy,
  accountsAsked,
  runZoneGate,
  type ActiveRun,
  type RunDeps,
  type RunRequest,
} from './active-run.ts';
import { REHEARSAL_TTL_MS, underLeases, type HeldLeases } from './leases.ts';
import { runRanges } from './merchant-ranges.ts';
import { type StageOutcome, outcomeOfAll, accountDayKey } from './report.ts';
import { workOnAll } from './merchant-work.ts';
import type { Kysely } from 'kysely';
import { accountsOf, type AccountFilter } from '../ledger/account-filter.ts';
import { entriesIn } from '../ledger/chain/figures.ts';
import { covers } from '../ledger/window.ts';
import { seenFigures, type DayChange } from '../reconcile/reconcile.ts';
import { isAsPublished, StatementMisfit } from '../statements/day-content.ts';
import type { DayFigures } from '../store/account-days.ts';
import type { DB } from '../store/engine/schema.ts';
import type { StatementRow } from '../store/statements/statements.ts';
import { dueAccountDays, statementsOfDueDays } from '../store/statements/due-days.ts';
import { certifiedWindows } from '../store/certificates.ts';
import { merchantsWithUnreadable } from '../store/quarantine.ts';
import { pastOfDays } from '../store/statements/past-of-days.ts';
import { whyUnreadable } from '../statements/withheld.ts';

/** Of calls, `run` makes as many, but for proofs of the time zone. */
export interface PlanReport extends DayRange, Pick<StageOutcome, 'sync' | 'troubles'> {
  /** Account days whose figures or rows would change, before and after, with the revision that would be published. */
  readonly daysChanged: readonly PlannedDay[];
  readonly breaksOpened: readonly BreakRow[];
  readonly breaksHealed: readonly BreakRow[];
}

/**
 * Reads the platform as `run` would and works out all figures, but keeps no row and no object. Holds the lease
 * meanwhile, so that no other run changes what it works with. Throws what `executeRun` throws.
 */
export function planRun(request: Omit<RunRequest, 'command'>, deps: RunDeps): Promise<PlanReport> {
  const merchants = request.merchants.map(({ merchantNo }) => merchantNo);
  return underLeases(merchants, { ...deps, ttlMs: REHEARSAL_TTL_MS }, (held) => {
    const [busy] = held.busy.values();
    if (busy !== undefined) throw busy;
    return rehearse(deps.db, (db) => planAll(request, { ...deps, db, signal: held.signal }, held));
  });
}

async function planAll(
  request: Omit<RunRequest, 'command'>,
  deps: RunDeps,
  held: HeldLeases,
): Promise<PlanReport> {
  const asked: RunRequest = { ...request, command: 'run' };
  const { ranges, from, to } = await runRanges(asked, deps);
  const now = deps.now();
  const own = { command: 'plan', holder: deps.holder, fromDay: from, toDay: to, now };
  const runId = await startRun(deps.db, own);
  const checked = checkedBy(asked, deps);
  const run: ActiveRun = { request: asked, deps, runId, zoneGate: runZoneGate(deps), from, to, checked };
  const outcomes = await workOnAll(run, { held, ranges, stages: ['sync', 'reconcile'] });
  const { sync, reconcile, troubles } = outcomeOfAll([...outcomes.values()]);
  const yesterday = addDays(dayOf(now.getTime(), deps.zone), -1);
  return {
    from,
    to,
    sync,
    daysChanged: await plannedDays(reconcile?.daysChanged ?? [], {
      ...deps,
      accounts: accountsAsked(request),
      // A day that is not over has no final figures yet. It is left out, unless it was asked for by date.
      toDay: to > yesterday ? to : yesterday,
    }),
    breaksOpened: reconcile?.opened ?? [],
    breaksHealed: reconcile?.healed ?? [],
    troubles,
  };
}

/** An account day whose figures or whose statement would change. */
export interface PlannedDay extends DayChange {
  /** The published revision now, and after the run; null if there is none. */
  readonly revision: { readonly before: number | null; readonly after: number | null };
  /** A clause that says why the changed day would not be published; null if it would. */
  readonly withheld: string | null;
}

interface PlanDaysOptions extends Pick<RunDeps, 'zone' | 'clockToleranceS' | 'signal' | 'now'> {
  /** The database with the reconciled days, which are rolled back afterwards. */
  readonly db: Kysely<DB>;
  readonly accounts: AccountFilter & { readonly merchants: readonly string[] };
  /** The last day that a run would publish. */
  readonly toDay: BusinessDay;
}

/**
 * Days whose figures changed, and days with the same figures that would get a new revision, by merchant, currency and
 * day. Like a run, it reads the rows of a day only if its figures are the published ones.
 */
async function plannedDays(changes: readonly DayChange[], options: PlanDaysOptions): Promise<PlannedDay[]> {
  const changed = new Map(changes.map((change) => [accountDayKey(change), change]));
  const planned: PlannedDay[] = [];
  for (const merchantNo of options.accounts.merchants) {
    for (const due of await dueDays(merchantNo, options)) {
      const change = changed.get(accountDayKey({ account: due.account, day: due.row.day })) ?? unchanged(due);
      const publishing = await publishingOf(due, options);
      if (publishing !== 'new' && readsTheSame(change)) continue;
      const before = due.current?.revision ?? null;
      planned.push({
        ...change,
        revision: { before, after: publishing === 'new' ? (before ?? 0) + 1 : before },
        withheld: typeof publishing === 'string' ? null : publishing.withheld,
      });
    }
  }
  return planned;
}

interface DueAccountDay {
  readonly account: Account;
  readonly row: DayFigures;
  readonly current: StatementRow | undefined;
  readonly isCertified: boolean;
  /** Why it is withheld as entries of it cannot be read; null if it is not. */
  readonly unreadable: string | null;
}

/** What a run would read to decide what to publish: four queries for each merchant and one for each account. */
async function dueDays(
  merchantNo: string,
  { db, zone, toDay, accounts }: PlanDaysOptions,
): Promise<DueAccountDay[]> {
  const own = accountsOf(merchantNo, accounts.currencies);
  const rows = (await dueAccountDays(db, { ...own, toDay })).map(({ figures }) => figures);
  const published = await statementsOfDueDays(db, own, toDay);
  const statements = new Map(published.map((row) => [`${row.currency} ${row.day}`, row]));
  const certified = new Map<string, readonly Window[]>();
  for (const [currency, days] of Map.groupBy(rows, (row) => row.currency)) {
    const [first, last] = [dayWindow(days[0]!.day, zone), dayWindow(days.at(-1)!.day, zone)];
    const span = { beginMs: first.beginMs, endMs: last.endMs };
    certified.set(currency, await certifiedWindows(db, merchantNo, span, currency));
  }
  const whyOf = await unreadableOf(merchantNo, rows, { db, zone });
  return rows.map((row) => ({
    account: { merchantNo, currency: row.currency },
    row,
    unreadable: whyOf(row),
    current: statements.get(`${row.currency} ${row.day}`),
    isCertified: covers(certified.get(row.currency)!, dayWindow(row.day, zone)),
  }));
}

/** Asks for the days only where an entry of the merchant cannot be read. */
async function unreadableOf(
  merchantNo: string,
  rows: readonly DayFigures[],
  { db, zone }: Pick<PlanDaysOptions, 'db' | 'zone'>,
): Promise<(row: DayFigures) => string | null> {
  if (!(await merchantsWithUnreadable(db, [merchantNo])).has(merchantNo)) return () => null;
  const past = await pastOfDays(db, merchantNo, [...new Set(rows.map(({ day }) => day))], zone);
  return (own) => {
    const one = { account: { merchantNo, currency: own.currency }, day: own.day, own };
    return whyUnreadable(one, past.get(own.day)!)?.why ?? null;
  };
}

/** `stands`: the published statement needs no new revision. */
type Publishing = 'new' | 'stands' | { readonly withheld: string };

async function publishingOf(
  { row, current, isCertified, unreadable }: DueAccountDay,
  options: PlanDaysOptions,
): Promise<Publishing> {
  options.signal.throwIfAborted();
  if (dayWindow(row.day, options.zone).endMs >= options.now().getTime())
    return { withheld: 'the day is not over' };
  if (!isCertified) return { withheld: 'not all of the day is certified' };
  if (unreadable !== null) return { withheld: unreadable };
  if (current === undefined) return 'new';
  try {
    return (await isAsPublished(current, row, options)) ? 'stands' : 'new';
  } catch (error) {
    if (error instanceof StatementMisfit) return { withheld: error.message };
    throw error;
  }
}

/** The change of a due day whose figures stay the same: its rows changed, or it was never published. */
function unchanged({ account, row }: DueAccountDay): DayChange {
  const { day, closing } = row;
  const figures = seenFigures(row);
  return {
    ...{ account, day, oldClosing: closing, newClosing: closing, entries: entriesIn(row) },
    ...{ before: figures, after: figures },
  };
}

const readsTheSame = ({ before, after }: DayChange): boolean =>
  before !== null && JSON.stringify(before) === JSON.stringify(after);
