/** Writes the text of a day's manifest, with its place in the chain: each names the one that was made before it, by its SHA-256. See docs/decisions/publishing.md. */
import type { ChainedManifest, NamedManifest, PastOfDay } from '../store/statements/past-of-days.ts';
import type { ManifestRow } from '../store/statements/stored-files.ts';
import { type Manifest, FORMAT, type ManifestStatement } from '../verify/manifest.ts';
import { type OtherFormats } from './recorded-manifest.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { compareAmounts } from '../ledger/money.ts';
import { figuresOf } from '../store/account-days.ts';
import type { ExplainedBreak } from '../store/breaks/break-cases.ts';
import type { CertificateRow } from '../store/certificates.ts';
import type { StatementRow, SummaryRow } from '../store/statements/statements.ts';
import { type Explained, currentOf } from './summary.ts';
import { fileOf } from '../verify/names.ts';

/** What a manifest says about the chain. */
type ChainFields = Pick<Manifest, 'place' | 'previousManifest' | 'supersededManifests'>;

/** Only those fields, in the order in which they are written. */
export const chainFieldsOf = ({
  place,
  previousManifest,
  supersededManifests,
}: ChainFields): ChainFields => ({ place, previousManifest, supersededManifests });

export interface Superseded {
  readonly row: Pick<ManifestRow, 'revision' | 'sha256'>;
  /** Null if it cannot be read, or may be anybody's: then what it says is not taken over. */
  readonly manifest: Manifest | null;
}

/**
 * What the next manifest of a day says. It follows the last one in the chain, whatever day that is of, and takes over
 * what the day's manifest before it said, so that every manifest that was ever named can still be found.
 */
export const nextInChain = (
  superseded: Superseded | null,
  lastInChain: PastOfDay['lastInChain'],
): ChainFields => ({
  place: (lastInChain?.place ?? 0) + 1,
  previousManifest: lastInChain === null ? null : named(lastInChain),
  supersededManifests: superseded === null ? undefined : supersededWith([superseded]),
});

export function supersededWith(given: readonly Superseded[]): Manifest['supersededManifests'] {
  const all = given.flatMap(({ row: { revision, sha256 }, manifest }) => {
    const { place, previousManifest } = manifest ?? {};
    return [...(manifest?.supersededManifests ?? []), { revision, sha256, place, previousManifest }];
  });
  return unlessEmpty([...new Map(all.map((one) => [one.sha256, one])).values()]);
}

/** A manifest leaves out a list that is empty: what is undefined does not get into its text. */
export const unlessEmpty = <Item>(items: readonly Item[] = []): Item[] | undefined =>
  items.length === 0 ? undefined : [...items];

/** Whether the day's manifest is to be made anew, at the end of the chain: see `takeForksOut`. */
export const isOutOfChain = ({ place }: Pick<ManifestRow, 'place'>): boolean => place === null;

/** The database has the keys in an order of its own, and the text of a manifest has to come out the same each time. */
const named = ({ day, revision, sha256 }: NamedManifest): NamedManifest => ({ day, revision, sha256 });

export const chained = ({ day, revision, sha256, place }: ManifestRow): ChainedManifest | null =>
  place === null ? null : { day, revision, sha256, place };

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
  readonly revision: number;
  readonly epoch: number;
  readonly chain: ChainFields;
  readonly statements: readonly StatementRow[];
  readonly previous: ReadonlyMap<string, StatementRow>;
  readonly waiting: ReadonlyMap<string, BusinessDay>;
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
    ...{ format: FORMAT, merchantNo, day, revision, epoch, timeZone: zone },
    timeZoneProof: sources.timeZoneTrusted === true ? 'trusted' : undefined,
    checked: unlessEmpty(sources.checked),
    ...chainFieldsOf(sources.chain),
    final: sources.final,
    statements: currentOf(statements).map((row) => {
      const before = previous.get(row.currency);
      const { creditTotal, creditCount, debitTotal, debitCount, closing, ...figures } = figuresOf(row);
      return {
        ...{ currency: row.currency, file: fileOf(row.object_key), revision: row.revision },
        ...{ sha256: row.sha256, bytes: row.byte_count, columns: row.columns?.split(',') },
        otherFormats: listedFormats(row, sources.otherFormats),
        ...{ rows: row.row_count, opening: row.opening },
        ...openingIn(row, before),
        ...{ creditTotal, creditCount, debitTotal, debitCount, closing },
        otherClosings: unlessEmpty(figures.otherClosings),
        ...{ verdict: figures.verdict, breaks: figures.breakCount },
        breaksAfter: figures.breaksAfter || undefined,
        unreadable: row.unreadable_count || undefined,
        overMidnight: overMidnightIn(row),
        ...explainedIn(sources.explained.get(row.currency) ?? []),
        publishedAt: row.published_at.toISOString(),
        ...{ previousDay: before?.day ?? null, previousSha256: before?.sha256 ?? null },
        waitingBetween: waitingAfter(before, sources.waiting.get(row.currency)),
        superseded: supersededBefore(row, sources),
      };
    }),
    summary:
      summary === undefined
        ? null
        : { ...summaryIn(summary), superseded: summaries.slice(0, -1).map(summaryIn) },
    certificates: certificates.map((row) => ({
      ...{ beginMs: row.begin_ms, endMs: row.through_ms, currency: null },
      ...{ total: row.total, distinct: row.entries, quarantined: row.unreadable },
      certifiedAt: row.read_at.toISOString(),
    })),
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

const waitingAfter = (
  before: StatementRow | undefined,
  waiting: BusinessDay | undefined,
): ManifestStatement['waitingBetween'] =>
  before === undefined || waiting === undefined || waiting <= before.day ? undefined : waiting;

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

const overMidnightIn = ({
  over_midnight: places,
  last_balance,
}: StatementRow): ManifestStatement['overMidnight'] =>
  places > 0 ? { places, lastBalance: last_balance ?? undefined } : undefined;

function explainedIn(
  explained: readonly ExplainedBreak[],
): Pick<ManifestStatement, 'explained' | 'explanations'> {
  if (explained.length === 0) return {};
  const explanations = explained
    .slice(0, EXPLANATIONS_MAX)
    .map(({ id, afterBatchNo, beforeBatchNo, missingNet, note, by, at }) => ({
      ...{ id, afterBatchNo, beforeBatchNo, missingNet, note, by, at: at.toISOString() },
    }));
  return { explained: explained.length, explanations };
}

const listedFormats = ({ object_key }: StatementRow, otherFormats: OtherFormats) =>
  unlessEmpty(otherFormats.get(fileOf(object_key)));

const summaryIn = ({ revision, object_key, sha256 }: SummaryRow) => ({
  ...{ revision, file: fileOf(object_key), sha256 },
});

function supersededBefore(
  current: StatementRow,
  { statements, otherFormats }: ManifestSources,
): ManifestStatement['superseded'] {
  const revisions = statements.filter((row) => row.currency === current.currency);
  return revisions.slice(0, -1).map((row, index) => ({
    ...{ revision: row.revision, file: fileOf(row.object_key), sha256: row.sha256, bytes: row.byte_count },
    publishedAt: row.published_at.toISOString(),
    supersededBy: revisions[index + 1]!.revision,
    reason: revisions[index + 1]!.reason ?? '',
    unreadable: row.unreadable_count || undefined,
    overMidnight: overMidnightIn(row),
    otherFormats: listedFormats(row, otherFormats),
  }));
}
