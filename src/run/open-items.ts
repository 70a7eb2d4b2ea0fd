/** Collects what is open of merchants, of all days and whichever run found it. */
import { sql, type Kysely } from 'kysely';
import type { AccountFilter } from '../ledger/account-filter.ts';
import { unreadableByMerchant } from '../store/quarantine.ts';
import { countOpenBreaks } from '../store/breaks/breaks.ts';
import type { DB } from '../store/engine/schema.ts';
import { heldDaysOf } from '../store/absent-entries.ts';
import { noticesByMerchant, unreportedNotices } from '../store/notices.ts';
import { unreportedChanges, type UnreportedChanges } from '../store/events.ts';
import { unreportedRevisions } from '../store/statements/record-published.ts';
import { discrepanciesOf } from './discrepancies.ts';
import { askInParts } from '../store/account-filter.ts';
import { provenOf } from './proven.ts';
import type { OpenItems } from './report.ts';
import { closeReadRanges } from './requested.ts';

/** Stands in for the real value if the database cannot say what is open. */
export const NOTHING_STANDS: OpenItems = {
  newBreaks: 0,
  knownBreaks: 0,
  unreported: { amended: 0, vanished: 0 },
  revised: [],
  quarantined: 0,
  notices: [],
  requested: [],
  proven: [],
  discrepancies: [],
  held: [],
};

export interface MerchantOpenItems {
  readonly standing: OpenItems;
  /** The notes behind `unreported` of the open items. They are deleted once they are reported. */
  readonly unreported: readonly UnreportedChanges[];
}

/** What is open of each of the merchants. Requested ranges that are fully proven by now are closed. */
export async function openItemsOf(
  db: Kysely<DB>,
  scope: AccountFilter & {
    readonly merchants: readonly string[];
    readonly runId: number;
    /** Whether the run reads the ledger. If not, what is still to be read is not its concern. */
    readonly reads: boolean;
    /** Whether the run answers for figures, and so for days without them. */
    readonly chains: boolean;
    readonly zone: string;
    readonly now: Date;
  },
): Promise<ReadonlyMap<string, MerchantOpenItems>> {
  const { merchants, runId, reads, chains, currencies } = scope;
  const byMerchant = <Row extends { readonly merchantNo: string }>(rows: readonly Row[]) =>
    Map.groupBy(rows, ({ merchantNo }) => merchantNo);
  const isAsked = ({ currency }: { readonly currency: string }): boolean =>
    currencies?.includes(currency) !== false;
  const open = await askInParts(merchants, (some) => closeReadRanges(db, some, scope));
  const requested = byMerchant(open.sort((a, b) => a.id - b.id));
  const proven = new Map(
    (await provenOf(db, merchants, open, scope)).map((one) => [one.merchantNo, one] as const),
  );
  const [breaks, unreported, revised, quarantined, notices, discrepancies, held] = await Promise.all([
    countOpenBreaks(db, scope, sql`run_id = ${runId}`),
    unreportedChanges(db, merchants).then(byMerchant),
    unreportedRevisions(db, merchants).then(byMerchant),
    unreadableByMerchant(db, merchants),
    unreportedNotices(db, merchants).then(noticesByMerchant),
    chains ? discrepanciesOf(db, merchants, scope.zone).then(byMerchant) : null,
    heldDaysOf(db, merchants).then(byMerchant),
  ]);
  return new Map(
    merchants.map((merchantNo): [string, MerchantOpenItems] => {
      const own = requested.get(merchantNo) ?? [];
      const { provenFrom, provenThrough } = proven.get(merchantNo)!;
      const changes = unreported.get(merchantNo) ?? [];
      const standing: OpenItems = {
        newBreaks: breaks.get(merchantNo)?.opened ?? 0,
        knownBreaks: breaks.get(merchantNo)?.known ?? 0,
        unreported: {
          amended: changes.reduce((sum, { amended }) => sum + amended, 0),
          vanished: changes.reduce((sum, { vanished }) => sum + vanished, 0),
        },
        revised: revised.get(merchantNo) ?? [],
        quarantined: quarantined.get(merchantNo) ?? 0,
        notices: notices.get(merchantNo) ?? [],
        requested: reads ? own : [],
        proven: [{ merchantNo, provenFrom, provenThrough }],
        discrepancies: (discrepancies?.get(merchantNo) ?? []).filter(isAsked),
        held: (held.get(merchantNo) ?? []).filter(isAsked),
      };
      return [merchantNo, { standing, unreported: changes }];
    }),
  );
}
