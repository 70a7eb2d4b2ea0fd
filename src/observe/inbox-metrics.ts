/** The inbox of pushed results as metrics. */
import type { InboxCounts } from '../store/fleet-counts.ts';
import { only, seconds, type StateMetric } from './sample.ts';
import type { State } from './state.ts';

const ofInbox =
  (value: (inbox: InboxCounts, at: Date) => number | null): StateMetric['samples'] =>
  ({ inbox, at }: State) =>
    only(inbox && value(inbox, at));

export const INBOX_METRICS: readonly StateMetric[] = [
  {
    name: 'daybook_inbox_waiting',
    help: 'Pushed results that are not processed yet, or wait for the reply to our own request.',
    samples: ofInbox(({ waiting }) => waiting),
  },
  {
    name: 'daybook_inbox_oldest_age_seconds',
    help: 'How long the oldest of these has been waiting; 0 where none waits.',
    samples: ofInbox(({ oldestAt }, at) =>
      oldestAt === null ? 0 : seconds(at.getTime() - oldestAt.getTime()),
    ),
  },
  {
    name: 'daybook_inbox_waiting_bytes',
    help: 'How much these take in the database, encrypted.',
    samples: ofInbox(({ waitingBytes }) => waitingBytes),
  },
  {
    name: 'daybook_inbox_needs_person',
    help: 'Pushed results that a person has to check: contradictions, second tokens, and unreadable posts.',
    samples: ofInbox(({ needsPerson }) => needsPerson),
  },
  {
    name: 'daybook_inbox_unknown',
    help: 'Posts by paths that were never issued, as far as they are kept.',
    samples: ofInbox(({ unknown }) => unknown),
  },
];
