/** What `prune` deletes of each table, and what stays. */
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { prunableRows, pruneRows, type Pruned } from '../../src/store/prune.ts';
import { freshDatabase, type ServerDatabase } from '../support/database.ts';

const NOW = new Date('2026-06-01T00:00:00Z');
const BEFORE = new Date('2026-01-01T00:00:00Z');
const OLD = new Date('2025-12-31T23:59:59Z');
const YOUNG = BEFORE;

let database: ServerDatabase;
beforeEach(async () => {
  database = await freshDatabase();
});
afterEach(() => database.close());

const asked = { before: BEFORE, now: NOW };
const counts = (rows: readonly { readonly table: Pruned['table']; readonly rows: number }[]) =>
  Object.fromEntries(rows.filter((one) => one.rows > 0).map((one) => [one.table, one.rows]));
/** Counts, deletes what was counted, and finds nothing more. */
async function prune(): Promise<Record<string, number>> {
  const counted = counts(await prunableRows(database.db, asked));
  expect(counts(await prunableRows(database.db, asked))).toEqual(counted);
  expect(counts(await pruneRows(database.db, asked))).toEqual(counted);
  expect(counts(await prunableRows(database.db, asked))).toEqual({});
  return counted;
}

async function run(finishedAt: Date | null, command = 'nightly'): Promise<number> {
  const { id } = await database.db
    .insertInto('run')
    .values({
      command,
      holder: 'h',
      started_at: OLD,
      finished_at: finishedAt,
      exit_code: finishedAt && 0,
      figures: '{"requests": 1}',
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}
const ended = (runId: number, merchantNo: string, exitCode: number, finishedAt = OLD) =>
  database.db
    .insertInto('run_merchant')
    .values({
      merchant_no: merchantNo,
      run_id: runId,
      exit_code: exitCode,
      reads: true,
      finished_at: finishedAt,
    })
    .execute();

test('of how runs ended, each merchant’s last good reading and each job’s last run stay', async () => {
  const first = await run(OLD);
  const second = await run(OLD);
  const open = await run(null, 'run');
  const byHand = await run(OLD, 'resweep');
  const last = await run(YOUNG);
  await ended(first, 'M1', 0);
  await ended(first, 'M2', 3);
  await ended(second, 'M1', 4);
  await ended(second, 'M2', 4);
  await ended(open, 'M1', 0);
  await ended(byHand, 'M1', 0);
  await ended(last, 'M1', 0, YOUNG);
  await ended(last, 'M2', 4, YOUNG);
  // M2 has no good reading after that of the first run.
  expect(await prune()).toEqual({ run_merchant: 2 });
  const left = await database.db
    .selectFrom('run_merchant')
    .select(['run_id', 'merchant_no'])
    .orderBy('run_id')
    .orderBy('merchant_no')
    .execute();
  expect(left.map((row) => [row.run_id, row.merchant_no])).toEqual([
    [first, 'M2'],
    [second, 'M2'],
    [open, 'M1'],
    [byHand, 'M1'],
    [last, 'M1'],
    [last, 'M2'],
  ]);
  expect(await database.db.selectFrom('run').select('id').execute()).toHaveLength(5);
});

test('requests that are done or given up go, and open ones stay', async () => {
  const days = { from_day: '2025-01-01', to_day: '2025-01-02', requested_at: OLD };
  const range = { asked_by: 'backfill', what: 'read', state: 'ended', exit_code: 0, ...days };
  await database.db
    .insertInto('request')
    .values([
      { ...range, number: 1, merchant_no: 'M1', finished_at: OLD },
      { ...range, number: 2, merchant_no: 'M2', state: 'cancelled', exit_code: null, finished_at: OLD },
      { ...range, number: 3, merchant_no: 'M3', finished_at: YOUNG },
      { ...range, number: 4, merchant_no: 'M4', state: 'waiting', exit_code: null },
    ])
    .execute();
  expect(await prune()).toEqual({ request: 2 });
});

test('an unreadable entry goes once the platform no longer sends it, and stays with its note if it was acknowledged', async () => {
  const entry = { merchant_no: 'M1', raw: '{}', reason: 'r', span: '{[1,2)}', first_seen_at: OLD };
  const closed = { acknowledged_at: OLD, note: 'case 4711' };
  await database.db
    .insertInto('quarantined_entry')
    .values([
      { ...entry, fingerprint: 'a', released_at: OLD },
      { ...entry, fingerprint: 'b', released_at: OLD, ...closed },
      { ...entry, fingerprint: 'c', released_at: YOUNG },
      { ...entry, fingerprint: 'd', ...closed },
      { ...entry, fingerprint: 'e' },
    ])
    .execute();
  expect(await prune()).toEqual({ quarantined_entry: 1 });
});

test('a result goes once it is dealt with and its path is closed', async () => {
  const { db } = database;
  const application = (path: string, state: string, changedAt: Date) =>
    db
      .insertInto('application')
      .values({
        mer_order_no: path,
        state,
        notify_hash: path,
        merchant_no: state === 'approved' ? path : null,
        payload_ciphertext: 'v1',
        holder: 'h',
        submitted_at: OLD,
        changed_at: changedAt,
      })
      .execute();
  await application('closed', 'approved', OLD);
  await application('fresh', 'approved', new Date(NOW.getTime() - 86_400_000));
  await application('waits', 'accepted', OLD);
  const post = (path: string, outcome: string | null, more: object = {}) =>
    db
      .insertInto('notification')
      .values({
        id: randomUUID(),
        kind: 'onboarding',
        notify_hash: path,
        body_ciphertext: 'v1',
        received_at: OLD,
        outcome,
        processed_at: outcome === null || outcome === 'waiting' ? null : OLD,
        ...more,
      })
      .execute();
  await post('closed', 'applied');
  await post('closed', 'duplicate');
  await post('closed', 'contradiction', { resolved_at: OLD, note: 'case 4711' });
  const gone = 3;
  await post('closed', 'applied', { processed_at: YOUNG });
  await post('closed', 'contradiction', { resolved_at: YOUNG, note: 'case 4711' });
  await post('closed', 'second-token');
  await post('closed', 'waiting');
  await post('closed', null);
  await post('fresh', 'applied');
  await post('waits', 'applied');
  expect(await prune()).toEqual({ notification: gone });
});

test('an alert goes with what became of it, unless a target waits; what was told of an open break stays', async () => {
  const { db } = database;
  const alert = async (raisedAt: Date, state: string): Promise<void> => {
    const id = randomUUID();
    await db.insertInto('alert').values({ id, kind: 'test', content: '{}', raised_at: raisedAt }).execute();
    await db
      .insertInto('alert_delivery')
      .values({ alert_id: id, target: 'mail', state, try_at: OLD, give_up_at: OLD })
      .execute();
  };
  await alert(OLD, 'sent');
  await alert(OLD, 'waiting');
  await alert(YOUNG, 'sent');
  const fact = (kind: string, subject: string, reportedAt: Date | null) =>
    db
      .insertInto('event')
      .values({ kind, subject, merchant_no: 'M1', data: '{}', at: OLD, reported_at: reportedAt })
      .execute();
  await sql`
    INSERT INTO continuity_break (id, merchant_no, currency, day, before_batch_no, expected_balance, found_balance,
      missing_net, hint, begin_ms, end_ms, status, run_id, found_at)
    OVERRIDING SYSTEM VALUE
    VALUES (7, 'M1', 'USD', '2025-12-01', 'B1', 1, 2, 1, 'unexplained', 1, 2, 'open', ${await run(OLD)}, ${OLD}::timestamptz)`.execute(
    db,
  );
  for (const [kind, subject] of [
    ['new-break', '7'],
    ['new-break', '8'],
    ['amendment', 'USD 2025-12-01 r2'],
    ['key-problem', ''],
    ['revision', 'USD 2025-12-01 r1'],
    ['revision', 'USD 2025-12-01 r2'],
    ['change', 'run 1'],
    ['first', 'USD 2025-12-01'],
  ] as const)
    await fact(kind, subject, OLD);
  await fact('amendment', 'USD 2025-12-01 r3', null);
  await fact('amendment', 'USD 2025-12-01 r4', YOUNG);
  expect(await prune()).toEqual({ alert: 1, event: 4 });
  const left = await db
    .selectFrom('event')
    .select(['kind', 'subject'])
    .orderBy('kind')
    .orderBy('subject')
    .execute();
  expect(left.map(({ kind, subject }) => `${kind} ${subject}`)).toEqual([
    'amendment USD 2025-12-01 r3',
    'amendment USD 2025-12-01 r4',
    'first USD 2025-12-01',
    'key-problem ',
    'new-break 7',
    'revision USD 2025-12-01 r1',
  ]);
  expect(await db.selectFrom('alert_delivery').select('state').orderBy('state').execute()).toEqual([
    { state: 'sent' },
    { state: 'waiting' },
  ]);
});
