/** Puts an alert into the outbox. */
import { randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import { noteCondition, type Condition } from '../store/alerts/conditions.ts';
import { putAlert, type StoredAlert } from '../store/alerts/outbox.ts';
import type { DB } from '../store/engine/schema.ts';
import type { Alert, AlertContent, AlertKind } from './alert.ts';

/** Where alerts go and what time it is, for whoever raises one. */
export interface Raising {
  /** The keys of the targets. */
  readonly targets: readonly string[];
  readonly now: Date;
}

/** Stores an alert for each target. Call it in the transaction of what caused it. */
export async function raise(
  trx: Kysely<DB>,
  content: AlertContent,
  { targets, now }: Raising,
): Promise<void> {
  const { kind, runId } = content;
  await putAlert(trx, { id: randomUUID(), kind, runId, content, raisedAt: now }, targets);
}

/** Stores an alert about lasting trouble, if it is due. */
export async function raiseCondition(
  trx: Kysely<DB>,
  condition: Condition,
  content: AlertContent,
  raising: Raising,
): Promise<boolean> {
  const since = await noteCondition(trx, condition, raising.now);
  if (since === null) return false;
  const isReminder = since.getTime() < raising.now.getTime();
  const title = isReminder ? `still: ${content.title}` : content.title;
  await raise(trx, { ...content, title, since }, raising);
  return true;
}

/** An alert as it lies in the outbox. */
export function alertOf({ id, kind, content, raisedAt, runId }: StoredAlert): Alert {
  const stored = content as AlertContent & { readonly since: string | null };
  const since = stored.since === null ? null : new Date(stored.since);
  return { ...stored, id, kind: kind as AlertKind, runId, raisedAt, since };
}
