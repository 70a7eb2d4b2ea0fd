/** Asks the platform for one page of a break's span, and compares the answer with what is stored. */
import type { Kysely } from 'kysely';
import { ExpectedError } from '../../ledger/ending.ts';
import type { LedgerEntry, UnreadableEntry, Window } from '../../ledger/entry.ts';
import { compareAmounts } from '../../ledger/money.ts';
import type { LedgerReader, MerchantAccess } from '../../platform/ledger-reader.ts';
import { knownBreak, type BreakRow } from '../../store/breaks/breaks.ts';
import { entriesByNumber } from '../../store/entries.ts';
import type { DB } from '../../store/engine/schema.ts';

/** Short, as a person waits for the answer. */
const ANSWER_WITHIN_MS = 20_000;

export interface BreakAnswer {
  readonly window: Window;
  /** How many entries of the account the platform says it has in the span. */
  readonly total: number;
  /** How many of them the page held. */
  readonly shown: number;
  readonly notStored: readonly LedgerEntry[];
  /** Entries that are stored with other content. */
  readonly changed: readonly LedgerEntry[];
  readonly unreadable: readonly UnreadableEntry[];
}

/** The answer, or a sentence that says why there is none. */
export type Asked = { readonly answer: BreakAnswer } | { readonly failure: string };

/**
 * Asks once. If the platform does not answer, or the token cannot be read, this is returned as a sentence and not
 * thrown.
 */
export async function askAboutBreak(
  {
    db,
    reader,
    access,
  }: {
    readonly db: Kysely<DB>;
    readonly reader: LedgerReader;
    readonly access: () => Promise<MerchantAccess>;
  },
  row: BreakRow,
): Promise<Asked> {
  const { span: window, account } = knownBreak(row);
  const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
  try {
    const merchant = await access();
    const query = { merchant, window, currency: account.currency, pageNum: 1 };
    const { total, entries, unreadable } = await reader.page(query, signal);
    const stored = await entriesByNumber(
      db,
      account.merchantNo,
      entries.map(({ batchNo }) => batchNo),
    );
    const isChanged = (entry: LedgerEntry): boolean => {
      const known = stored.get(entry.batchNo);
      return known !== undefined && !isSame(known, entry);
    };
    const answer = {
      window,
      total,
      shown: entries.length + unreadable.length,
      notStored: entries.filter(({ batchNo }) => !stored.has(batchNo)),
      changed: entries.filter(isChanged),
      unreadable,
    };
    return { answer };
  } catch (error) {
    if (signal.aborted) return { failure: `it did not answer within ${ANSWER_WITHIN_MS / 1_000} seconds` };
    if (error instanceof ExpectedError) return { failure: error.message };
    throw error;
  }
}

const isSame = (a: LedgerEntry, b: LedgerEntry): boolean =>
  a.currency === b.currency &&
  a.transactionType === b.transactionType &&
  a.bookedAt === b.bookedAt &&
  sameAmount(a.credit, b.credit) &&
  sameAmount(a.debit, b.debit) &&
  sameAmount(a.balance, b.balance);

const sameAmount = (a: string | null, b: string | null): boolean =>
  a === null || b === null ? a === b : compareAmounts(a, b) === 0;
