/**
 * For each merchant: the last good run, the days its ledger is proven for, what is missing, and what needs a person.
 */
import type { Kysely } from 'kysely';
import { accountsOf } from '../ledger/account-filter.ts';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import { ALL_TIME, subtractWindows } from '../ledger/window.ts';
import { countUnreadable } from '../store/amendments.ts';
import { countOpenBreaks } from '../store/breaks/open-breaks.ts';
import { notJoined } from '../store/merchants.ts';
import { noticesSince, type KnownNotice } from '../store/notices.ts';
import { olderDaysComparison, type OlderDaysComparison } from '../store/older-days.ts';
import { lastGoodReading } from '../store/runs.ts';
import type { DB } from '../store/engine/schema.ts';
import { uncertifiedWindows } from '../store/windows.ts';
import { EXIT, type ExitCode } from './verdict/exit-codes.ts';
import type { LastRuns } from './last-runs.ts';
import { provenOf } from './proven.ts';
import { isRead, openRanges, type OpenRange } from './requested.ts';
import { wallSecond } from '../ledger/wall-time.ts';

/** Older notices are not shown. */
const NOTICES_SHOWN_MS = 31 * 24 * 3_600_000;

export interface MerchantStatus {
  readonly merchantNo: string;
  readonly lastGoodRunAt: Date | null;
  /** The checks that this run made beyond the days it read. */
  readonly checked: readonly string[];
  /** First and last of the days without a gap that are under certificate, with figures, and without an open break. */
  readonly provenFrom: BusinessDay | null;
  readonly provenThrough: BusinessDay | null;
  readonly missing: readonly (Window & { readonly why: string })[];
  /** Ranges asked for by date that are not fully proven. */
  readonly requested: readonly OpenRange[];
  readonly openBreaks: number;
  /** Unreadable entries that nobody has acknowledged. */
  readonly quarantined: number;
  /** Notices of the last weeks. Each was reported once by a run. */
  readonly notices: readonly KnownNotice[];
  /** How older days compare with the platform; null if they were never compared. */
  readonly olderDays: OlderDaysComparison | null;
  readonly tooOld: boolean;
}

export interface StatusOptions {
  readonly zone: string;
  readonly now: Date;
  readonly maxAgeMs: number | null;
}

/** The status of each merchant, in the order given. Writes nothing. */
export async function statusOf(
  db: Kysely<DB>,
  merchants: readonly string[],
  options: StatusOptions,
): Promise<MerchantStatus[]> {
  // A merchant that has not joined yet has no good run; its age counts from when it became known.
  const knownAt = await notJoined(db, merchants);
  const requested = Map.groupBy(await openRanges(db, merchants, options), ({ merchantNo }) => merchantNo);
  return Promise.all(
    merchants.map((merchantNo) =>
      statusOfMerchant(db, merchantNo, {
        ...options,
        knownAt: knownAt.get(merchantNo) ?? null,
        requested: (requested.get(merchantNo) ?? []).filter((range) => !isRead(range, options)),
      }),
    ),
  );
}

async function statusOfMerchant(
  db: Kysely<DB>,
  merchantNo: string,
  options: StatusOptions & {
    readonly knownAt: Date | null;
    readonly requested: readonly OpenRange[];
  },
): Promise<MerchantStatus> {
  const { now, maxAgeMs, requested } = options;
  const [proven] = await provenOf(db, [merchantNo], requested, options);
  const { provenFrom, provenThrough, unread } = proven!;
  const uncertified = await uncertifiedWindows(db, merchantNo, ALL_TIME);
  const missing = uncertified.map(({ beginMs, endMs, problem }) => ({ beginMs, endMs, why: problem }));
  const alsoMissing = (span: Window, why: string): void => {
    missing.push(...subtractWindows([span], missing).map((left) => ({ ...left, why })));
  };
  for (const span of unread) alsoMissing(span, 'not read yet');
  for (const { id, requestedAt, missing: spans } of requested) {
    for (const span of spans) {
      alsoMissing(
        span,
        `asked for ${wallSecond(requestedAt.getTime(), options.zone)} (range ${id}), not read yet`,
      );
    }
  }
  const lastGood = await lastGoodReading(db, merchantNo);
  const lastGoodRunAt = lastGood?.at ?? null;
  const since = lastGoodRunAt ?? options.knownAt;
  return {
    merchantNo,
    lastGoodRunAt,
    checked: lastGood?.checked ?? [],
    provenFrom,
    provenThrough,
    missing,
    requested,
    openBreaks: await countOpenBreaks(db, accountsOf(merchantNo)),
    quarantined: await countUnreadable(db, [merchantNo]),
    notices: await noticesSince(db, [merchantNo], new Date(now.getTime() - NOTICES_SHOWN_MS)),
    olderDays: await olderDaysComparison(db, merchantNo),
    tooOld: maxAgeMs !== null && (since === null || now.getTime() - since.getTime() > maxAgeMs),
  };
}

/**
 * The exit code of `status`. 4 if data is or may be missing: a merchant's last good run is too old, a scheduled run
 * did not end well, or a requested range was not fully read. Otherwise 3 if something open needs a person.
 */
export function statusExitCode(
  statuses: readonly MerchantStatus[],
  { notMadeUpFor }: Pick<LastRuns, 'notMadeUpFor'>,
): ExitCode {
  const isIncomplete = statuses.some(
    ({ tooOld, requested }) => tooOld || requested.some(({ missing }) => missing.length > 0),
  );
  if (isIncomplete || notMadeUpFor.length > 0) return EXIT.incomplete;
  return statuses.some(({ openBreaks, quarantined }) => openBreaks + quarantined > 0)
    ? EXIT.needsPerson
    : EXIT.done;
}
