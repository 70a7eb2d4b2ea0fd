/**
 * Publishes one merchant's day: revisions of the accounts that changed, the summary, and last the manifest.
 *
 * Each step can be the last before a crash. A file without a row is written again under the same name; rows without a
 * manifest still are due, and the next run finds nothing changed and writes the manifest.
 */
import type { Kysely } from 'kysely';
import pLimit from 'p-limit';
import { dayWindow } from '../ledger/business-day.ts';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import { bytesOf, digestOf, readWhole, type ObjectStore } from '../objects/object-store.ts';
import { accountDay, type AccountDayRow } from '../store/account-days.ts';
import type { Lease } from '../store/lease.ts';
import type { DB } from '../store/schema.ts';
import {
  certificatesOf,
  changesSince,
  clearDue,
  previousStatement,
  recordStatements,
  statementsOfDay,
  summariesOfDay,
  type StatementRow,
  type SummaryRow,
} from '../store/statements.ts';
import { writeTransaction } from '../store/write-transaction.ts';
import { dayContent, StatementMisfit } from './day-content.ts';
import { figuresOf, reasonOf, rowsIn, sameFigures } from './figures.ts';
import { manifestKey, statementKey, summaryKey } from './keys.ts';
import { manifestText } from './manifest.ts';
import { putRevision } from './put-revision.ts';
import { currentOf, summaryCsv } from './summary.ts';

/** Accounts of a day written at once; each upload holds a few parts in memory. */
const ACCOUNTS_AT_ONCE_MAX = 3;

export interface PublishDayOptions {
  readonly db: Kysely<DB>;
  readonly lease: Lease;
  readonly objects: ObjectStore;
  readonly zone: string;
  /** The zone is not proven; the manifest says so. */
  readonly timeZoneTrusted?: boolean;
  readonly clockToleranceS: number;
  readonly runId: number;
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

/** An account whose stored entries do not say what the day's figures say; nothing of it was made current. */
export interface Misfit {
  readonly currency: string;
  readonly why: string;
}

/**
 * Publishes what differs from what stands; returns the new rows. All of `currencies` are proven and over. A misfit
 * keeps its own account from being published, and no other.
 */
export async function publishDay(
  merchantNo: string,
  day: BusinessDay,
  currencies: readonly string[],
  options: PublishDayOptions,
): Promise<{ readonly written: readonly StatementRow[]; readonly misfits: readonly Misfit[] }> {
  const { db, lease } = options;
  await mayWrite(options);
  const standing = await statementsOfDay(db, merchantNo, day);
  const atOnce = pLimit(ACCOUNTS_AT_ONCE_MAX);
  // All are waited for, so that no upload goes on behind a failure's back.
  const settled = await Promise.allSettled(
    currencies.map((currency) => atOnce(() => newRevision({ merchantNo, currency }, day, standing, options))),
  );
  const misfits: Misfit[] = [];
  for (const [index, result] of settled.entries()) {
    if (result.status === 'fulfilled') continue;
    if (!(result.reason instanceof StatementMisfit)) throw result.reason;
    misfits.push({ currency: currencies[index]!, why: result.reason.message });
  }
  const fine = currencies.filter((currency) => !misfits.some((misfit) => misfit.currency === currency));
  if (fine.length === 0) return { written: [], misfits };
  const written = settled.flatMap((result) =>
    result.status === 'fulfilled' && result.value !== null ? [result.value] : [],
  );

  const all = [...standing, ...written];
  const summary = await newSummary(merchantNo, day, all, options);
  if (written.length > 0 || summary !== null) {
    await writeTransaction(db, lease, (trx) => recordStatements(trx, written, summary));
  }
  await writeManifest(merchantNo, day, options);
  await writeTransaction(db, lease, (trx) => clearDue(trx, merchantNo, day, fine));
  return { written, misfits };
}

/** Writes the account's statement where it differs from the one that stands; null where it does not. */
async function newRevision(
  account: Account,
  day: BusinessDay,
  standing: readonly StatementRow[],
  options: PublishDayOptions,
): Promise<StatementRow | null> {
  const { db, now } = options;
  options.signal.throwIfAborted();
  const content = () => dayContent(account, day, options);
  const current = standing.findLast((row) => row.currency === account.currency);
  const figures = (await accountDay(db, account, day))!;
  // Read once to compare, only where the figures leave it open.
  if (current !== undefined && sameFigures(current, figures)) {
    const { sha256 } = await digestOf(content());
    if (sha256 === current.sha256) return null;
  }
  const wanted = (current?.revision ?? 0) + 1;
  const stored = await putRevision({
    objects: options.objects,
    revision: wanted,
    keyOf: (revision) => statementKey(account, day, revision),
    manifestKey: manifestKey(account.merchantNo, day),
    content,
    assertMayWrite: () => mayWrite(options),
  });
  const reason = stored.revision > wanted ? forgotten(stored.revision - 1) : null;
  return {
    merchant_no: account.merchantNo,
    currency: account.currency,
    day,
    revision: stored.revision,
    sha256: stored.sha256,
    byte_count: stored.bytes,
    row_count: rowsIn(figures),
    object_key: stored.key,
    ...figuresOf(figures),
    published_at: now(),
    supersedes: stored.revision === 1 ? null : stored.revision - 1,
    reason: reason ?? (await reasonFor(account, day, current, figures, options)),
    run_id: options.runId,
  };
}

const forgotten = (revision: number): string =>
  `revision ${revision} was published, and this database does not know it`;

async function reasonFor(
  account: Account,
  day: BusinessDay,
  current: StatementRow | undefined,
  figures: AccountDayRow,
  { db, zone }: PublishDayOptions,
): Promise<string | null> {
  if (current === undefined) return null;
  return reasonOf(
    current,
    figures,
    await changesSince(db, account, dayWindow(day, zone), current.published_at),
  );
}

/** Writes the day's summary where it differs from the one that stands. */
async function newSummary(
  merchantNo: string,
  day: BusinessDay,
  statements: readonly StatementRow[],
  options: PublishDayOptions,
): Promise<SummaryRow | null> {
  const content = Buffer.from(summaryCsv(currentOf(statements)));
  const current = (await summariesOfDay(options.db, merchantNo, day)).at(-1);
  const { sha256 } = await digestOf(bytesOf(content));
  if (current?.sha256 === sha256) return null;
  const stored = await putRevision({
    objects: options.objects,
    revision: (current?.revision ?? 0) + 1,
    keyOf: (revision) => summaryKey(merchantNo, day, revision),
    manifestKey: manifestKey(merchantNo, day),
    content,
    assertMayWrite: () => mayWrite(options),
  });
  return {
    merchant_no: merchantNo,
    day,
    revision: stored.revision,
    sha256: stored.sha256,
    object_key: stored.key,
    published_at: options.now(),
  };
}

/** Writes the manifest the rows call for, unless it is there already. */
export async function writeManifest(
  merchantNo: string,
  day: BusinessDay,
  options: PublishDayOptions,
): Promise<void> {
  const { db, objects, zone } = options;
  const statements = await statementsOfDay(db, merchantNo, day);
  const previous = new Map<string, StatementRow>();
  for (const { currency } of currentOf(statements)) {
    const before = await previousStatement(db, { merchantNo, currency }, day);
    if (before !== undefined) previous.set(currency, before);
  }
  const text = manifestText({
    merchantNo,
    day,
    zone,
    timeZoneTrusted: options.timeZoneTrusted ?? false,
    statements,
    previous,
    summaries: await summariesOfDay(db, merchantNo, day),
    certificates: await certificatesOf(db, merchantNo, dayWindow(day, zone)),
  });
  const key = manifestKey(merchantNo, day);
  if ((await readWhole(objects, key))?.toString('utf8') === text) return;
  await mayWrite(options);
  await objects.put(key, Buffer.from(text), { contentType: 'application/json' });
}

const mayWrite = ({ db, lease }: PublishDayOptions): Promise<void> =>
  writeTransaction(db, lease, () => Promise.resolve());
