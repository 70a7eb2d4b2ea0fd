/** `/changes?since=`: what changed. */
import type { FastifyInstance } from 'fastify';
import { addDays, dayWindow } from '../../ledger/business-day.ts';
import { changesPage } from '../../pages/changes.ts';
import { revisedSince } from '../../store/pages/revised.ts';
import { addPage, type PagesContext } from './context.ts';
import { dayIn } from './day.ts';

const DAYS_BACK = 7;
const REVISIONS_SHOWN_MAX = 100;

export function addChanges(server: FastifyInstance, context: PagesContext): void {
  addPage(server, context, '/changes', async ({ view, person, query, today }) => {
    const given = query('since');
    const since = given === null ? addDays(today, -DAYS_BACK) : dayIn(given);
    const found = await revisedSince(context.db, {
      since: new Date(dayWindow(since, context.zone).beginMs),
      merchants: person.merchants,
      limit: REVISIONS_SHOWN_MAX + 1,
    });
    const revised = found.slice(0, REVISIONS_SHOWN_MAX);
    return changesPage(view, { since, revised, hasMore: found.length > revised.length });
  });
}
