/** The files of a merchant's day: new revisions of its statements, its summary, and the manifest that they call for. */
import type { LimitFunction } from 'p-limit';
import type { BusinessDay } from '../ledger/entry.ts';
import type { ChainedManifest, PastOfDay } from '../store/statements/past-of-days.ts';
import type { StatementRow, SummaryRow } from '../store/statements/statements.ts';
import type { ManifestRow } from '../store/statements/stored-files.ts';
import { StatementMisfit } from './day-content.ts';
import { explainedOf, type Explained } from './explained.ts';
import { fileOf } from './keys.ts';
import type { OtherFormats } from './manifest.ts';
import { chained } from './manifest-chain.ts';
import {
  newRevision,
  newSummary,
  type Prepared,
  type Written,
  type WrittenStatement,
} from './new-revisions.ts';
import type { PublishDayOptions } from './publish-options.ts';
import { currentOf } from './summary.ts';
import { nextManifest } from './write-manifest.ts';

/** An account whose stored entries do not give the day's figures. Its statement was not published. */
export interface Misfit {
  readonly currency: string;
  readonly why: string;
}

/** A merchant's day that is to be published. */
export interface DayToWrite {
  readonly merchantNo: string;
  readonly day: BusinessDay;
  readonly past: PastOfDay;
  /** All are proven and over. Without any, only the manifest is checked. */
  readonly accounts: readonly Prepared[];
}

/** What was written of a day so far; its manifest is not. */
export interface DayFiles extends DayToWrite {
  readonly written: readonly WrittenStatement[];
  readonly misfits: readonly Misfit[];
  /** Currencies whose statement is as the account now stands. */
  readonly fine: readonly string[];
  /** All revisions, the new ones included. */
  readonly statements: readonly StatementRow[];
  readonly current: readonly StatementRow[];
  readonly explained: Explained;
  readonly summary: Written<SummaryRow> | null;
}

/** Writes the day's new statements and then its summary. Throws what the store and the fence throw. */
export async function writeFiles(
  of: DayToWrite,
  atOnce: LimitFunction,
  options: PublishDayOptions,
): Promise<DayFiles> {
  const { merchantNo, day, past, accounts } = of;
  // All are waited for, so that no upload is still running when a failure is thrown.
  const settled = await Promise.allSettled(
    accounts.map((account) => atOnce(() => newRevision(account, options))),
  );
  const misfits: Misfit[] = [];
  const fine: string[] = [];
  const written: WrittenStatement[] = [];
  for (const [nth, result] of settled.entries()) {
    const { currency } = accounts[nth]!.account;
    if (result.status === 'fulfilled') {
      fine.push(currency);
      if (result.value !== null) written.push(result.value);
    } else {
      if (!(result.reason instanceof StatementMisfit)) throw result.reason;
      misfits.push({ currency, why: result.reason.message });
    }
  }
  const statements = inOrder([...past.statements, ...written.map(({ row }) => row)]);
  const current = currentOf(statements);
  const explained = await explainedOf(options.db, merchantNo, day, options.zone, current);
  const summary =
    fine.length === 0
      ? null
      : await newSummary(merchantNo, day, { current, explained }, past.summaries.at(-1), options);
  return { ...of, written, misfits, fine, statements, current, explained, summary };
}

/** What the manifests of the next days name. */
export interface Latest {
  /** By currency, the last statement known to be current. */
  readonly statements: Map<string, StatementRow>;
  /** The manifest that was made last; null if none was. */
  manifest: ChainedManifest | null;
}

/** Before the first manifest. */
export const nothingLatest = (): Latest => ({ statements: new Map(), manifest: null });

/**
 * The manifest that the day's files call for. `latest` has what was written of earlier days, and gets what is current on
 * this one.
 */
export function manifestOf(
  { merchantNo, day, past, written, statements, current, explained, summary }: DayFiles,
  latest: Latest,
  options: PublishDayOptions,
): { readonly row: ManifestRow; readonly isNew: boolean } {
  const previous = new Map(past.previous);
  for (const { currency } of current) {
    const own = latest.statements.get(currency);
    if (own !== undefined && own.day >= (previous.get(currency)?.day ?? '')) previous.set(currency, own);
  }
  for (const row of current) latest.statements.set(row.currency, row);
  const summaries = summary === null ? past.summaries : [...past.summaries, summary.row];
  const otherFormats = newOtherFormats(written);
  const rows = { statements, summaries, explained, otherFormats };
  const lastInChain = latest.manifest ?? past.lastInChain;
  const next = nextManifest(merchantNo, day, rows, { ...past, previous, lastInChain }, options);
  if (next.isNew) latest.manifest = chained(next.row);
  return next;
}

const newOtherFormats = (written: readonly WrittenStatement[]): OtherFormats =>
  new Map(
    written
      .filter(({ otherFormats }) => otherFormats.length > 0)
      .map(({ row, otherFormats }) => [fileOf(row.object_key), otherFormats.map(({ listed }) => listed)]),
  );

/** By currency, oldest revision first: as the database hands them out. */
const inOrder = (rows: readonly StatementRow[]): StatementRow[] =>
  rows.toSorted((a, b) =>
    a.currency === b.currency ? a.revision - b.revision : a.currency < b.currency ? -1 : 1,
  );
