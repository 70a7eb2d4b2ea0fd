/** What ran, when, over which days and how it ended. */
import type { Kysely } from 'kysely';
import type { BusinessDay } from '../ledger/entry.ts';
import { storableText } from '../ledger/text.ts';
import type { DB, JsonObject } from './schema.ts';

export interface RunRow {
  readonly id: number;
  readonly command: string;
  /** Wall-clock time a scheduled job was due at; null where a person started it. */
  readonly slot: string | null;
  readonly holder: string;
  readonly fromDay: BusinessDay | null;
  readonly toDay: BusinessDay | null;
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
  /** Null while running, or when the process was killed. */
  readonly exitCode: number | null;
  readonly figures: JsonObject;
}

const COLUMNS = [
  'id',
  'command',
  'slot',
  'holder',
  'from_day as fromDay',
  'to_day as toDay',
  'started_at as startedAt',
  'finished_at as finishedAt',
  'exit_code as exitCode',
  'figures',
] as const;

/** Records the start; returns the run's id, under which everything it writes is filed. */
export async function startRun(
  db: Kysely<DB>,
  run: {
    readonly command: string;
    readonly slot?: string | null;
    readonly holder: string;
    readonly fromDay: BusinessDay | null;
    readonly toDay: BusinessDay | null;
    readonly now: Date;
  },
): Promise<number> {
  const { id } = await db
    .insertInto('run')
    .values({
      command: run.command,
      slot: run.slot ?? null,
      holder: run.holder,
      from_day: run.fromDay,
      to_day: run.toDay,
      started_at: run.now,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

/** Records the end. No text in the figures keeps it from being recorded: what cannot be stored is replaced. */
export async function finishRun(
  db: Kysely<DB>,
  id: number,
  end: { readonly exitCode: number; readonly figures: object; readonly now: Date },
): Promise<void> {
  await db
    .updateTable('run')
    .set({ exit_code: end.exitCode, figures: storableJson(end.figures), finished_at: end.now })
    .where('id', '=', id)
    .execute();
}

const storableJson = (figures: object): string =>
  JSON.stringify(figures, (_, value: unknown) => (typeof value === 'string' ? storableText(value) : value));

export async function runById(db: Kysely<DB>, id: number): Promise<RunRow | undefined> {
  const row = await db.selectFrom('run').select(COLUMNS).where('id', '=', id).executeTakeFirst();
  return row as RunRow | undefined;
}

/** Newest first; `scheduled`: only those the schedule started. */
export async function latestRuns(
  db: Kysely<DB>,
  {
    limit,
    command,
    scheduled = false,
  }: {
    readonly limit: number;
    readonly command?: string | undefined;
    readonly scheduled?: boolean;
  },
): Promise<RunRow[]> {
  const rows = await db
    .selectFrom('run')
    .select(COLUMNS)
    .$if(command !== undefined, (query) => query.where('command', '=', command!))
    .$if(scheduled, (query) => query.where('slot', 'is not', null))
    .orderBy('started_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
  return rows as unknown as RunRow[];
}

/** Every run a schedule started for one slot of a job. */
export async function runsOfSlot(db: Kysely<DB>, command: string, slot: string): Promise<RunRow[]> {
  const rows = await db
    .selectFrom('run')
    .select(COLUMNS)
    .where('slot', '=', slot)
    .where('command', '=', command)
    .execute();
  return rows as unknown as RunRow[];
}
