/** Ends the work on merchants, many at a time: finds out what is still open, judges each, and records its end. */
import pLimit from 'p-limit';
import type { ExitCode } from '../ledger/ending.ts';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import { type Lease, heldStill } from '../store/engine/lease.ts';
import { retry, isLostOrRolledBack } from '../store/engine/retry.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';
import { keepSampledMonths } from '../store/lateness.ts';
import { keepHistoricalComparisons } from '../store/historical-days.ts';
import { STAGES } from './stages/stages-of.ts';
import { endTasks, type TaskEnd } from '../store/tasks.ts';
import { recordSettled } from '../store/statements/record-published.ts';
import type { UnreportedChanges } from '../store/events.ts';
import { noteForAlerts } from './alerts/at-end.ts';
import type { Discrepancy } from './discrepancies.ts';
import { outcomeOfAll, type MerchantOutcome, runFigures, type RunReport, type OpenItems } from './report.ts';
import { openItemsOf, type MerchantOpenItems } from './open-items.ts';
import { accountsAsked, type ActiveRun } from './active-run.ts';
import { judge, type RunFailure } from './verdict/judge.ts';

/** So many merchants are ended together, with a few statements for all of them. */
const ENDED_TOGETHER = 64;

/** Figures that say nothing about a single merchant. */
const OF_ENTIRE_RUNS = ['merchants', 'merchantsDone', 'notes', 'elapsedMs'];

/** There is a row for each merchant and night, so nothing that is zero or empty is stored in it. */
const isReported = (value: unknown): boolean => value !== 0 && !(Array.isArray(value) && value.length === 0);

export interface MerchantEnd {
  readonly outcome: MerchantOutcome;
  readonly standing: OpenItems;
  /** The notes behind `unreported` of the open items. */
  readonly unreported: readonly UnreportedChanges[];
  /** False if the merchant's lease was lost: another process is at work on it, and its run tells what is open. */
  readonly isRecorded: boolean;
  /** The exit code of a run of this merchant alone. */
  readonly exitCode: ExitCode;
}

export interface EndedMerchant {
  readonly outcome: MerchantOutcome;
  readonly lease: Lease;
}

/** Finds out what is open of these merchants, judges each, and records it. Throws what the database throws. */
export async function endMerchants(
  run: ActiveRun,
  ended: readonly EndedMerchant[],
  failures: readonly RunFailure[] = [],
): Promise<MerchantEnd[]> {
  const { request, deps, runId } = run;
  const now = deps.now();
  const merchants = ended.map(({ outcome }) => outcome.merchantNo);
  const found = await openItemsOf(deps.db, {
    ...accountsAsked(request),
    merchants,
    runId,
    reads: STAGES[request.command].includes('sync'),
    chains: request.command !== 'sync',
    zone: deps.zone,
    now,
  });
  const openItemsOfAll = new Map(
    ended.map(({ outcome }): [string, MerchantOpenItems] => {
      const own = found.get(outcome.merchantNo)!;
      const discrepancies = answeredFor(run, outcome, own.standing.discrepancies);
      return [outcome.merchantNo, { ...own, standing: { ...own.standing, discrepancies } }];
    }),
  );
  const rows = ended.map(({ outcome }) =>
    endRow(run, outcome, openItemsOfAll.get(outcome.merchantNo)!, failures),
  );
  const record = (): Promise<ReadonlySet<Lease>> =>
    deps.db.transaction().execute(async (trx) => {
      const held = new Set(
        await heldStill(
          trx,
          ended.map(({ lease }) => lease),
        ),
      );
      const own = rows.filter((_, at) => held.has(ended[at]!.lease));
      const outcomes = ended.filter(({ lease }) => held.has(lease)).map(({ outcome }) => outcome);
      const published = outcomes.map(({ publishedNow }) => publishedNow);
      await recordSettled(
        trx,
        published.flatMap(({ stored }) => [...stored.values()]),
        published.flatMap(({ settled }) => settled),
      );
      await keepHistoricalComparisons(
        trx,
        outcomes.flatMap(({ merchantNo, historicalCompared: comparison }) =>
          comparison === null ? [] : [{ merchantNo, comparison }],
        ),
      );
      await keepSampledMonths(
        trx,
        outcomes.flatMap(({ monthsHeld }) => monthsHeld ?? []),
      );
      await endTasks(trx, own, { runId, holder: deps.holder, now });
      if ((deps.alerts?.targets.length ?? 0) > 0)
        await noteForAlerts(trx, outcomes, openItemsOfAll, { runId, now });
      return held;
    });
  const held = await retry(record, { isPassing: isLostOrRolledBack });
  for (const { outcome } of ended) outcome.publishedNow.clear();
  return ended.map(({ outcome, lease }, at) => ({
    outcome,
    ...openItemsOfAll.get(outcome.merchantNo)!,
    isRecorded: held.has(lease),
    exitCode: rows[at]!.exitCode,
  }));
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
    if (one.what === 'no-statement' && !STAGES[request.command].includes('publish')) return [];
    const { merchantNo, currency } = one;
    const isSaid = (day: BusinessDay): boolean =>
      one.what === 'no-statement' &&
      (reported.has(keyOf(one, day)) || publishedNow.has({ account: { merchantNo, currency }, day }));
    const days = one.days.filter((day) => isOfRun(day) && !isSaid(day));
    return days.length === 0 ? [] : [{ ...one, days }];
  });
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
  { request, deps, runId, from, to, checked }: ActiveRun,
  outcome: MerchantOutcome,
  { standing }: MerchantOpenItems,
  failures: readonly RunFailure[],
): TaskEnd & { readonly exitCode: ExitCode } {
  const all = outcomeOfAll([outcome]);
  const { exitCode, reasons } = judge(all, standing, { id: runId, failures, zone: deps.zone });
  const report: RunReport = {
    ...{
      command: request.command,
      runId,
      from,
      to,
      exitCode,
      ...all,
      checked,
      standing,
      reasons,
      notes: [],
    },
    elapsedMs: 0,
  };
  const figures = Object.fromEntries(
    Object.entries(runFigures(report)).filter(
      ([name, value]) => !OF_ENTIRE_RUNS.includes(name) && isReported(value),
    ),
  );
  const reads = outcome.sync !== null && outcome.sync.notJoined === undefined;
  return { merchantNo: outcome.merchantNo, exitCode, reads, figures };
}

/** Collects merchants whose work is over, and ends so many of them together while others are still at work. */
export class MerchantEnds {
  readonly #run: ActiveRun;
  readonly #onEnded: (merchantNo: string) => Promise<void>;
  readonly #oneAtATime = pLimit(1);
  readonly #ends: MerchantEnd[] = [];
  readonly #added = new Set<string>();
  #waiting: EndedMerchant[] = [];
  #failure: { readonly error: unknown } | null = null;

  /** `onEnded` is called once a merchant's end is recorded. */
  constructor(run: ActiveRun, onEnded: (merchantNo: string) => Promise<void>) {
    this.#run = run;
    this.#onEnded = onEnded;
  }

  /** Takes a merchant whose work is over. Throws what ending earlier ones threw. */
  add(ended: EndedMerchant): void {
    if (this.#failure !== null) throw this.#failure.error;
    this.#added.add(ended.outcome.merchantNo);
    this.#waiting.push(ended);
    if (this.#waiting.length < ENDED_TOGETHER) return;
    void this.#endWaiting(ENDED_TOGETHER).catch((error: unknown) => (this.#failure ??= { error }));
  }

  has(merchantNo: string): boolean {
    return this.#added.has(merchantNo);
  }

  /** Ends those that are left. Returns all ends, in the order in which they were recorded. */
  async finish(failures: readonly RunFailure[] = []): Promise<readonly MerchantEnd[]> {
    await this.#endWaiting(1, failures);
    if (this.#failure !== null) throw this.#failure.error;
    return this.#ends;
  }

  /** Ends those that wait, as long as there are so many of them. */
  #endWaiting(atLeast: number, failures: readonly RunFailure[] = []): Promise<void> {
    return this.#oneAtATime(async () => {
      while (this.#waiting.length >= atLeast) {
        const batch = this.#waiting.splice(0, ENDED_TOGETHER);
        this.#ends.push(...(await endMerchants(this.#run, batch, failures)));
        for (const { outcome } of batch) await this.#onEnded(outcome.merchantNo);
      }
    });
  }
}
