/**
 * A worker as a process of its own, with work that can be counted: under the merchant's lease it adds a row to the table
 * `effect`, unless the job has one already. Arguments: the database's URL, and how many jobs side by side.
 */
import { sql } from 'kysely';
import { thisHolder } from '../../../src/host/process-identity.ts';
import { openQueue } from '../../../src/plugins/queue/queue.ts';
import { keepWorking } from '../../../src/plugins/queue/worker.ts';
import { openDatabase } from '../../../src/store/engine/connection.ts';
import { acquireLease, merchantLease, releaseLeases } from '../../../src/store/engine/lease.ts';
import { writeTransaction } from '../../../src/store/engine/write-transaction.ts';

const [, , databaseUrl, atOnce] = process.argv;
const stopping = new AbortController();
process.on('SIGTERM', () => stopping.abort());
const database = await openDatabase({ databaseUrl: databaseUrl!, dataDir: '' });
const { db } = database;
const onProblem = (error: unknown): void => void process.stderr.write(`problem: ${String(error)}\n`);
const queue = await openQueue(db, { supervises: true, onProblem });
await keepWorking(queue, {
  atOnce: Number(atOnce),
  work: async ({ runId, merchantNo }) => {
    await sql`INSERT INTO attempt (merchant_no, holder) VALUES (${merchantNo}, ${thisHolder()})`.execute(db);
    const name = merchantLease(merchantNo);
    const lease = await acquireLease(db, { name, holder: thisHolder(), ttlMs: 60_000 });
    await writeTransaction(db, lease, async (trx) => {
      await sql`SELECT pg_sleep(0.05)`.execute(trx);
      await sql`
        INSERT INTO effect (run_id, merchant_no) SELECT ${runId}, ${merchantNo}
        WHERE NOT EXISTS (SELECT 1 FROM effect WHERE run_id = ${runId} AND merchant_no = ${merchantNo})`.execute(
        trx,
      );
    });
    await releaseLeases(db, [lease]);
  },
  endAbandoned: () => Promise.resolve(),
  onEnd: ({ outcome, job, error }) =>
    void process.stderr.write(
      `${job.merchantNo} ${outcome} ${error instanceof Error ? error.message : ''}\n`,
    ),
  onProblem,
  signal: stopping.signal,
  untilEmpty: true,
});
await queue.close();
await database.close();
