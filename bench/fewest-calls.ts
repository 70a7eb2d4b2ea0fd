/**
 * The fastest possible script for a night of many merchants, without any proof. For each merchant it reads as few
 * pages as the total needs, does one upsert, and writes one CSV file of the last day. It works on as many merchants
 * at once as daybook does.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import pg from 'pg';
import { Agent, request } from 'undici';
import { givenInput } from './input.ts';
import { bookedMs, type WireRow } from './wire-row.ts';

export interface FewestCallsInput {
  readonly baseUrl: string;
  readonly databaseUrl: string;
  readonly merchants: readonly { readonly merchantNo: string; readonly token: string }[];
  readonly beginMs: number;
  readonly endMs: number;
  /** Entries from this time on are written to the file. */
  readonly lastDayBeginMs: number;
  readonly atOnce: number;
  readonly folder: string;
}

const PAGE_SIZE = 100;
const input = givenInput() as FewestCallsInput;
const pool = new pg.Pool({ connectionString: input.databaseUrl, max: 10 });
const dispatcher = new Agent({ connections: input.atOnce });

async function page(
  { merchantNo, token }: FewestCallsInput['merchants'][number],
  pageNum: number,
): Promise<{ total: number; list: WireRow[] }> {
  const { beginMs, endMs } = input;
  const { body } = await request(`${input.baseUrl}/api/sp2404`, {
    dispatcher,
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, merchantNo },
    body: JSON.stringify({ beginDate: beginMs, endDate: endMs, pageNum, pageSize: PAGE_SIZE }),
  });
  return (await body.json()) as { total: number; list: WireRow[] };
}

async function night(merchant: FewestCallsInput['merchants'][number]): Promise<void> {
  const first = await page(merchant, 1);
  const pages = Math.ceil(first.total / PAGE_SIZE);
  const others = await Promise.all(
    Array.from({ length: Math.max(0, pages - 1) }, (_, at) => page(merchant, at + 2)),
  );
  const rows = [first, ...others].flatMap(({ list }) => list);
  await pool.query(
    `INSERT INTO ledger_entry (merchant_no, batch_no, currency, transaction_type, credit, debit, balance, booked_at,
       booked_ms, first_seen_at)
     SELECT $1, line.*, now() FROM unnest($2::text[], $3::text[], $4::text[], $5::numeric[], $6::numeric[], $7::numeric[],
       $8::timestamp[], $9::bigint[]) AS line
     ON CONFLICT (merchant_no, batch_no) DO UPDATE SET balance = excluded.balance
       WHERE ledger_entry.balance <> excluded.balance`,
    [
      merchant.merchantNo,
      rows.map((row) => row.batchNo),
      rows.map((row) => row.currency),
      rows.map((row) => row.busiType),
      rows.map((row) => row.inAmount),
      rows.map((row) => row.outAmount),
      rows.map((row) => row.vailAmount),
      rows.map((row) => row.busiDate),
      rows.map(bookedMs),
    ],
  );
  const lines = rows
    .filter((row) => bookedMs(row) >= input.lastDayBeginMs)
    .map((row) => [
      row.batchNo,
      row.currency,
      row.busiType,
      row.inAmount,
      row.outAmount,
      row.vailAmount,
      row.busiDate,
    ]);
  await writeFile(
    join(input.folder, `${merchant.merchantNo}.csv`),
    lines.map((line) => `${line.join(',')}\r\n`).join(''),
  );
}

const started = performance.now();
const atOnce = pLimit(input.atOnce);
await Promise.all(input.merchants.map((merchant) => atOnce(() => night(merchant))));
const elapsedMs = performance.now() - started;
await pool.end();
await dispatcher.close();
process.stdout.write(`${JSON.stringify({ elapsedMs })}\n`);
