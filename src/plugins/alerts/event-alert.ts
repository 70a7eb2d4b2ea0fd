/** An alert of what happened once: an event, stored with the ends of merchants and reported with the end of a run. */
import { sql, type Kysely, type Transaction } from 'kysely';
import { NAMED_MAX, type AlertContent, type RunAlerts } from '../../run/alerts.ts';
import { arrayLiteral } from '../../store/engine/database.ts';
import type { DB } from '../../store/engine/schema.ts';
import type { EventKey, FoundBy } from '../../store/events.ts';

/** Merchants whose ends are recorded. */
export type Ends = Parameters<RunAlerts['noteEnds']>[1];

/** The end of a run that tells of events. */
export interface Telling {
  readonly runId: number;
  readonly zone: string;
  /** What `ask` answered; undefined where it was not asked, or could not be. */
  readonly answer: unknown;
}

export interface EventAlert {
  /** The kind of its events. */
  readonly kind: string;
  /** Stores the events of these ends, in the transaction that records them. */
  readonly note: (trx: Transaction<DB>, ends: Ends, found: FoundBy) => Promise<void>;
  /** Events are reported in the order of these texts. */
  readonly orderOf: (event: EventKey) => string;
  /** Asks what a run's end must not wait for, before it. Throws what the database throws. */
  readonly ask?: (db: Kysely<DB>) => Promise<unknown>;
  /** The alerts of events that are reported together, one or more, each given by its data. */
  readonly say: (events: readonly unknown[], telling: Telling) => readonly AlertContent[];
}

/** So many of a kind are reported at once. The next run reports the rest. */
const REPORTED_AT_ONCE_MAX = 10_000;

export interface Unreported extends EventKey {
  readonly shown: unknown;
}

export async function nextUnreported(db: Kysely<DB>, kinds: readonly string[]): Promise<Unreported[]> {
  const { rows } = await sql<Unreported>`
    SELECT next.* FROM unnest(${arrayLiteral(kinds)}::text[]) AS asked (kind) CROSS JOIN LATERAL (
      SELECT kind, merchant_no AS "merchantNo", subject, data AS shown FROM event
      WHERE kind = asked.kind AND reported_at IS NULL ORDER BY at, merchant_no, subject LIMIT ${REPORTED_AT_ONCE_MAX}
    ) AS next`.execute(db);
  return rows;
}

/** Whose days a run's alert is about, the first of them by name. */
export function foundBy(
  runId: number,
  all: readonly { readonly merchantNo: string; readonly day?: string }[],
) {
  const merchants = [...new Set(all.map(({ merchantNo }) => merchantNo))];
  const days = [...new Set(all.flatMap(({ day }) => day ?? []))].sort();
  return {
    ...{ merchants: merchants.slice(0, NAMED_MAX), merchantCount: merchants.length },
    ...{ days: days.slice(0, NAMED_MAX), since: null, runId },
  };
}
