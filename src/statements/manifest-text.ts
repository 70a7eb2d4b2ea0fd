/** Writes the text of a day's manifest. */
import type { BusinessDay } from '../ledger/entry.ts';
import { compareAmounts } from '../ledger/money.ts';
import { figuresOf } from '../store/account-days.ts';
import type { ExplainedBreak } from '../store/breaks/break-cases.ts';
import type { CertificateRow, StatementRow, SummaryRow } from '../store/statements/statements.ts';
import type { Explained } from './explained.ts';
import { fileOf } from './keys.ts';
import { chainFieldsOf, type ChainFields } from './manifest-chain.ts';
import { FORMAT, type Manifest, type ManifestStatement, type OtherFormats } from './manifest.ts';
import { currentOf } from './summary.ts';

/** Most explanations that are listed of one statement; their count includes those left out. */
const EXPLANATIONS_MAX = 1_000;

export interface ManifestSources {
  readonly merchantNo: string;
  readonly day: BusinessDay;
  readonly zone: string;
  readonly timeZoneTrusted?: boolean;
  readonly checked: readonly string[];
  /** Left out if it is not known when the day is final. */
  readonly final?: Manifest['final'];
  /** Of the manifest itself. */
  readonly revision: number;
  readonly epoch: number;
  readonly chain: ChainFields;
  /** Every revision of the day, by currency, oldest first. */
  readonly statements: readonly StatementRow[];
  /** By currency: the current statement of the account's last published day before this one. */
  readonly previous: ReadonlyMap<string, StatementRow>;
  /** Every summary of the day, oldest first. */
  readonly summaries: readonly SummaryRow[];
  readonly certificates: readonly CertificateRow[];
  readonly explained: Explained;
  readonly otherFormats: OtherFormats;
}

/** The manifest's text. The same rows give the same bytes, so that a rerun can see that it is already there. */
export function manifestText(sources: ManifestSources): string {
  const { merchantNo, day, zone, revision, epoch, statements, previous, summaries, certificates } = sources;
  const summary = summaries.at(-1);
  const manifest: Manifest = {
    format: FORMAT,
    merchantNo,
    day,
    revision,
    epoch,
    timeZone: zone,
    ...(sources.timeZoneTrusted === true ? { timeZoneProof: 'trusted' as const } : {}),
    ...(sources.checked.length === 0 ? {} : { checked: [...sources.checked] }),
    ...chainFieldsOf(sources.chain),
    ...(sources.final === undefined ? {} : { final: sources.final }),
    statements: currentOf(statements).map((row) => {
      const before = previous.get(row.currency);
      return {
        currency: row.currency,
        file: fileOf(row.object_key),
        revision: row.revision,
        sha256: row.sha256,
        bytes: row.byte_count,
        ...(row.columns === null ? {} : { columns: row.columns.split(',') }),
        ...listedFormats(row, sources.otherFormats),
        rows: row.row_count,
        opening: row.opening,
        ...openingIn(row, before),
        creditTotal: row.credit_total,
        creditCount: row.credit_count,
        debitTotal: row.debit_total,
        debitCount: row.debit_count,
        closing: row.closing,
        ...otherClosingsIn(row),
        verdict: row.verdict as ManifestStatement['verdict'],
        breaks: row.break_count,
        ...(row.breaks_after === 0 ? {} : { breaksAfter: row.breaks_after }),
        ...unreadableIn(row),
        ...explainedIn(sources.explained.get(row.currency) ?? []),
        publishedAt: row.published_at.toISOString(),
        previousDay: before?.day ?? null,
        previousSha256: before?.sha256 ?? null,
        superseded: supersededBefore(row, sources),
      };
    }),
    summary:
      summary === undefined
        ? null
        : { ...summaryIn(summary), superseded: summaries.slice(0, -1).map(summaryIn) },
    certificates: certificates.map((row) => ({
      beginMs: row.begin_ms,
      endMs: row.end_ms,
      currency: row.currency === '' ? null : row.currency,
      total: row.total,
      distinct: row.distinct_count,
      quarantined: row.quarantined_count,
      certifiedAt: row.certified_at.toISOString(),
    })),
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

/** The law: an opening is the closing of the statement before, or the manifest says why not. */
function openingIn(
  { restarted, opening }: StatementRow,
  before: StatementRow | undefined,
): Pick<ManifestStatement, 'openingDerived' | 'openingReason'> {
  if (before === undefined) return { openingDerived: restarted };
  if (restarted) {
    const openingReason = `the first entry tells it: the chain could not be taken up from ${before.day}`;
    return { openingDerived: true, openingReason };
  }
  if (compareAmounts(opening, before.closing) === 0) return { openingDerived: false };
  const openingReason =
    `${before.day} is published with the closing ${before.closing}; not every day from it up to this one is ` +
    `published as it now stands`;
  return { openingDerived: true, openingReason };
}

const otherClosingsIn = (row: StatementRow): Pick<ManifestStatement, 'otherClosings'> => {
  const [first, ...others] = figuresOf(row).otherClosings ?? [];
  return first === undefined ? {} : { otherClosings: [first, ...others] };
};

const unreadableIn = ({
  unreadable_count: unreadable,
}: StatementRow): Pick<ManifestStatement, 'unreadable'> =>
  unreadable === null || unreadable === 0 ? {} : { unreadable };

const explainedIn = (
  explained: readonly ExplainedBreak[],
): Pick<ManifestStatement, 'explained' | 'explanations'> =>
  explained.length === 0
    ? {}
    : {
        explained: explained.length,
        explanations: explained
          .slice(0, EXPLANATIONS_MAX)
          .map(({ id, afterBatchNo, beforeBatchNo, missingNet, note, by, at }) => ({
            id,
            afterBatchNo,
            beforeBatchNo,
            missingNet,
            note,
            by,
            at: at.toISOString(),
          })),
      };

function listedFormats(
  { object_key }: StatementRow,
  otherFormats: OtherFormats,
): Pick<ManifestStatement, 'otherFormats'> {
  const [first, ...others] = otherFormats.get(fileOf(object_key)) ?? [];
  return first === undefined ? {} : { otherFormats: [first, ...others] };
}

const summaryIn = ({ revision, object_key, sha256: digest }: SummaryRow) => ({
  revision,
  file: fileOf(object_key),
  sha256: digest,
});

function supersededBefore(
  current: StatementRow,
  { statements, otherFormats }: ManifestSources,
): ManifestStatement['superseded'] {
  const revisions = statements.filter((row) => row.currency === current.currency);
  return revisions.slice(0, -1).map((row, index) => ({
    revision: row.revision,
    file: fileOf(row.object_key),
    sha256: row.sha256,
    bytes: row.byte_count,
    publishedAt: row.published_at.toISOString(),
    supersededBy: revisions[index + 1]!.revision,
    reason: revisions[index + 1]!.reason ?? '',
    ...unreadableIn(row),
    ...listedFormats(row, otherFormats),
  }));
}
