/** `/status`: how it stands, by the functions that `daybook status` uses. */
import { ownBooksSlot } from '../../../months/own-books.ts';
import { statusPage } from '../html/status.ts';
import { ageOf, CheckedBeyond, remarksOf, zoneRemark, StatusLists } from '../../../run/status-text.ts';
import { alertsOf } from '../../../run/alerts.ts';
import { unmailedOf } from '../../../run/statement-mail.ts';
import { healthOf, overviewOf } from '../../../run/health.ts';
import { oldestMs } from '../../../run/schedule/due.ts';
import { statusOf } from '../../../run/status.ts';
import { maySee, type Asked, type PagesContext, PageRefusal, type MakePage, withNames } from './context.ts';

const MERCHANTS_A_PAGE = 50;

export const showStatus: MakePage = async (context, asked) => {
  const { view, person, query } = asked;
  const { db, settings, jobs, zone } = context;
  const { platform } = settings;
  if (platform === null) return statusPage(view, null);
  const now = context.now();
  const maxAgeMs = maxAgeIn(asked, context, now);
  const options = { settings: { ...settings, platform }, jobs, now };
  const { merchants, newSince } = await overviewOf(db, options);
  const after = query('after') ?? '';
  const left = merchants.filter((merchantNo) => merchantNo > after && maySee(person, merchantNo));
  const shown = left.slice(0, MERCHANTS_A_PAGE);
  const statuses = await statusOf(db, shown, { zone, now, maxAgeMs, newSince });
  const checked = new CheckedBeyond();
  for (const status of statuses) checked.add(status);
  const lists = new StatusLists(zone);
  for (const status of statuses) lists.add(status);
  const health = person.merchants === null ? await healthOf(db, options) : null;
  const alerts = health && (await alertsOf(settings));
  return statusPage(await withNames(context, view, shown), {
    ...{ health, maxAgeMs, checked: checked.lines() },
    remarks:
      health === null
        ? []
        : remarksOf(health, alerts && (await alerts.undelivered(db)), await unmailedOf(db, settings), zone),
    zoneRemark: zoneRemark(platform.timeZoneProof),
    merchants: statuses,
    lists: lists.of(statuses),
    hasBooks: ownBooksSlot.part() !== null,
    next: left.length > shown.length ? shown.at(-1)! : null,
  });
};

/** The age asked for; else that at which a scheduled run counts as missed. Throws `PageRefusal`. */
function maxAgeIn({ query }: Asked, { settings: { schedule } }: PagesContext, now: Date): number {
  const given = query('max-age');
  if (given === null) return oldestMs(schedule, now);
  const ageMs = ageOf(given);
  if (ageMs === null) throw new PageRefusal(400);
  return ageMs;
}
