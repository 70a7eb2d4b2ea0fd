/** Writes the next revision of a day's statement or summary, if it differs from the current one. */
import type { Account, BusinessDay } from '../ledger/entry.ts';
import { collected, type ObjectContent } from '../objects/object-store.ts';
import type { StatementRow, SummaryRow } from '../store/statements/statements.ts';
import type { StoredRow } from '../store/statements/stored-files.ts';
import { fetchInFormat } from './fetch.ts';
import { STATEMENT_COLUMNS, FormatTooSmall } from './formats/format.ts';
import { fileOf, manifestKey } from '../verify/names.ts';
import { nameIn, statementKey, summaryKey } from './keys.ts';
import type { OtherFormat } from '../verify/manifest.ts';
import { putReplacing, putRevision } from './put-revision.ts';
import { storedRow, assertAsStrong, assertDayAsStrong } from './write-manifest.ts';
import { entriesIn } from '../ledger/chain/figures.ts';
import { type DayFigures, figureColumns } from '../store/account-days.ts';
import type { DueAccountDay } from '../store/statements/due-days.ts';
import type { PastOfDay } from '../store/statements/past-of-days.ts';
import { recordBegun } from '../store/statements/record-published.ts';
import { dayContent, isAsPublished, type OverMidnight } from './day-content.ts';
import { sha256Of } from '../host/sha256.ts';
import { type Explained, summaryCsv } from './summary.ts';
import { leaseFence, type PublishDayOptions } from './publish-options.ts';
import { reasonBetween } from './reason.ts';

interface WrittenFormat {
  readonly listed: OtherFormat;
  readonly stored: StoredRow;
}

/** A format that cannot hold the day, so that it is published without. */
export interface LeftOutFormat {
  readonly account: Account;
  readonly day: BusinessDay;
  readonly format: string;
  readonly why: string;
}

/**
 * Writes a new revision in each format published next to the CSV. No manifest names the revision yet, so anything found
 * under these names was left by an attempt that was aborted. Throws what `fetchInFormat` and `putReplacing` throw, but
 * for `FormatTooSmall`.
 */
async function putOtherFormats(
  statement: StatementRow,
  earlier: readonly StatementRow[],
  options: PublishDayOptions,
): Promise<Pick<WrittenStatement, 'otherFormats' | 'leftOut'>> {
  const { objects, formats = [], zone, columns: known } = options;
  const fence = leaseFence(options);
  const otherFormats: WrittenFormat[] = [];
  const leftOut: LeftOutFormat[] = [];
  for (const format of formats) {
    const key = nameIn(format, statement.object_key);
    const content = () => fetchInFormat(objects, statement, format, { earlier, zone, known });
    const put = { fence, contentType: format.contentType };
    try {
      const stored = storedRow(statement, key, await putReplacing(objects, key, content, put));
      const { sha256, byte_count: bytes } = stored;
      const isoCurrency = format.isoCurrencies?.[statement.currency];
      const listed = {
        format: format.name,
        file: fileOf(key),
        sha256,
        bytes,
        ...(isoCurrency !== undefined && { isoCurrency }),
      };
      otherFormats.push({ listed, stored });
    } catch (error) {
      if (!(error instanceof FormatTooSmall)) throw error;
      const { merchant_no: merchantNo, currency, day } = statement;
      leftOut.push({ account: { merchantNo, currency }, day, format: format.name, why: error.message });
    }
  }
  return { otherFormats, leftOut };
}

export interface Written<Row> {
  readonly row: Row;
  readonly stored: StoredRow;
}

export interface WrittenStatement extends Written<StatementRow> {
  /** The day's content differs from what was proven before. */
  readonly isRevised: boolean;
  readonly otherFormats: readonly WrittenFormat[];
  readonly leftOut: readonly LeftOutFormat[];
}

export interface Prepared {
  readonly account: Account;
  readonly day: BusinessDay;
  readonly figures: DayFigures;
  /** That was read with the figures, and that is published with them. */
  readonly version: number;
  readonly current: StatementRow | undefined;
  readonly earlier: readonly StatementRow[];
  readonly unreadable: number;
  /** The published statement still holds, but a run has begun the file of the next revision. */
  readonly isUnfinished: boolean;
  /** Null if the published statement still holds, and no other was begun. */
  readonly content: ObjectContent | null;
  /** What was found where the content was made last. */
  readonly overMidnight: () => OverMidnight;
}

/**
 * Checks whether an account's due day differs from its published statement. The content of a day that is held is made
 * and checked here, that of another one while it is written. Throws `StatementMisfit`.
 */
export async function prepareRevision(
  { account, day, own: figures, isBegun, version }: DueAccountDay,
  past: Pick<PastOfDay, 'statements' | 'unreadable'>,
  options: PublishDayOptions,
): Promise<Prepared> {
  const earlier = past.statements.filter((row) => row.currency === account.currency);
  const current = earlier.at(-1);
  const unreadable = past.unreadable(account.currency);
  const holds = current !== undefined && (await isAsPublished(current, figures, options));
  const own = { account, day, figures, version, current };
  const prepared = { ...own, earlier, unreadable, isUnfinished: holds };
  let found: OverMidnight = { places: 0, lastBalance: null };
  const overMidnight = (): OverMidnight => found;
  if (holds && !isBegun) return { ...prepared, overMidnight, content: null };
  const content = () => dayContent(account, day, { ...options, onRows: (rows) => (found = rows) });
  const isHeld = options.held?.together(account, day) !== undefined;
  return { ...prepared, overMidnight, content: isHeld ? await collected(content()) : content };
}

/** Writes the account's next statement; null if the published one still holds. */
export async function newRevision(
  { account, day, figures, current, earlier, unreadable, isUnfinished, content, overMidnight }: Prepared,
  options: PublishDayOptions,
): Promise<WrittenStatement | null> {
  if (content === null) return null;
  const { now, objects, comesLate = () => false } = options;
  const { columns = STATEMENT_COLUMNS } = options;
  options.signal.throwIfAborted();
  const wanted = (current?.revision ?? 0) + 1;
  if (current !== undefined) await recordBegun(options.db, options.lease, { account, day }, wanted);
  const stored = await putRevision({
    objects,
    revision: wanted,
    keyOf: (revision) => statementKey(account, day, revision),
    manifestKey: manifestKey(account.merchantNo, day),
    content,
    fence: leaseFence(options),
    onPublished: (manifest) => {
      const proof = { currency: account.currency, verdict: figures.verdict, sha256: null };
      assertAsStrong(manifest, [proof], options);
    },
    // The summary names it.
    isFollowed: true,
  });
  const row = {
    ...{ merchant_no: account.merchantNo, currency: account.currency, day, revision: stored.revision },
    ...{ sha256: stored.sha256, byte_count: stored.bytes, object_key: stored.key },
    row_count: entriesIn(figures),
    columns: columns.map(({ name }) => name).join(','),
    ...figureColumns(figures),
    unreadable_count: unreadable,
    over_midnight: overMidnight().places,
    last_balance: overMidnight().lastBalance,
    published_at: now(),
    supersedes: stored.revision === 1 ? null : stored.revision - 1,
    run_id: options.runId,
  };
  const reason =
    stored.revision > wanted
      ? forgotten(stored.revision - 1)
      : current === undefined
        ? null
        : isUnfinished
          ? unfinished(current.revision)
          : await reasonBetween(current, row, options);
  const isRevised = row.supersedes !== null || (comesLate(account, day) && entriesIn(figures) > 0);
  const statement = { ...row, reason };
  const others = await putOtherFormats(statement, earlier, options);
  return { row: statement, stored: storedRow(row, stored.key, stored), isRevised, ...others };
}

const unfinished = (revision: number): string =>
  `an interrupted run had begun this revision; its content is that of revision ${revision}`;

const forgotten = (revision: number): string =>
  `revision ${revision} was published, and this database does not know it`;

/** Writes the day's summary if it differs from the current one; null if it does not. */
export async function newSummary(
  merchantNo: string,
  day: BusinessDay,
  { current, explained }: { readonly current: readonly StatementRow[]; readonly explained: Explained },
  standing: SummaryRow | undefined,
  options: PublishDayOptions,
): Promise<Written<SummaryRow> | null> {
  const text = summaryCsv(current, explained);
  if (standing?.sha256 === sha256Of(text)) return null;
  const stored = await putRevision({
    objects: options.objects,
    revision: (standing?.revision ?? 0) + 1,
    keyOf: (revision) => summaryKey(merchantNo, day, revision),
    manifestKey: manifestKey(merchantNo, day),
    content: Buffer.from(text),
    fence: leaseFence(options),
    // Nothing of a weaker day is written: its summary differs from the one that is there.
    onPublished: (manifest) => assertDayAsStrong(manifest, current, options),
    isFollowed: false,
  });
  const row = {
    ...{ merchant_no: merchantNo, day, revision: stored.revision },
    ...{ sha256: stored.sha256, object_key: stored.key },
    published_at: options.now(),
    content: explained.size === 0 ? null : text,
  };
  return { row, stored: storedRow(row, stored.key, stored) };
}
