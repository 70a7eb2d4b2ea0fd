/** Forms of lie: windows cut otherwise than asked for, and clocks that change at another time than the zone's. */
import { dayWindow } from '../../../src/ledger/business-day.ts';
import type { Booking } from '../books.ts';
import { nobodyCanTell, type Form, type Planted, type Scene, type Setting } from '../form.ts';
import type { Call, Lies } from '../platform.ts';
import { stampedAt } from './moved.ts';
import { accountOf, answering, changing, dayEntries, formOf, placesOf, type Lasting } from './tools.ts';

const form = formOf('zone');
const SAYS_ZONE = /PLATFORM_TIME_ZONE|\bzone\b|clock change|outside the window|timestamp/i;
const SAYS_DATES = /ignores?|outside|beginDate|endDate|\bwindow/i;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const SPRING: Setting = { zone: 'Europe/Berlin', honestDays: 3, firstDay: '2026-03-26' };
const AUTUMN: Setting = { zone: 'Europe/Berlin', honestDays: 3, firstDay: '2026-10-22' };
const SHANGHAI: Setting = { zone: 'Asia/Shanghai' };

/** Timestamps of some entries in another zone, whatever they are filtered by. */
const writtenIn = (
  zone: string,
  scene: Scene,
  isMeant: (booking: Booking) => boolean,
  says = SAYS_ZONE,
): Planted => ({
  lies: { zoneOf: (booking, { since }) => (since >= 0 && isMeant(booking) ? zone : scene.zone) },
  where: 'everywhere',
  says,
});
const inTarget = (scene: Scene) => {
  const { beginMs, endMs } = dayWindow(scene.target, scene.zone);
  return ({ stampMs }: Booking): boolean => stampMs >= beginMs && stampMs <= endMs;
};

/** The window of a call is cut otherwise. */
const cut = (change: (call: Call) => Call, reported: Lasting = 'for good'): Lies =>
  answering((_, call, ask) => ask(change(call)), reported);

/** The day's last entry, or first, stands on the edge of the day. */
function onEdge(scene: Scene, booking: Booking, ms: number, lies: Lies): Planted {
  const at = changing([booking], (line) => stampedAt(line, ms, scene.zone));
  return {
    lies: {
      books: (books) =>
        books.map((one) => (one.batchNo === booking.batchNo ? { ...one, atMs: ms, stampMs: ms } : one)),
      reply: lies.reply!,
      lines: at.lines!,
    },
    where: placesOf([{ ...booking, stampMs: ms }], scene.zone),
    says: /missing|late|vanished|window|edge|endDate|beginDate|not steady|contradict|different/i,
  };
}

export const dstForms: readonly Form[] = [
  form(
    'dst-spring-a-day-late',
    'On the day of the change in spring timestamps still have the old offset.',
    (scene) => writtenIn('Africa/Lagos', scene, inTarget(scene)),
    { setting: SPRING },
  ),
  form(
    'dst-autumn-a-day-late',
    'On the day of the change in autumn timestamps still have the old offset.',
    (scene) => writtenIn('Africa/Johannesburg', scene, inTarget(scene)),
    { setting: AUTUMN },
  ),
  form(
    'dst-by-the-rule-of-another-country',
    "Timestamps change to summer time by another country's rule, weeks too early.",
    (scene) =>
      writtenIn(
        'Africa/Johannesburg',
        scene,
        ({ stampMs }) => stampMs >= dayWindow(scene.target, scene.zone).beginMs,
      ),
    { setting: { zone: 'Europe/Berlin', firstDay: '2026-03-09' } },
  ),
  form(
    'dst-of-half-an-hour',
    "The platform's clock changes by an hour where the zone set changes by half of one.",
    () => ({ lies: {}, where: 'everywhere', says: SAYS_ZONE }),
    {
      setting: {
        zone: 'Australia/Lord_Howe',
        platformZone: 'Australia/Sydney',
        firstDay: '2026-04-01',
        honestDays: 3,
      },
    },
  ),
  form(
    'dst-not-on-old-days',
    'After the change in spring all timestamps are written with the new offset, earlier days too.',
    (scene) => writtenIn('Africa/Johannesburg', scene, () => true),
    { setting: SPRING },
  ),
  form(
    'zone-half-an-hour-off-in-one-account',
    'Timestamps of one account are half an hour off.',
    (scene) => writtenIn('Asia/Pyongyang', scene, ({ currency }) => currency === accountOf(scene)),
    { setting: { ...SHANGHAI, currencies: 2 } },
  ),
  form(
    'window-end-left-out',
    'The last second of a window is not answered, and an entry stands there.',
    (scene) => {
      const { endMs } = dayWindow(scene.target, scene.zone);
      return onEdge(
        scene,
        dayEntries(scene).at(-1)!,
        endMs - 999,
        cut((call) => ({ ...call, endMs: call.endMs - 1_000 })),
      );
    },
  ),
  form(
    'window-begin-left-out',
    'The first second of a window is not answered, and an entry stands there.',
    (scene) => {
      const { beginMs } = dayWindow(scene.target, scene.zone);
      return onEdge(
        scene,
        dayEntries(scene)[0]!,
        beginMs,
        cut((call) => ({ ...call, beginMs: call.beginMs + 1_000 })),
      );
    },
  ),
  form(
    'window-cut-to-minutes',
    'The end of a window is rounded down to a minute, and an entry stands behind it.',
    (scene) => {
      const { endMs } = dayWindow(scene.target, scene.zone);
      return onEdge(
        scene,
        dayEntries(scene).at(-1)!,
        endMs - 19_999,
        cut((call) => ({ ...call, endMs: Math.floor(call.endMs / MINUTE_MS) * MINUTE_MS - 1 })),
      );
    },
  ),
  form(
    'window-widened-to-whole-days',
    'From one night on windows are widened to whole days of UTC.',
    () => ({
      lies: cut((call) => ({
        ...call,
        beginMs: Math.floor(call.beginMs / (24 * HOUR_MS)) * 24 * HOUR_MS,
        endMs: Math.ceil((call.endMs + 1) / (24 * HOUR_MS)) * 24 * HOUR_MS - 1,
      })),
      where: 'everywhere',
      says: SAYS_DATES,
    }),
    { setting: SHANGHAI },
  ),
  form(
    'window-an-hour-early',
    'From one night on windows are answered as if they were an hour earlier.',
    () => ({
      lies: cut((call) => ({ ...call, beginMs: call.beginMs - HOUR_MS, endMs: call.endMs - HOUR_MS })),
      where: 'everywhere',
      says: new RegExp(`${SAYS_DATES.source}|zone|hour|contradict|not steady`, 'i'),
    }),
    { setting: SHANGHAI },
  ),
  form(
    'evening-stamped-next-day',
    'Entries of the last two hours of a day are stamped and found on the next day.',
    (scene) => {
      const { endMs } = dayWindow(scene.target, scene.zone);
      const entries = dayEntries(scene).slice(-2);
      return {
        lies: changing(entries, (line) => ({
          ...stampedAt(line, endMs + 1_000, scene.zone),
        })),
        where: [
          ...placesOf(entries, scene.zone),
          { currency: accountOf(scene), day: scene.days[scene.days.indexOf(scene.target) + 1]! },
        ],
        says: /timestamp|missing|stamped|late|booked at/i,
      };
    },
    {
      sight: nobodyCanTell(
        'the order of the entries stays, and nothing but the timestamp says which day they are of',
      ),
    },
  ),
  form(
    'date-of-the-year-before',
    'The timestamps of a new day are of the year before.',
    (scene) => ({
      lies: changing(dayEntries(scene), (line) => ({
        ...line,
        stamp: `${Number(line.stamp.slice(0, 4)) - 1}${line.stamp.slice(4)}`,
      })),
      where: [{ currency: accountOf(scene), day: scene.target }],
      says: /outside the window|zone|timestamp|year|busiDate/i,
    }),
    { setting: { firstDay: '2026-05-11' } },
  ),
];
