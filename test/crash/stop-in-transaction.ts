/**
 * A process that takes a lease which ends at once, and stops itself, like SIGSTOP, in the middle of a write
 * transaction.
 */
import { openDatabase } from '../../src/store/engine/connection.ts';
import { acquireLease } from '../../src/store/engine/lease.ts';
import { thisHolder } from '../../src/host/process-identity.ts';
import { startRun } from '../../src/store/runs.ts';
import { DATABASE_WAITS } from '../../src/store/engine/retry.ts';
import { writeTransaction } from '../../src/store/engine/write-transaction.ts';

const [, , databaseUrl = '', idleInTransactionMs = ''] = process.argv;
const waits = { ...DATABASE_WAITS, idleInTransactionMs: Number(idleInTransactionMs) };
const { db, close } = await openDatabase({ databaseUrl, dataDir: '', waits });
const holder = thisHolder();
const lease = await acquireLease(db, { name: 'night', holder, ttlMs: 1 });
let isFirst = true;
const ended = await writeTransaction(db, lease, async (trx) => {
  if (isFirst) process.kill(process.pid, 'SIGSTOP');
  isFirst = false;
  await startRun(trx, { command: 'late', holder, fromDay: null, toDay: null, now: new Date() });
  return 'written';
}).catch((error: unknown) => (error instanceof Error ? error.name : 'unknown'));
process.stdout.write(ended);
await close();
