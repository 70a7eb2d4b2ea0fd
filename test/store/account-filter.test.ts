import type { Kysely } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EVERY_ACCOUNT, type AccountFilter } from '../../src/ledger/account-filter.ts';
import { listAccountDays, changedDays } from '../../src/store/account-days.ts';
import { listAmendments, listVanished } from '../../src/store/amendments.ts';
import { listBreaks, breaksToHeal, countOpenBreaks, isNewSince } from '../../src/store/breaks/breaks.ts';
import type { Database } from '../../src/store/engine/database.ts';
import type { DB } from '../../src/store/engine/schema.ts';
import {
  changedFrom,
  looseOpenings,
  dueAccountDays,
  statementsOfDueDays,
} from '../../src/store/statements/due-days.ts';
import { monthRows } from '../../src/months/month.ts';
import { listStatements, revisionsOnDay } from '../../src/store/statements/statements.ts';
import { freshDatabase, freshEmbedded, hasEmbedded } from '../support/database.ts';
import { counting, CURRENCIES, fillAccounts, FIRST_DAY, LAST_DAY, merchantOf } from './many-accounts.ts';

/** Which account a row of a query is about, by the names of columns or of fields. */
type About =
  | { readonly merchant_no: string; readonly currency: string }
  | { readonly account: { readonly merchantNo: string; readonly currency: string } };

const nameOf = (about: About): string =>
  'account' in about
    ? `${about.account.merchantNo} ${about.account.currency}`
    : `${about.merchant_no} ${about.currency}`;

const QUERIES: readonly [string, (db: Kysely<DB>, accounts: AccountFilter) => Promise<readonly About[]>][] = [
  ['changed days', changedDays],
  ['first changed days', changedFrom],
  ['account days', listAccountDays],
  ['days that are due', dueAccountDays],
  ['statements of days that are due', (db, accounts) => statementsOfDueDays(db, accounts, LAST_DAY)],
  ['statements', listStatements],
  ['revisions of a day', (db, accounts) => revisionsOnDay(db, LAST_DAY, accounts)],
  ['loose openings', (db, accounts) => looseOpenings(db, [], { ...accounts, from: FIRST_DAY, to: LAST_DAY })],
  ['breaks', listBreaks],
  [
    'breaks to heal',
    async (db, accounts) =>
      (await breaksToHeal(db, { accounts, spanMsMax: 1_000, limit: 1_000, now: new Date() })).newest,
  ],
  [
    'amendments',
    async (db, accounts) =>
      (await listAmendments(db, accounts)).map(({ merchantNo, after: { currency } }) => ({
        account: { merchantNo, currency },
      })),
  ],
  [
    'vanished entries',
    async (db, accounts) =>
      (await listVanished(db, accounts)).map(({ merchantNo, entry: { currency } }) => ({
        account: { merchantNo, currency },
      })),
  ],
];

/** A query may return at most this many rows per account: two for each of two days. */
const ROWS_AN_ACCOUNT_MAX = 4;

const FILTERS: readonly [string, AccountFilter, readonly string[]][] = [
  [
    'two merchants and two currencies',
    { merchants: [merchantOf(7), merchantOf(3)], currencies: ['USD', 'EUR'] },
    ['M0003 EUR', 'M0003 USD', 'M0007 EUR', 'M0007 USD'],
  ],
  [
    'one merchant',
    { merchants: [merchantOf(7)], currencies: null },
    CURRENCIES.map((currency) => `M0007 ${currency}`),
  ],
  ['a merchant named twice', { merchants: ['M0007', 'M0007'], currencies: ['USD'] }, ['M0007 USD']],
  ['a merchant that nothing is known of', { merchants: ['M-OTHER'], currencies: null }, []],
  ['no merchant', { merchants: [], currencies: null }, []],
  ['no currency', { merchants: null, currencies: [] }, []],
];

describe.each([
  ['PostgreSQL', freshDatabase],
  ...(hasEmbedded ? [['embedded', freshEmbedded] as const] : []),
] as const)('%s, with the accounts of many merchants', (_, open) => {
  let database: Database;
  beforeAll(async () => {
    database = await open();
    await fillAccounts(database.db);
  });
  afterAll(() => database.close());

  describe.each(QUERIES)('%s', (__, query) => {
    it.each(FILTERS)('of %s are all that the server sends', async (___, accounts, expected) => {
      const { db, rowsSent } = counting(database.db);
      const answered = new Set((await query(db, accounts)).map(nameOf));
      expect([...answered].sort()).toEqual(expected);
      expect(rowsSent()).toBeLessThanOrEqual(expected.length * ROWS_AN_ACCOUNT_MAX);
    });

    it('of one currency are those of all merchants', async () => {
      const answered = new Set(
        (await query(database.db, { merchants: null, currencies: ['KWD'] })).map(nameOf),
      );
      expect(answered).toEqual(new Set(Array.from({ length: 40 }, (___, n) => `${merchantOf(n + 1)} KWD`)));
    });

    it('of all accounts come without a filter', async () => {
      expect(new Set((await query(database.db, EVERY_ACCOUNT)).map(nameOf)).size).toBe(
        40 * CURRENCIES.length,
      );
    });
  });

  it('a merchant’s month has the currencies asked for, in one statement', async () => {
    const { db, rowsSent, statements } = counting(database.db);
    const usd = { merchantNo: merchantOf(7), currencies: ['USD'] };
    const found = await monthRows(db, usd, { from: FIRST_DAY, to: LAST_DAY });
    expect(found.statements.map(nameOf)).toEqual(['M0007 USD', 'M0007 USD']);
    expect(found.statements[0]).toEqual(
      (await listStatements(database.db, { merchants: ['M0007'], currencies: ['USD'] }))[0],
    );
    expect(found.firstDays).toEqual(new Map([['USD', FIRST_DAY]]));
    expect(found.due).toEqual([FIRST_DAY, LAST_DAY].map((day) => ({ currency: 'USD', day })));
    expect([statements(), rowsSent()]).toEqual([1, 5]);
  });

  it('open breaks are counted by the server', async () => {
    const { db, rowsSent } = counting(database.db);
    const accounts = { merchants: [merchantOf(7), merchantOf(3)], currencies: ['USD'] };
    expect(await countOpenBreaks(db, accounts, isNewSince(null))).toEqual(
      new Map([
        [merchantOf(3), { opened: 0, known: 2 }],
        [merchantOf(7), { opened: 0, known: 2 }],
      ]),
    );
    expect(rowsSent()).toBe(2);
  });
});
