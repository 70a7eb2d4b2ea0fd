/** All alerts of what happened once, in the order in which a run's end reports them. */
import type { Kysely, Transaction } from 'kysely';
import type { AlertContent } from '../../run/alerts.ts';
import type { DB } from '../../store/engine/schema.ts';
import { markEventsReported, type FoundBy } from '../../store/events.ts';
import { breaks } from './breaks.ts';
import { nextUnreported, type Ends, type EventAlert, type Telling, type Unreported } from './event-alert.ts';
import { revisions } from './revisions.ts';
import { tokens } from './tokens.ts';

const EVENT_ALERTS: readonly EventAlert[] = [tokens, revisions, breaks];

export async function noteEvents(trx: Transaction<DB>, ends: Ends, found: FoundBy): Promise<void> {
  for (const { note } of EVENT_ALERTS) await note(trx, ends, found);
}

/** Answers by the kind of events. */
export type Answers = ReadonlyMap<string, unknown>;

/** Asks what is to be known before a run's end. `onProblem`: it cannot be known, which holds up no end. Never rejects. */
export async function askBeforehand(db: Kysely<DB>, onProblem: (error: unknown) => void): Promise<Answers> {
  const answers = new Map<string, unknown>();
  for (const { kind, ask } of EVENT_ALERTS) {
    if (ask === undefined) continue;
    await ask(db).then((answer) => answers.set(kind, answer), onProblem);
  }
  return answers;
}

/** Takes unreported events, in their order, and marks them as reported. Very many take several runs. */
async function takeEvents(
  trx: Transaction<DB>,
  now: Date,
): Promise<(alert: EventAlert) => readonly unknown[]> {
  const unreported = await nextUnreported(
    trx,
    EVENT_ALERTS.map(({ kind }) => kind),
  );
  const taken = Map.groupBy(await markEventsReported(trx, unreported, now), ({ kind }) => kind);
  return ({ kind, orderOf }) => {
    const inOrder = (a: Unreported, b: Unreported): number => (orderOf(a) < orderOf(b) ? -1 : 1);
    return (taken.get(kind) ?? []).sort(inOrder).map(({ shown }) => shown);
  };
}

/** What is said of the events that are reported with this end. */
export async function sayEvents(
  trx: Transaction<DB>,
  now: Date,
  { answers, ...telling }: Omit<Telling, 'answer'> & { readonly answers: Answers },
): Promise<AlertContent[]> {
  const taken = await takeEvents(trx, now);
  return EVENT_ALERTS.flatMap((alert) => {
    const events = taken(alert);
    return events.length === 0 ? [] : alert.say(events, { ...telling, answer: answers.get(alert.kind) });
  });
}
