/** Collects what is open after a run, of all days and whichever run found it. */
import type { Kysely } from 'kysely';
import type { AccountFilter } from '../ledger/account-filter.ts';
import { countUnreadable } from '../store/amendments.ts';
import { countOpenBreaksByRun } from '../store/breaks/open-breaks.ts';
import type { DB } from '../store/engine/schema.ts';
import { untoldNotices } from '../store/notices.ts';
import { untoldChanges } from '../store/untold-changes.ts';
import { untoldRevisions } from '../store/statements/untold-revisions.ts';
import { askInParts } from './many-merchants.ts';
import { provenOf } from './proven.ts';
import type { Standing } from './report.ts';
import { closeReadRanges } from './requested.ts';

/** Stands in for the real value if the database cannot say what is open. */
export const NOTHING_STANDS: Standing = {
  newBreaks: 0,
  knownBreaks: 0,
  untold: { amended: 0, vanished: 0 },
  revised: [],
  quarantined: 0,
  notices: [],
  requested: [],
  proven: [],
};

/** What is open of the merchants and currencies. Requested ranges that are fully proven by now are closed. */
export async function standingOf(
  db: Kysely<DB>,
  scope: AccountFilter & {
    readonly merchants: readonly string[];
    readonly runId: number;
    /** Whether the run reads the ledger. If not, what is still to be read is not its concern. */
    readonly reads: boolean;
    readonly zone: string;
    readonly now: Date;
  },
): Promise<Standing> {
  const { merchants, runId, reads } = scope;
  const open = await askInParts(merchants, (some) => closeReadRanges(db, some, scope));
  const requested = open.sort((a, b) => a.id - b.id);
  const { opened, known } = await countOpenBreaksByRun(db, scope, runId);
  const proven = await provenOf(db, merchants, requested, scope);
  return {
    newBreaks: opened,
    knownBreaks: known,
    untold: await untoldChanges(db, merchants),
    revised: await untoldRevisions(db, merchants),
    quarantined: await countUnreadable(db, merchants),
    notices: await untoldNotices(db, merchants),
    requested: reads ? requested : [],
    proven: proven.map(({ merchantNo, provenFrom, provenThrough }) => ({
      merchantNo,
      provenFrom,
      provenThrough,
    })),
  };
}
