/**
 * For each merchant: the last good run, the days its ledger is proven for, what is missing, and what needs a person.
 */
import { unmatchedCounts } from '../months/own-books.ts';
import { listPreparations } from '../months/approval.ts';
import { adjustmentsOfEach } from '../months/stored.ts';
import type { Kysely } from 'kysely';
import { dayOf } from '../ledger/business-day.ts';
import type { Window } from '../ledger/entry.ts';
import { latenessOf, type Lateness } from '../ledger/lateness.ts';
import { ALL_TIME, subtractWindows } from '../ledger/window.ts';
import { unreadableByMerchant } from '../store/quarantine.ts';
import { countOpenBreaks, isNewSince } from '../store/breaks/breaks.ts';
import type { UnmatchedCount } from '../ledger/own-books.ts';
import type { Adjustment, Preparation } from '../months/closes.ts';
import { latenessMeasured, measuredOf } from '../store/lateness.ts';
import { notJoined } from '../store/merchants.ts';
import { noticesByMerchant, noticesSince, type KnownNotice } from '../store/notices.ts';
import { historicalComparisons, type HistoricalComparison } from '../store/historical-days.ts';
import { silentAccounts } from '../store/silent-accounts.ts';
import { heldDaysOf } from '../store/absent-entries.ts';
import { uncertifiedOfEach } from '../store/certificates.ts';
import { lastGoodReadings } from '../store/runs.ts';
import type { DB } from '../store/engine/schema.ts';
import type { OpenItems } from './report.ts';
import { EXIT, type ExitCode } from './verdict/exit-codes.ts';
import type { LastRuns } from './run-state.ts';
import { inParts } from '../store/account-filter.ts';
import { discrepanciesOf, provenOf, type Proven } from './proven.ts';
import { exitCodeOfDiscrepancy } from './verdict/finding-reasons.ts';
import { countDaysMissing, isRead, openRanges, type OpenRange, type Clock } from './coverage.ts';
import { wallSecond, windowsInZone } from '../ledger/wall-time.ts';

/** Older notices are not shown. */
const NOTICES_SHOWN_MS = 31 * 24 * 3_600_000;

export interface MerchantStatus
  extends
    Omit<Proven, 'unread'>,
    Pick<OpenItems, 'requested' | 'quarantined' | 'discrepancies' | 'held' | 'silent'> {
  readonly lastGoodRunAt: Date | null;
  readonly checked: readonly string[];
  readonly missing: readonly (Window & { readonly why: string })[];
  readonly openBreaks: number;
  /** Of these, the ones that the last run or one at work has found. */
  readonly newBreaks: number;
  /** Windows without a certificate: their last reading failed, or waits for a second reading. */
  readonly uncertified: number;
  readonly daysMissing: number;
  /** Notices of the last weeks. Each was reported once by a run. */
  readonly notices: readonly KnownNotice[];
  /** How older days compare with the platform; null if they were never compared. */
  readonly olderDays: HistoricalComparison | null;
  /** Statements of closed months that are not the frozen ones, the newest months last. */
  readonly adjustments: readonly Adjustment[];
  /** Months that wait for approval. */
  readonly preparations: readonly Preparation[];
  /** What is unmatched with own books, by currency; none where the merchant has no own books. */
  readonly ownBooks: readonly UnmatchedCount[];
  readonly lateness: Lateness;
  readonly tooOld: boolean;
}

export interface StatusOptions extends Clock {
  readonly maxAgeMs: number | null;
  /** The first run whose breaks count as new; none does if it is left out. */
  readonly newSince?: number | null;
}

/**
 * The status of each merchant, in the order given, some hundred merchants at a time, so that very many of them need
 * neither many statements nor much memory. Writes nothing.
 */
export async function* statusesOf(
  db: Kysely<DB>,
  merchants: readonly string[],
  options: StatusOptions,
): AsyncGenerator<MerchantStatus[]> {
  let asked: Promise<MerchantStatus[]> | null = null;
  for (const some of inParts(merchants)) {
    // The database works on the next part while this one is reported.
    const next = statusOf(db, some, options);
    next.catch(() => undefined);
    if (asked !== null) yield await asked;
    asked = next;
  }
  if (asked !== null) yield await asked;
}

export async function statusOf(
  db: Kysely<DB>,
  merchants: readonly string[],
  options: StatusOptions,
): Promise<MerchantStatus[]> {
  const requested = (await openRanges(db, merchants, options)).filter((range) => !isRead(range, options));
  const found = await foundOf(db, merchants, requested, options);
  const requestedOf = Map.groupBy(requested, ({ merchantNo }) => merchantNo);
  return found.proven.map((proven) => {
    const own = requestedOf.get(proven.merchantNo) ?? [];
    return statusOfMerchant(proven, { ...found, requested: own }, options);
  });
}

/** All that is stored about some merchants, by merchant. What is not in a map is nothing. */
async function foundOf(
  db: Kysely<DB>,
  merchants: readonly string[],
  requested: readonly OpenRange[],
  options: StatusOptions,
) {
  const { zone, now, newSince = null } = options;
  const noticesFrom = new Date(now.getTime() - NOTICES_SHOWN_MS);
  const byMerchant = <Row extends { readonly merchantNo: string }>(rows: readonly Row[]) =>
    Map.groupBy(rows, ({ merchantNo }) => merchantNo);
  return allOf({
    proven: provenOf(db, merchants, requested, options),
    // A merchant that has not joined yet has no good run; its age counts from when it became known.
    knownAt: notJoined(db, merchants),
    uncertified: uncertifiedOfEach(db, merchants, ALL_TIME),
    lastGood: lastGoodReadings(db, merchants),
    openBreaks: countOpenBreaks(db, { merchants, currencies: null }, isNewSince(newSince)),
    unreadable: unreadableByMerchant(db, merchants),
    notices: noticesSince(db, merchants, noticesFrom).then(noticesByMerchant),
    olderDays: historicalComparisons(db, merchants),
    measured: latenessMeasured(db, merchants, dayOf(now.getTime(), zone)),
    adjusted: adjustmentsOfEach(db, merchants),
    prepared: listPreparations(db, { merchants }).then(byMerchant),
    ownBooks: unmatchedCounts(db, merchants).then(byMerchant),
    discrepancies: discrepanciesOf(db, merchants, zone).then(byMerchant),
    held: heldDaysOf(db, merchants).then(byMerchant),
    silent: silentAccounts(db, merchants, zone).then(byMerchant),
  });
}

/** Waits for all of these at the same time. */
async function allOf<Answers extends object>(asked: { [Name in keyof Answers]: Promise<Answers[Name]> }) {
  const waiting = Object.entries<Promise<unknown>>(asked).map(async ([name, answer]) => [name, await answer]);
  return Object.fromEntries(await Promise.all(waiting)) as Answers;
}

type Found = Awaited<ReturnType<typeof foundOf>> & { readonly requested: readonly OpenRange[] };

function statusOfMerchant(
  { merchantNo, provenFrom, provenThrough, unread }: Proven,
  found: Found,
  { zone, now, maxAgeMs }: StatusOptions,
): MerchantStatus {
  const { requested } = found;
  const uncertified = found.uncertified.get(merchantNo) ?? [];
  const missing = uncertified.map(({ beginMs, endMs, problem }) => ({
    beginMs,
    endMs,
    why: windowsInZone(problem, zone),
  }));
  const alsoMissing = (span: Window, why: string): void => {
    missing.push(...subtractWindows([span], missing).map((left) => ({ ...left, why })));
  };
  for (const span of unread) alsoMissing(span, 'not read yet');
  for (const { id, requestedAt, missing: spans } of requested) {
    for (const span of spans) {
      alsoMissing(span, `asked for ${wallSecond(requestedAt.getTime(), zone)} (range ${id}), not read yet`);
    }
  }
  const lastGood = found.lastGood.get(merchantNo);
  const breaks = found.openBreaks.get(merchantNo) ?? { opened: 0, known: 0 };
  const since = lastGood?.at ?? found.knownAt.get(merchantNo) ?? null;
  return {
    merchantNo,
    lastGoodRunAt: lastGood?.at ?? null,
    checked: lastGood?.checked ?? [],
    ...{ provenFrom, provenThrough, missing, requested },
    openBreaks: breaks.opened + breaks.known,
    newBreaks: breaks.opened,
    uncertified: uncertified.length,
    daysMissing: countDaysMissing(missing, { zone, now }),
    quarantined: found.unreadable.get(merchantNo) ?? 0,
    notices: found.notices.get(merchantNo) ?? [],
    olderDays: found.olderDays.get(merchantNo) ?? null,
    adjustments: found.adjusted.get(merchantNo) ?? [],
    preparations: found.prepared.get(merchantNo) ?? [],
    ownBooks: found.ownBooks.get(merchantNo) ?? [],
    discrepancies: found.discrepancies.get(merchantNo) ?? [],
    held: found.held.get(merchantNo) ?? [],
    silent: found.silent.get(merchantNo) ?? [],
    lateness: latenessOf(measuredOf(found.measured, merchantNo), dayOf(now.getTime(), zone)),
    tooOld: maxAgeMs !== null && (since === null || now.getTime() - since.getTime() > maxAgeMs),
  };
}

/**
 * The exit code of `status`. 4 if data is or may be missing: a merchant's last good run is too old, a scheduled run of
 * the ledger did not end well, a requested range was not fully read, a proven day has no figures or no statement, entries
 * are held, an account is silent for longer than ever before, or a merchant that ought to be read is not. Otherwise 3 if
 * something open needs a person, or a job that reads no ledger failed.
 */
export function statusExitCode(
  statuses: readonly MerchantStatus[],
  { notMadeUpFor, failedJobs = [] }: Pick<LastRuns, 'notMadeUpFor'> & Partial<Pick<LastRuns, 'failedJobs'>>,
  notRead: readonly string[] = [],
): ExitCode {
  const differing = statuses.flatMap(({ discrepancies }) => discrepancies.map(exitCodeOfDiscrepancy));
  const isIncomplete =
    differing.includes(EXIT.incomplete) ||
    statuses.some(
      ({ tooOld, held, silent, requested }) =>
        tooOld || held.length + silent.length > 0 || requested.some(({ missing }) => missing.length > 0),
    );
  if (isIncomplete || notMadeUpFor.length + notRead.length > 0) return EXIT.incomplete;
  const needsPerson = differing.length + failedJobs.length > 0;
  return needsPerson || statuses.some(({ openBreaks, quarantined }) => openBreaks + quarantined > 0)
    ? EXIT.needsPerson
    : EXIT.done;
}
