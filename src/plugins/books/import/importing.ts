/** An import of a merchant's own book: what is asked for, and what it came to so far. */
import type { BusinessDay } from '../../../ledger/entry.ts';
import type { Currencies } from '../../../ledger/money.ts';
import type { LoginWays } from '../../../ledger/people.ts';
import type { AuditEvent } from '../../../store/audit.ts';
import type { Trx } from '../../../store/engine/database.ts';
import type { Mapping } from './mapping.ts';
import type { UnreadableRow } from './rows.ts';
import type { Source } from './sources.ts';
import type { createSpan } from './span.ts';
import type { Zones } from './values.ts';

export interface ImportRequest {
  readonly mapping: Mapping;
  readonly source: Source;
  readonly zones: Zones;
  readonly currencies: Currencies;
  /** First and last day of the book's zone that the file holds completely, where a person says so; else it holds from its first row to its last. */
  readonly from?: BusinessDay | undefined;
  readonly to?: BusinessDay | undefined;
  /** Finds out what the import would do, and leaves nothing. */
  readonly isDryRun?: boolean;
  /** First day of the book from now on, where a person says so; else as the mapping says, or as far back as its imports reach. */
  readonly startsOn?: BusinessDay | undefined;
  /** By currency: what an import may add, and withdraw, without a second person. Left out: anything. */
  readonly approvalAbove?: ReadonlyMap<string, string>;
  /** In which ways people log in. Left out: in one. */
  readonly logins?: LoginWays;
  readonly auditEvent: AuditEvent;
  readonly now: () => Date;
  readonly signal?: AbortSignal;
  /** As in `lockBooks`. */
  readonly lockMs?: number | undefined;
  readonly onProgress?: (rowsRead: number) => void;
}

/** Of the rows that were read, how many became what; and entries that are withdrawn. */
export const NONE = {
  rowsRead: 0,
  added: 0,
  changed: 0,
  unchanged: 0,
  returned: 0,
  withdrawn: 0,
  unreadable: 0,
};
export type Counts = typeof NONE;

/** One import of a merchant's book, and what it came to so far. */
export interface Importing {
  readonly trx: Trx;
  readonly request: ImportRequest;
  readonly id: number;
  readonly auditEventId: number;
  readonly approvalAbove: ReadonlyMap<string, string>;
  readonly merchantNo: string;
  readonly book: string;
  readonly counts: Counts;
  /** Of the platform's zone. */
  readonly days: Set<BusinessDay>;
  readonly span: ReturnType<typeof createSpan>;
  /** Whether a row's time has the offset of another zone than the platform's. */
  isElsewhere: boolean;
  /** By currency: what it adds, without signs. */
  readonly added: Map<string, string>;
  readonly unreadable: Omit<UnreadableRow, 'raw'>[];
}
