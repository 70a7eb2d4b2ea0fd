/**
 * The law of balances, read from tables and published files alone: each day opens with the closing before, and where a balance
 * does not carry forward, the breaks say by how much. The sums of the published files are those of the stored entries.
 */
import type { Kysely } from 'kysely';
import type { DB } from '../../src/store/engine/schema.ts';
import { hundredths, readPublished } from '../simulation/published.ts';
import { openings } from '../simulation/published-laws.ts';

export interface BalancesAsked {
  readonly db: Kysely<DB>;
  readonly merchantNo: string;
}

const dayAfter = (day: string): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10);

/** Stored days whose figures and breaks do not add up, for entries that trade no places over midnight. The law holds after each transaction. */
export async function unbalanced({ db, merchantNo }: BalancesAsked): Promise<string[]> {
  const days = await db
    .selectFrom('account_day')
    .select(['currency', 'day', 'opening', 'credit_total', 'debit_total', 'closing', 'restarted'])
    .where('merchant_no', '=', merchantNo)
    .orderBy('currency')
    .orderBy('day')
    .execute();
  const breaks = await db
    .selectFrom('continuity_break')
    .select(['currency', 'day', 'missing_net'])
    .where('merchant_no', '=', merchantNo)
    .where('status', '<>', 'healed')
    .execute();
  const findings: string[] = [];
  let before: (typeof days)[number] | undefined;
  for (const row of days) {
    const name = `${row.currency} ${row.day}`;
    const follows = before?.currency === row.currency && row.day === dayAfter(before.day) && !row.restarted;
    if (follows && hundredths(row.opening) !== hundredths(before!.closing))
      findings.push(`${name} opens with ${row.opening}, and the day before closes with ${before!.closing}`);
    const missing = breaks
      .filter(({ currency, day }) => currency === row.currency && day === row.day)
      .reduce((sum, one) => sum + hundredths(one.missing_net), 0n);
    const net = hundredths(row.credit_total) - hundredths(row.debit_total);
    const off = hundredths(row.closing) - hundredths(row.opening) - net - missing;
    if (off !== 0n) findings.push(`${name} closes ${off} hundredths off, of which no break tells`);
    before = row;
  }
  return findings;
}

/** Openings that no manifest explains, and days whose files have other sums than the stored entries. */
export async function wrongSums(asked: BalancesAsked & { readonly folder: string }): Promise<string[]> {
  const { db, merchantNo, folder } = asked;
  const published = await readPublished(folder, merchantNo);
  const entries = await db
    .selectFrom('ledger_entry')
    .select(['currency', 'booked_at', 'credit', 'debit'])
    .where('merchant_no', '=', merchantNo)
    .where('vanished_at', 'is', null)
    .execute();
  const netOf = ({ credit, debit }: { readonly credit: string | null; readonly debit: string | null }) =>
    hundredths(credit ?? '0') - hundredths(debit ?? '0');
  const stored = new Map<string, bigint>();
  for (const entry of entries) {
    const id = `${entry.currency} ${entry.booked_at.slice(0, 10)}`;
    stored.set(id, (stored.get(id) ?? 0n) + netOf(entry));
  }
  const wrong = [...published.statements].filter(
    ([id, { creditTotal: credit, debitTotal: debit }]) => netOf({ credit, debit }) !== (stored.get(id) ?? 0n),
  );
  return [
    ...openings(published).wrong,
    ...wrong.map(([id]) => `the sums of a published file are not those of the stored entries: ${id}`),
  ];
}
