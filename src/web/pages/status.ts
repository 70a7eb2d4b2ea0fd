/** `/status`: how it stands, by the functions that `daybook status` uses. */
import type { FastifyInstance } from 'fastify';
import { statusPage } from '../../pages/status.ts';
import { healthOf, overviewOf } from '../../run/health.ts';
import { statusOf } from '../../run/status.ts';
import { StatusLists } from '../../run/status-lists.ts';
import { addPage, maySee, type PagesContext } from './context.ts';

const MERCHANTS_A_PAGE = 50;

export function addStatus(server: FastifyInstance, context: PagesContext): void {
  addPage(server, context, '/status', async ({ view, person, query }) => {
    const { db, settings, jobs, zone } = context;
    const { platform } = settings;
    if (platform === null) return statusPage(view, null);
    const now = context.now();
    const options = { settings: { ...settings, platform }, jobs, now };
    const { merchants, newSince } = await overviewOf(db, options);
    const after = query('after') ?? '';
    const left = merchants.filter((merchantNo) => merchantNo > after && maySee(person, merchantNo));
    const shown = left.slice(0, MERCHANTS_A_PAGE);
    const statuses = await statusOf(db, shown, { zone, now, maxAgeMs: null, newSince });
    const lists = new StatusLists(zone);
    for (const status of statuses) lists.add(status);
    return statusPage(view, {
      health: person.merchants === null ? await healthOf(db, options) : null,
      merchants: statuses,
      lists: lists.told(statuses),
      next: left.length > shown.length ? shown.at(-1)! : null,
    });
  });
}
