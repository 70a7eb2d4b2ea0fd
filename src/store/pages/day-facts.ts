/** Collects what the state of account days is judged by: figures, certificates, open breaks, changes. */
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Account, BusinessDay, Verdict, Window } from '../../ledger/entry.ts';
import { certifiedWindowsOf } from '../certified-windows.ts';
import { arrayLiteral } from '../engine/array-literal.ts';
import type { DB } from '../engine/schema.ts';

/** The figures of a day, as far as its state needs them. */
export interface DayFact {
  readonly verdict: Verdict;
  readonly entries: number;
  readonly revision: number | null;
}

/** What is known of an account's days in a range. */
export interface AccountFacts {
  readonly account: Account;
  /** Null if it has no figures. */
  readonly firstDay: BusinessDay | null;
  readonly days: ReadonlyMap<BusinessDay, DayFact>;
  /** Days whose entries have changed since their figures were made. */
  readonly changed: ReadonlySet<BusinessDay>;
  /** The spans of breaks that are open. */
  readonly openBreaks: readonly Window[];
  /** What is proven to be read whole, in order. */
  readonly certified: readonly Window[];
}

export interface DaysAsked {
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  /** The same in time. */
  readonly window: Window;
}

/** Facts of each account, in their order: five statements, each along an index, however many accounts are asked for. */
export async function dayFacts(
  db: Kysely<DB>,
  accounts: readonly Account[],
  asked: DaysAsked,
): Promise<AccountFacts[]> {
  if (accounts.length === 0) return [];
  const questions = accounts.map((account) => ({ ...account, within: asked.window }));
  const [days, first, changed, breaks, certified] = await Promise.all([
    figuresOf(db, accounts, asked),
    firstDaysOf(db, accounts),
    changedOf(db, accounts, asked),
    openBreaksOf(db, accounts, asked.window),
    certifiedWindowsOf(db, questions),
  ]);
  const [daysOf, changedIn, breaksOf] = [byAccount(days), byAccount(changed), byAccount(breaks)];
  const firstOf = new Map(first.map(({ nth, day }) => [nth, day]));
  return accounts.map((account, at) => ({
    account,
    firstDay: firstOf.get(at + 1) ?? null,
    days: new Map(
      (daysOf.get(at + 1) ?? []).map(({ day, verdict, entries, revision }) => [
        day,
        { verdict, entries, revision },
      ]),
    ),
    changed: new Set((changedIn.get(at + 1) ?? []).map(({ day }) => day)),
    openBreaks: breaksOf.get(at + 1) ?? [],
    certified: certified[at]!,
  }));
}

const byAccount = <Row extends Numbered>(rows: readonly Row[]): ReadonlyMap<number, readonly Row[]> =>
  Map.groupBy(rows, ({ nth }) => nth);

interface Numbered {
  /** Which of the accounts, from 1. */
  readonly nth: number;
}

const numbered = (accounts: readonly Account[]): RawBuilder<unknown> => sql`unnest(
  ${arrayLiteral(accounts.map(({ merchantNo }) => merchantNo))}::text[],
  ${arrayLiteral(accounts.map(({ currency }) => currency))}::text[]
) WITH ORDINALITY AS asked (merchant_no, currency, nth)`;

const ofAsked = sql`d.merchant_no = asked.merchant_no AND d.currency = asked.currency`;

async function figuresOf(db: Kysely<DB>, accounts: readonly Account[], { from, to }: DaysAsked) {
  const { rows } = await sql<Numbered & DayFact & { readonly day: BusinessDay }>`
    SELECT asked.nth::int AS nth, d.day, d.verdict, d.credit_count + d.debit_count AS entries, d.revision
    FROM ${numbered(accounts)} JOIN account_day d ON ${ofAsked} AND d.day BETWEEN ${from} AND ${to}`.execute(
    db,
  );
  return rows;
}

async function firstDaysOf(db: Kysely<DB>, accounts: readonly Account[]) {
  const { rows } = await sql<Numbered & { readonly day: BusinessDay }>`
    SELECT asked.nth::int AS nth, first.day FROM ${numbered(accounts)} CROSS JOIN LATERAL (
      SELECT d.day FROM account_day d WHERE ${ofAsked} ORDER BY d.day LIMIT 1
    ) AS first`.execute(db);
  return rows;
}

async function changedOf(db: Kysely<DB>, accounts: readonly Account[], { from, to }: DaysAsked) {
  const { rows } = await sql<Numbered & { readonly day: BusinessDay }>`
    SELECT asked.nth::int AS nth, d.day
    FROM ${numbered(accounts)} JOIN changed_day d ON ${ofAsked} AND d.day BETWEEN ${from} AND ${to}`.execute(
    db,
  );
  return rows;
}

/** Uses continuity_break_open: few breaks are open at a time. */
async function openBreaksOf(db: Kysely<DB>, accounts: readonly Account[], { beginMs, endMs }: Window) {
  const { rows } = await sql<Numbered & Window>`
    SELECT asked.nth::int AS nth, d.begin_ms AS "beginMs", d.end_ms AS "endMs"
    FROM ${numbered(accounts)} JOIN continuity_break d ON ${ofAsked} AND d.status = 'open'
      AND d.begin_ms <= ${endMs} AND d.end_ms >= ${beginMs}`.execute(db);
  return rows;
}
