/** What still needs a person in a run's days, whichever run brought it to light. */
import type { Kysely } from 'kysely';
import { dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { listBreaks } from '../store/breaks.ts';
import type { DB } from '../store/schema.ts';
import type { Standing } from './report.ts';

/** Open breaks and quarantined entries of the merchants and days given. */
export async function standingIn(
  db: Kysely<DB>,
  scope: {
    readonly merchants: readonly string[];
    readonly currencies: readonly string[] | null;
    readonly from: BusinessDay;
    readonly to: BusinessDay;
    readonly zone: string;
  },
): Promise<Standing> {
  const { merchants, currencies, from, to, zone } = scope;
  if (merchants.length === 0) return { openBreaks: 0, quarantined: 0 };
  const breaks = await listBreaks(db, {
    merchants,
    currencies: currencies ?? undefined,
    fromDay: from,
    toDay: to,
  });
  const quarantined = await db
    .selectFrom('quarantined_entry')
    .select((eb) => eb.fn.countAll<number | string>().as('count'))
    .where('merchant_no', 'in', [...merchants])
    .where('released_at', 'is', null)
    .where('end_ms', '>=', dayWindow(from, zone).beginMs)
    .where('begin_ms', '<=', dayWindow(to, zone).endMs)
    .executeTakeFirstOrThrow();
  return { openBreaks: breaks.length, quarantined: Number(quarantined.count) };
}
