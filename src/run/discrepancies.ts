/**
 * Asserts what green means: an account's proven days since its first are its days with figures, and its days with a current
 * statement, whose rows are its entries. Whatever differs is named.
 */
import type { Kysely } from 'kysely';
import { dayWindow } from '../ledger/business-day.ts';
import type { Account, BusinessDay, Window } from '../ledger/entry.ts';
import { covers } from '../ledger/window.ts';
import { daysOutOfDate } from '../reconcile/up-to-date.ts';
import { lawFacts, type LawFacts } from '../store/chaining.ts';
import type { DB } from '../store/engine/schema.ts';
import { askInParts } from '../store/account-filter.ts';

/** Days of an account that are not in all three sets. */
export interface Discrepancy extends Account {
  /**
   * `no-figures`: proven, and without up-to-date figures. `no-statement`: proven, with figures, and without a statement of them and their entries.
   * `not-read`: with a statement that was adopted, of days that this database has not read. `in-doubt`: published, and not proven
   * any more, as a later reading failed or entries are absent.
   */
  readonly what: 'no-figures' | 'no-statement' | 'not-read' | 'in-doubt';
  /** In order; at least one. */
  readonly days: readonly BusinessDay[];
}

/** Of these merchants, by merchant and currency; nothing where all three sets of days are the same. */
export const discrepanciesOf = (
  db: Kysely<DB>,
  merchants: readonly string[],
  zone: string,
): Promise<Discrepancy[]> =>
  askInParts(merchants, async (some) => {
    const found = [];
    for (const facts of await lawFacts(db, some)) found.push(...(await discrepanciesIn(db, facts, zone)));
    return found;
  });

async function discrepanciesIn(db: Kysely<DB>, facts: LawFacts, zone: string): Promise<Discrepancy[]> {
  const { merchantNo, currency, certified, stated, changed, unpublished, doubted } = facts;
  const isProven = (day: BusinessDay): boolean => covers(certified, dayWindow(day, zone));
  const isCertified = (span: Window) => Promise.resolve(covers(certified, span));
  const own = { db, account: { merchantNo, currency }, zone, isCertified };
  const differing: Pick<Discrepancy, 'what' | 'days'>[] = [
    { what: 'no-figures', days: (await daysOutOfDate(own, facts)).filter(isProven) },
    { what: 'no-statement', days: unpublished.filter(isProven) },
    { what: 'not-read', days: stated.filter((day) => !isProven(day) && !changed.includes(day)) },
    { what: 'in-doubt', days: doubted.filter((day) => !isProven(day)) },
  ];
  return differing.filter(({ days }) => days.length > 0).map((one) => ({ merchantNo, currency, ...one }));
}
