/** Forms of lie: timestamps in another zone than the one daybook is set to. */
import { dayOf } from '../../../src/ledger/business-day.ts';
import type { Form, Planted, Scene, Setting } from '../form.ts';
import type { Booking } from '../books.ts';
import type { Lies } from '../platform.ts';
import { formOf, isReported, type Lasting } from './tools.ts';

const form = formOf('zone');
const SAYS_ZONE = /PLATFORM_TIME_ZONE is|another (?:time )?zone|time zone is wrong|clock change/i;
const everywhere = (lies: Lies, says = SAYS_ZONE): Planted => ({
  lies,
  where: 'everywhere',
  says,
  first: new RegExp(`${says.source}|timestamps?`, 'i'),
});

/** Timestamps are written in another zone, for some entries. */
const writtenIn = (
  zone: string,
  reported: Lasting,
  isOther: (booking: Booking) => boolean,
  scene: Scene,
): Lies => ({
  zoneOf: (booking, at) => (isReported(at, reported) && isOther(booking) ? zone : scene.zone),
});

/** The instant the platform filters by is off. Timestamps are right. */
const filteredOff = (byMs: number): Lies => ({
  lines: (lines, { since }) =>
    since < 0 ? lines : lines.map((line) => ({ ...line, filterMs: line.filterMs + byMs })),
});

const isOdd = ({ batchNo }: Booking): boolean => Number(batchNo.at(-1)) % 2 === 1;
const SHANGHAI: Setting = { zone: 'Asia/Shanghai' };
/** The clock changes on the day that the lie's run reads first. Until then both zones have the same time. */
const SPRING = { honestDays: 3, firstDay: '2026-03-26' };
const AUTUMN = { honestDays: 3, firstDay: '2026-10-22' };

const atChange = (name: string, lie: string, setting: Setting): Form =>
  form(name, lie, () => everywhere({}), { setting });

export const zoneForms: readonly Form[] = [
  form(
    'zone-wrong-from-the-first-reading',
    "The platform's timestamps are in another zone than the one set.",
    () => everywhere({}),
    {
      setting: { zone: 'Asia/Shanghai', platformZone: 'Asia/Tokyo', fromTheFirstReading: true },
    },
  ),
  atChange('zone-fixed-in-spring', 'A fixed offset is set, and the platform’s clock goes forward.', {
    ...SPRING,
    zone: 'Africa/Algiers',
    platformZone: 'Europe/Berlin',
  }),
  atChange('zone-fixed-in-autumn', 'A fixed offset is set, and the platform’s clock goes back.', {
    ...AUTUMN,
    zone: 'Africa/Johannesburg',
    platformZone: 'Europe/Berlin',
  }),
  atChange(
    'zone-changing-in-spring',
    'A zone is set whose clock goes forward, and the platform’s does not.',
    {
      ...SPRING,
      zone: 'Europe/Berlin',
      platformZone: 'Africa/Algiers',
    },
  ),
  atChange('zone-changing-in-autumn', 'A zone is set whose clock goes back, and the platform’s does not.', {
    ...AUTUMN,
    zone: 'Europe/Berlin',
    platformZone: 'Africa/Johannesburg',
  }),
  form(
    'zone-utc-one-night',
    'For one night timestamps are written in UTC.',
    (scene) => everywhere(writtenIn('UTC', 'one night', () => true, scene)),
    { setting: SHANGHAI },
  ),
  form(
    'zone-utc-from-a-night-on',
    'From one night on timestamps are written in UTC.',
    (scene) => everywhere(writtenIn('UTC', 'for good', () => true, scene)),
    { setting: SHANGHAI },
  ),
  form(
    'zone-mixed',
    'From one night on about half of the timestamps are written in a zone an hour off.',
    (scene) => everywhere(writtenIn('Asia/Tokyo', 'for good', isOdd, scene)),
    { setting: SHANGHAI },
  ),
  form(
    'zone-of-one-merchant',
    'From one night on the new timestamps of one of two merchants are written in a zone an hour off.',
    (scene) =>
      everywhere(
        writtenIn(
          'Asia/Tokyo',
          'for good',
          ({ batchNo, stampMs }) => batchNo.startsWith('A') && dayOf(stampMs, scene.zone) >= scene.target,
          scene,
        ),
      ),
    { setting: { ...SHANGHAI, bothMerchants: true }, neverBelieved: true },
  ),
  form(
    'zone-of-one-merchant-one-night',
    'For one night all timestamps of one of two merchants are written in UTC.',
    (scene) => everywhere(writtenIn('UTC', 'one night', ({ batchNo }) => batchNo.startsWith('A'), scene)),
    { setting: { ...SHANGHAI, bothMerchants: true }, neverBelieved: true },
  ),
  form(
    'zone-of-the-filter',
    'Timestamps are right, but entries are found an hour later than they are stamped.',
    () => everywhere(filteredOff(3_600_000), /PLATFORM_TIME_ZONE is|beginDate|filter/i),
    { setting: SHANGHAI },
  ),
];
