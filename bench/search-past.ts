/**
 * Fills `ledger_entry` with very many merchants' entries, in the order in which nights bring them: day after day, merchant
 * after merchant. Each figure follows from the merchant, the day and the place in the day, so that a search for it can be
 * written down. Indexes are made at the end, and the table is not logged: only reading it is measured.
 */
import '../src/plugins.ts';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type pg from 'pg';
import { addDays, dayWindow } from '../src/ledger/business-day.ts';
import type { BusinessDay } from '../src/ledger/entry.ts';
import { LARGE, merchantNo } from './pages-past.ts';
import { ZONE } from './scenario.ts';
import type { BenchDatabase } from './server.ts';

export interface SearchPast {
  readonly merchants: number;
  readonly days: number;
  readonly to: BusinessDay;
  /** Of `LARGE`, in all currencies. */
  readonly largeEntriesADay: number;
}

export const ENTRIES_A_DAY = 20;
/** Of `LARGE`. The other merchants have the first. */
export const CURRENCIES = ['USD', 'EUR', 'GBP', 'JPY', 'KWD', 'SGD', 'AUD', 'CNY'] as const;
const TYPES = ['COLLECT', 'SETTLE', 'REFUND', 'FEE'] as const;
/** No amount is this large. */
const CENTS_MAX = 10_000_000;

export const entriesOf = ({ merchants, days, largeEntriesADay }: SearchPast): number =>
  days * (merchants * ENTRIES_A_DAY + largeEntriesADay);

/** The number and the amount of an entry: of the `nth` of the merchant's `day`, all counted from 1. */
export function entryOf(past: SearchPast, merchant: number, day: number, nth: number) {
  const cents = ((merchant * 7_919 + day * 104_729 + nth * 1_299_709) % CENTS_MAX) + 1;
  const date = dayOf(past, day);
  const number = `${date.replaceAll('-', '')}${String(merchant).padStart(6, '0')}${String(nth).padStart(5, '0')}`;
  return { number, date, amount: (cents / 100).toFixed(2) };
}

const dayOf = ({ to, days }: SearchPast, day: number): BusinessDay => addDays(to, day - days);

export async function seedEntries(database: BenchDatabase, past: SearchPast): Promise<void> {
  await database.withClient(async (client) => {
    await client.query(`SET maintenance_work_mem = '1GB'`);
    const indexes = await withoutIndexes(client);
    for (let day = 1; day <= past.days; day += 1) await seedDay(client, past, day);
    // Marks rows as seen by everybody, which on a real table happened long ago.
    await client.query('VACUUM (ANALYZE) ledger_entry');
    for (const index of indexes) await client.query(index);
    await client.query('VACUUM ledger_entry');
  });
}

/** Takes off what would make filling slow. Returns the statements that put the indexes back. */
async function withoutIndexes(client: pg.Client): Promise<string[]> {
  await client.query('ALTER TABLE ledger_entry SET UNLOGGED');
  const { rows } = await client.query<{ name: string; made: string; primary: string | null }>(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS made,
       (SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conindid = indexrelid AND contype = 'p') AS primary
     FROM pg_index WHERE indrelid = 'ledger_entry'::regclass`,
  );
  for (const { name, primary } of rows)
    await client.query(
      primary === null ? `DROP INDEX ${name}` : `ALTER TABLE ledger_entry DROP CONSTRAINT ${name}`,
    );
  return rows.map(({ name, made, primary }) =>
    primary === null ? made : `ALTER TABLE ledger_entry ADD CONSTRAINT ${name} ${primary}`,
  );
}

async function seedDay(client: pg.Client, past: SearchPast, day: number): Promise<void> {
  const date = dayOf(past, day);
  const { beginMs } = dayWindow(date, ZONE);
  const insert = (own: string, values: readonly unknown[]) =>
    client.query(
      `INSERT INTO ledger_entry (merchant_no, batch_no, currency, transaction_type, credit, debit, balance, booked_at,
         booked_ms, first_seen_at)
       SELECT merchant_no, $4 || lpad(merchant::text, 6, '0') || lpad(nth::text, 5, '0'), currency,
         ($6::text[])[1 + nth % 4], CASE WHEN nth % 4 < 3 THEN amount END, CASE WHEN nth % 4 = 3 THEN amount END,
         1000 + amount, $2::timestamp + make_interval(secs => second), $3::bigint + second * 1000, now()
       FROM (${own}) AS own
       CROSS JOIN LATERAL (SELECT
         ((merchant::bigint * 7919 + $1::bigint * 104729 + nth::bigint * 1299709) % ${CENTS_MAX} + 1)::numeric / 100 AS amount,
         (nth - 1)::bigint * 86400 / $5::bigint AS second) AS its`,
      [day, date, beginMs, date.replaceAll('-', ''), ...values],
    );
  await insert(
    `SELECT 'M' || lpad(merchant::text, 6, '0') AS merchant_no, merchant, nth, '${CURRENCIES[0]}' AS currency
     FROM generate_series(1, $7::int) AS merchant CROSS JOIN generate_series(1, $5::int) AS nth
     ORDER BY merchant, nth`,
    [ENTRIES_A_DAY, TYPES, past.merchants],
  );
  await insert(
    `SELECT '${LARGE}' AS merchant_no, 0 AS merchant, nth, ($7::text[])[1 + nth % ${CURRENCIES.length}] AS currency
     FROM generate_series(1, $5::int) AS nth`,
    [past.largeEntriesADay, TYPES, CURRENCIES],
  );
}

/** Takes the table out of the machine's memory. Of its own memory the server has little for a table so much larger. */
export async function forgetEntries({ withClient }: BenchDatabase): Promise<void> {
  const files = await withClient(async (client) => {
    await client.query('CHECKPOINT');
    const { rows } = await client.query<{ folder: string; path: string; bytes: number }>(
      `SELECT current_setting('data_directory') AS folder, pg_relation_filepath(oid) AS path,
         pg_relation_size(oid)::float8 AS bytes
       FROM pg_class WHERE oid = 'ledger_entry'::regclass
         OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = 'ledger_entry'::regclass)`,
    );
    return rows.flatMap(({ folder, path, bytes }) =>
      Array.from({ length: Math.ceil(bytes / SEGMENT_BYTES) }, (_, nth) =>
        join(folder, nth === 0 ? path : `${path}.${nth}`),
      ),
    );
  });
  // Tells the kernel that nobody needs what it has read of a file (GNU coreutils).
  for (const file of files)
    await promisify(execFile)('dd', [`if=${file}`, 'iflag=nocache', 'count=0', 'status=none']);
}

/** Of a table's file. */
const SEGMENT_BYTES = 2 ** 30;

/** The numbers of `count` merchants, far apart. `round` gives others. */
export const merchantsApart = ({ merchants }: SearchPast, count: number, round: number): number[] =>
  Array.from({ length: count }, (_, nth) => (((round * count + nth) * 7_919) % merchants) + 1);

export { LARGE, merchantNo };
