/**
 * The simplest possible sync script, to compare with: page after page, one INSERT per row, amounts as JavaScript
 * numbers.
 */
import pg from 'pg';
import { givenInput } from './input.ts';
import { bookedMs, type WireRow } from './wire-row.ts';

export interface NaiveInput {
  readonly baseUrl: string;
  readonly databaseUrl: string;
  readonly merchantNo: string;
  readonly token: string;
  readonly beginMs: number;
  readonly endMs: number;
}

const input = givenInput() as NaiveInput;
const client = new pg.Client({ connectionString: input.databaseUrl });
await client.connect();
const started = performance.now();
let entries = 0;
for (let pageNum = 1; ; pageNum += 1) {
  const response = await fetch(`${input.baseUrl}/api/sp2404`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${input.token}`,
      merchantNo: input.merchantNo,
    },
    body: JSON.stringify({ beginDate: input.beginMs, endDate: input.endMs, pageNum, pageSize: 100 }),
  });
  const page = (await response.json()) as { total: number; list: WireRow[] };
  for (const row of page.list) {
    await client.query(
      `INSERT INTO ledger_entry (merchant_no, batch_no, currency, transaction_type, credit, debit, balance, booked_at,
         booked_ms, first_seen_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, now())
       ON CONFLICT (merchant_no, batch_no) DO UPDATE SET balance = excluded.balance`,
      [
        input.merchantNo,
        row.batchNo,
        row.currency,
        row.busiType,
        row.inAmount,
        row.outAmount,
        row.vailAmount,
        row.busiDate,
        bookedMs(row),
      ],
    );
  }
  entries += page.list.length;
  if (page.list.length === 0 || entries >= page.total) break;
}
const elapsedMs = performance.now() - started;
await client.end();
process.stdout.write(`${JSON.stringify({ entries, elapsedMs })}\n`);
