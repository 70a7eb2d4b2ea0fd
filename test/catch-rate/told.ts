/**
 * What daybook reported in a run, and for which account days: its report as a person reads it, breaks, quarantine and
 * amendments.
 */
import type { Kysely } from 'kysely';
import { breakTexts, reasonText, runText } from '../../src/cli/output/run-text.ts';
import { dayOf, daysFromTo } from '../../src/ledger/business-day.ts';
import type { RunReport } from '../../src/run/report.ts';
import { listBreaks } from '../../src/store/breaks/breaks.ts';
import type { DB } from '../../src/store/engine/schema.ts';
import type { Published } from '../simulation/published.ts';
import { OWN, type Place } from './form.ts';

export interface Findings {
  readonly text: string;
  /** The first sentence of the report that names a cause. */
  readonly first: string;
  readonly places: readonly Place[];
  readonly breaks: number;
}

const daysOf = (beginMs: number, endMs: number, zone: string): Place[] =>
  daysFromTo(dayOf(beginMs, zone), dayOf(endMs, zone)).map((day) => ({ currency: null, day }));

/** Account days named in a text (`USD 2026-03-04`), and days of the merchant. */
const daysNamed = (text: string): Place[] =>
  [...text.matchAll(/\b([A-Z]{3}|M-OWN) (\d{4}-\d{2}-\d{2})\b/g)].map(([, whose, day]) => ({
    currency: whose === OWN ? null : whose!,
    day: day!,
  }));

/** A reason that only counts breaks, and says where they are listed. */
const COUNTS_BREAKS = /^\d+ (?:\w+ )?breaks?\b.*: see /;
const COUNTS_QUARANTINED = /^\d+ unreadable entr(?:y|ies) in quarantine\b.*: see /;

/**
 * The first reason. If it only counts what is in a list, the first of the list: of a break, what it comes from.
 */
function firstOf(
  error: Error | null,
  report: RunReport | null,
  listed: { readonly breaks: readonly string[]; readonly quarantined: readonly string[] },
): string {
  if (error !== null) return error.message.split('\n')[0]!;
  const first = report?.reasons[0]?.what ?? '';
  if (COUNTS_QUARANTINED.test(first)) return listed.quarantined[0] ?? first;
  if (!COUNTS_BREAKS.test(first)) return first;
  return (listed.breaks[0] ?? first).split('\n').at(-1)!.trim();
}

export async function toldBy(
  db: Kysely<DB>,
  { report, error }: { readonly report: RunReport | null; readonly error: Error | null },
  published: Published,
  { zone, now }: { readonly zone: string; readonly now: Date },
): Promise<Findings> {
  const breaks = (await listBreaks(db)).filter((row) => row.merchant_no === OWN);
  const wrecks = await db
    .selectFrom('quarantined_entry')
    .selectAll()
    .where('merchant_no', '=', OWN)
    .where('released_at', 'is', null)
    .execute();
  const changed = await db
    .selectFrom('ledger_entry as entry')
    .leftJoin('ledger_entry_version as before', (join) =>
      join
        .onRef('before.merchant_no', '=', 'entry.merchant_no')
        .onRef('before.batch_no', '=', 'entry.batch_no'),
    )
    .select(['entry.batch_no', 'entry.currency', 'entry.booked_at', 'before.booked_at as before_at'])
    .select('entry.vanished_at')
    .where('entry.merchant_no', '=', OWN)
    .where((where) =>
      where.or([where('entry.vanished_at', '=', now), where('before.superseded_at', '=', now)]),
    )
    .execute();
  const reasons = (report?.reasons ?? []).map(reasonText);
  const broken = [...published.statements.values()].filter(({ verdict }) => verdict === 'broken');
  const uncertified = (report?.sync ?? []).flatMap(({ merchantNo, report: read }) =>
    merchantNo === OWN ? read.uncertified : [],
  );
  const quarantined = wrecks.map(
    ({ batch_no: batchNo, reason }) => `quarantined ${batchNo ?? ''}: ${reason}`,
  );
  return {
    first: firstOf(error, report, { breaks: breakTexts(breaks, zone), quarantined }),
    text: [
      error?.message ?? '',
      report === null ? '' : runText(report, { days: [], location: '', zone }),
      ...reasons,
      ...breakTexts(breaks, zone),
      ...quarantined,
    ].join('\n'),
    places: [
      ...breaks,
      ...broken,
      ...(report?.publish?.withheld ?? []).map(({ account: { currency }, day }) => ({ currency, day })),
      ...uncertified.flatMap(({ window }) => daysOf(window.beginMs, window.endMs, zone)),
      ...wrecks.flatMap((row) => daysOf(row.begin_ms, row.end_ms, zone)),
      ...changed.flatMap(({ currency, booked_at: at, before_at: before }) =>
        [at, before ?? at].map((stamp) => ({ currency, day: stamp.slice(0, 10) })),
      ),
      ...reasons.flatMap(daysNamed),
    ].map(({ currency, day }) => ({ currency, day })),
    breaks: breaks.length,
  };
}
