/** Ends the work on a merchant: finds out what is still open, judges it, and records its end. */
import pLimit from 'p-limit';
import type { ExitCode } from '../ledger/ending.ts';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import { LeaseLost, type Lease } from '../store/engine/lease.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';
import { keepSampledMonths } from '../store/lateness.ts';
import { keepHistoricalComparisons } from '../store/historical-days.ts';
import { STAGES, accountsAsked, type ActiveRun } from './active-run.ts';
import { recordEnds, type MerchantEndRow } from '../store/run-merchants.ts';
import { recordSettled, unreportedRevisions } from '../store/statements/record-published.ts';
import { unreportedChanges } from '../store/events.ts';
import { type Discrepancy, discrepanciesOf, provenOf } from './proven.ts';
import {
  orderOfMerchants,
  type MerchantOpenItems,
  outcomeOfAll,
  type MerchantOutcome,
  runFigures,
  type OpenItems,
} from './report.ts';
import type { Reason } from './verdict/exit-codes.ts';
import { spanName } from './verdict/finding-reasons.ts';
import { judge, type RunFailure } from './verdict/judge.ts';
import type { AccountFilter } from '../ledger/account-filter.ts';
import type { WithheldDay } from '../statements/publish.ts';
import { unreadableByMerchant } from '../store/quarantine.ts';
import { countOpenBreaks } from '../store/breaks/breaks.ts';
import type { DB } from '../store/engine/schema.ts';
import { silentAccounts } from '../store/silent-accounts.ts';
import { heldDaysOf } from '../store/absent-entries.ts';
import { noticesByMerchant, unreportedNotices } from '../store/notices.ts';
import { askInParts } from '../store/account-filter.ts';
import { closeReadRanges } from './coverage.ts';
import { sql, type Kysely } from 'kysely';

/** So many merchants that were not begun are ended side by side. */
const ENDED_AT_ONCE = 4;

/** Figures that say nothing about a single merchant. */
const OF_ENTIRE_RUNS = ['merchants', 'merchantsDone', 'notes', 'elapsedMs'];

/** There is a row for each merchant and night, so nothing that is zero or empty is stored in it. */
const isReported = (value: unknown): boolean => value !== 0 && !(Array.isArray(value) && value.length === 0);

export interface MerchantEnd extends MerchantOpenItems {
  readonly outcome: MerchantOutcome;
  /** False if the merchant's lease was lost: another process is at work on it, and its run tells what is open. */
  readonly isRecorded: boolean;
  /** The exit code of a run of this merchant alone. */
  readonly exitCode: ExitCode;
}

export interface EndedMerchant {
  readonly outcome: MerchantOutcome;
  readonly lease: Lease;
}

/** Finds out what is open of the merchant, judges it, and records it in one transaction. Throws what the database throws. */
export async function endMerchant(
  run: ActiveRun,
  { outcome, lease }: EndedMerchant,
  failures: readonly RunFailure[] = [],
): Promise<MerchantEnd> {
  const { request, deps, runId } = run;
  const { merchantNo, historicalCompared: comparison, monthsHeld, publishedNow } = outcome;
  const now = deps.now();
  const found = await openItemsOf(deps.db, {
    ...accountsAsked(request),
    merchants: [merchantNo],
    runId,
    reads: STAGES[request.command].includes('sync'),
    chains: request.command !== 'sync',
    zone: deps.zone,
    now,
  });
  const { standing: all, unreported } = found.get(merchantNo)!;
  const standing = { ...all, discrepancies: answeredFor(run, outcome, all.discrepancies) };
  noteWithoutOpening(run, outcome, standing.discrepancies);
  const row = endRow(run, outcome, standing, failures);
  const end = { outcome, standing, unreported, exitCode: row.exitCode };
  const isRecorded = await writeTransaction(deps.db, lease, async (trx) => {
    await recordSettled(trx, [...publishedNow.stored.values()], publishedNow.settled);
    if (comparison !== null) await keepHistoricalComparisons(trx, [{ merchantNo, comparison }]);
    await keepSampledMonths(trx, monthsHeld === null ? [] : [monthsHeld]);
    await recordEnds(trx, [row], { runId, holder: deps.holder, now });
    await deps.alerts?.noteEnds(trx, [end], { runId, now });
    return true;
  }).catch((error: unknown) => {
    if (error instanceof LeaseLost) return false;
    throw error;
  });
  publishedNow.clear();
  return { ...end, isRecorded };
}

/**
 * The discrepancies that the merchant's part of the run answers for: of stages that it did, of days that it was to work on,
 * less days that it published or that it says why not.
 */
function answeredFor(
  { request, from, to }: ActiveRun,
  { sync, publish, publishedNow }: MerchantOutcome,
  discrepancies: readonly Discrepancy[],
): Discrepancy[] {
  const keyOf = ({ currency }: Account, day: BusinessDay): string => `${currency} ${day}`;
  const reported = new Set(publish?.withheld.map(({ account, day }) => keyOf(account, day)));
  const isOfRun = (day: BusinessDay): boolean =>
    request.command !== 'publish' || request.range === null || (from <= day && day <= to);
  return discrepancies.flatMap((one) => {
    // What the run itself could not read is a reason already.
    if (one.what === 'in-doubt' && sync !== null && sync.report.uncertified.length > 0) return [];
    if (one.what === 'not-read' || one.what === 'in-doubt') return [one];
    if (OF_STATEMENTS.includes(one.what) && !STAGES[request.command].includes('publish')) return [];
    const { merchantNo, currency } = one;
    const isSaid = (day: BusinessDay): boolean =>
      (one.what === 'no-statement' || one.what === 'unreadable') &&
      (reported.has(keyOf(one, day)) || publishedNow.has({ account: { merchantNo, currency }, day }));
    const days = one.days.filter((day) => isOfRun(day) && !isSaid(day));
    return days.length === 0 ? [] : [{ ...one, days }];
  });
}

/** What only those commands answer for that publish. */
const OF_STATEMENTS: readonly Discrepancy['what'][] = ['no-statement', 'unreadable'];

/** Proven days that get no statement before the days before them are read count as withheld, of those that the run was asked for. */
function noteWithoutOpening(
  { request: { range } }: Pick<ActiveRun, 'request'>,
  outcome: MerchantOutcome,
  discrepancies: readonly Discrepancy[],
): void {
  if (outcome.publish === null) return;
  const withheld = discrepancies
    .filter(({ what }) => what === 'no-opening')
    .flatMap(({ merchantNo, currency, days, unread }): WithheldDay[] =>
      days
        .filter((day) => range === null || (range.from <= day && day <= range.to))
        .map((day) => ({
          account: { merchantNo, currency },
          ...{ day, cause: 'no-opening' },
          why: `the balance that it opens on is not known, as ${spanName(unread!)} before it is not read completely`,
        })),
    );
  outcome.publish = { ...outcome.publish, withheld: [...outcome.publish.withheld, ...withheld] };
}

/** Records what one merchant's work has published, where its end is not recorded with those of others. */
export async function recordPublished(
  db: ActiveRun['deps']['db'],
  lease: Lease,
  { publishedNow }: MerchantOutcome,
): Promise<void> {
  const { stored, settled } = publishedNow;
  if (stored.size + settled.length > 0)
    await writeTransaction(db, lease, (trx) => recordSettled(trx, [...stored.values()], settled));
  publishedNow.clear();
}

function endRow(
  { deps, runId, checked }: ActiveRun,
  outcome: MerchantOutcome,
  standing: OpenItems,
  failures: readonly RunFailure[],
): MerchantEndRow & { readonly exitCode: ExitCode } {
  const all = outcomeOfAll([outcome]);
  const { exitCode, reasons } = judge(all, standing, { id: runId, failures, zone: deps.zone });
  const figures = Object.fromEntries(
    Object.entries(runFigures({ ...all, checked, standing, reasons, notes: [], elapsedMs: 0 })).filter(
      ([name, value]) => !OF_ENTIRE_RUNS.includes(name) && isReported(value),
    ),
  );
  const reads = outcome.sync !== null && outcome.sync.notJoined === undefined;
  return { merchantNo: outcome.merchantNo, exitCode, reads, figures };
}

/** The end of a merchant for whom nothing was done, for this reason. */
export const endOfReason = (reason: Reason & { readonly merchantNo: string }): MerchantEndRow => ({
  ...{ merchantNo: reason.merchantNo, exitCode: reason.exitCode, reads: false },
  figures: { reasons: [reason] },
});

/** The ends of a run's merchants. */
export class MerchantEnds {
  readonly #run: ActiveRun;
  readonly #onEnded: (merchantNo: string) => Promise<void>;
  readonly #ends = new Map<string, MerchantEnd>();

  /** `onEnded` is called once a merchant's end is recorded. */
  constructor(run: ActiveRun, onEnded: (merchantNo: string) => Promise<void>) {
    this.#run = run;
    this.#onEnded = onEnded;
  }

  /** Ends a merchant whose work is over. Throws what the database throws. */
  async add(ended: EndedMerchant, failures: readonly RunFailure[] = []): Promise<void> {
    const { merchantNo } = ended.outcome;
    this.#ends.set(merchantNo, await endMerchant(this.#run, ended, failures));
    await this.#onEnded(merchantNo);
  }

  /** Ends those of the merchants that have no end yet. Throws what the database throws. */
  async addRest(merchants: readonly EndedMerchant[], failures: readonly RunFailure[]): Promise<void> {
    const rest = merchants.filter(({ outcome }) => !this.#ends.has(outcome.merchantNo));
    const atOnce = pLimit(ENDED_AT_ONCE);
    await Promise.all(rest.map((ended) => atOnce(() => this.add(ended, failures))));
  }

  /** In order of merchant. */
  all(): readonly MerchantEnd[] {
    return [...this.#ends.values()].toSorted((a, b) => orderOfMerchants(a.outcome, b.outcome));
  }
}

/**
 * What is open of each of the merchants, of all days and whichever run found it. Requested ranges that are fully proven by
 * now are closed.
 */
export async function openItemsOf(
  db: Kysely<DB>,
  scope: AccountFilter & {
    readonly merchants: readonly string[];
    readonly runId: number;
    /** Whether the run reads the ledger. If not, what is still to be read is not its concern. */
    readonly reads: boolean;
    /** Whether the run answers for figures, and so for days without them. */
    readonly chains: boolean;
    readonly zone: string;
    readonly now: Date;
  },
): Promise<ReadonlyMap<string, MerchantOpenItems>> {
  const { merchants, runId, reads, chains, currencies } = scope;
  const byMerchant = <Row extends { readonly merchantNo: string }>(rows: readonly Row[]) =>
    Map.groupBy(rows, ({ merchantNo }) => merchantNo);
  const isAsked = ({ currency }: { readonly currency: string }): boolean =>
    currencies?.includes(currency) !== false;
  const open = await askInParts(merchants, (some) => closeReadRanges(db, some, scope));
  const requested = byMerchant(open.sort((a, b) => a.id - b.id));
  const proven = byMerchant(await provenOf(db, merchants, open, scope));
  const [breaks, unreported, revised, quarantined, notices, discrepancies, held, silent] = await Promise.all([
    countOpenBreaks(db, scope, sql`run_id = ${runId}`),
    unreportedChanges(db, merchants).then(byMerchant),
    unreportedRevisions(db, merchants).then(byMerchant),
    unreadableByMerchant(db, merchants),
    unreportedNotices(db, merchants).then(noticesByMerchant),
    chains ? discrepanciesOf(db, merchants, scope.zone).then(byMerchant) : null,
    heldDaysOf(db, merchants).then(byMerchant),
    silentAccounts(db, merchants, scope.zone).then(byMerchant),
  ]);
  const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);
  const openOf = (merchantNo: string): MerchantOpenItems => {
    const changes = unreported.get(merchantNo) ?? [];
    const standing: OpenItems = {
      newBreaks: breaks.get(merchantNo)?.opened ?? 0,
      knownBreaks: breaks.get(merchantNo)?.known ?? 0,
      unreported: {
        amended: sum(changes.map(({ amended }) => amended)),
        vanished: sum(changes.map(({ vanished }) => vanished)),
      },
      revised: revised.get(merchantNo) ?? [],
      quarantined: quarantined.get(merchantNo) ?? 0,
      notices: notices.get(merchantNo) ?? [],
      requested: reads ? (requested.get(merchantNo) ?? []) : [],
      proven: proven.get(merchantNo)!.map(({ unread, ...own }) => own),
      discrepancies: (discrepancies?.get(merchantNo) ?? []).filter(isAsked),
      held: (held.get(merchantNo) ?? []).filter(isAsked),
      silent: (silent.get(merchantNo) ?? []).filter(isAsked),
    };
    return { standing, unreported: changes };
  };
  return new Map(merchants.map((merchantNo) => [merchantNo, openOf(merchantNo)]));
}
