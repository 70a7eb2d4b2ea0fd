/** Forms of lie: entries shown at another time than they were booked. Amounts and balances are true. */
import { dayOf } from '../../../src/ledger/business-day.ts';
import { wallText } from '../../simulation/history-platform.ts';
import type { Booking } from '../books.ts';
import { nobodyCanTell, type Form, type Planted, type Scene } from '../form.ts';
import type { Lies, Line } from '../platform.ts';
import {
  changing,
  dayEntries,
  FIRST_MISSING,
  formOf,
  middleOf,
  neighboursIn,
  placesOf,
  saysGap,
  saysWrong,
  type Lasting,
} from './tools.ts';

const form = formOf('moved in time');
const DAY_MS = 86_400_000;

/** The line with the timestamp of another instant. The platform filters by that instant too. */
export const stampedAt = (line: Line, ms: number, zone: string): Line => ({
  ...line,
  stamp: wallText(ms, zone),
  filterMs: ms,
});

/** Where the entries are, and where they are shown. */
const bothPlaces = (scene: Scene, moved: ReadonlyMap<Booking, number>) => [
  ...placesOf([...moved.keys()], scene.zone),
  ...[...moved].map(([{ currency }, ms]) => ({ currency, day: dayOf(ms, scene.zone) })),
];

function moving(scene: Scene, moved: ReadonlyMap<Booking, number>, reported: Lasting = 'for good'): Planted {
  const byBatchNo = new Map([...moved].map(([{ batchNo }, ms]) => [batchNo, ms]));
  const bookings = [...moved.keys()];
  const lies: Lies = changing(
    bookings,
    (line) => stampedAt(line, byBatchNo.get(line.batchNo)!, scene.zone),
    reported,
  );
  return { lies, where: bothPlaces(scene, moved), says: saysWrong('timestamp', ...bookings) };
}

/** Only the timestamp is wrong. The platform filters by the true time. */
const restamped = (scene: Scene, booking: Booking, ms: number): Planted => ({
  ...moving(scene, new Map([[booking, ms]])),
  lies: changing([booking], (line) => ({ ...line, stamp: wallText(ms, scene.zone) })),
  says: new RegExp(
    `${booking.batchNo} is booked at .* outside the window|${saysWrong('timestamp', booking).source}`,
    'i',
  ),
});

export const movedForms: readonly Form[] = [
  form(
    'stamp-past-a-neighbour',
    'An entry is stamped a few seconds after the entry that follows it.',
    (scene) => {
      const [one, two] = neighboursIn(scene);
      return moving(scene, new Map([[one, two.stampMs + 5_000]]));
    },
  ),
  form(
    'stamp-between-neighbours',
    'An entry is stamped some seconds too late, but before the one that follows it.',
    (scene) => {
      const [one] = neighboursIn(scene);
      return moving(scene, new Map([[one, one.stampMs + 4_000]]));
    },
    {
      sight: nobodyCanTell('the order of the entries stays, and nothing but the timestamp tells the second'),
    },
  ),
  form('stamp-a-day-early', 'An entry is stamped a day too early.', (scene) => {
    const booking = middleOf(scene);
    return moving(scene, new Map([[booking, booking.stampMs - DAY_MS]]));
  }),
  form('stamp-a-day-late', 'An entry is stamped a day too late.', (scene) => {
    const booking = middleOf(scene);
    const planted = moving(scene, new Map([[booking, booking.stampMs + DAY_MS]]));
    // The day it is shown on is not read yet. In that night it cannot be told from a missing entry.
    const says = new RegExp(`${planted.says.source}|${saysGap(scene, booking).source}`, 'i');
    return { ...planted, says, first: new RegExp(`${planted.says.source}|${FIRST_MISSING.source}`, 'i') };
  }),
  form(
    'stamp-text-of-another-day',
    'An entry is found on its day, but its timestamp says the day before.',
    (scene) => {
      const booking = middleOf(scene);
      return restamped(scene, booking, booking.stampMs - DAY_MS);
    },
  ),
  form(
    'stamp-text-past-a-neighbour',
    'An entry is found at its time, but its timestamp is past its neighbour’s.',
    (scene) => {
      const [one, two] = neighboursIn(scene);
      return restamped(scene, one, two.stampMs + 5_000);
    },
  ),
  form('stamps-swapped', 'Two entries in a row have each other’s timestamps.', (scene) => {
    const [one, two] = neighboursIn(scene);
    return moving(
      scene,
      new Map([
        [one, two.stampMs],
        [two, one.stampMs],
      ]),
    );
  }),
  form(
    'stamps-swapped-across-midnight',
    'A day’s last entry and the next day’s first have swapped timestamps.',
    (scene) => {
      const before = scene.days[scene.days.indexOf(scene.target) - 1]!;
      const one = dayEntries(scene, before).at(-1)!;
      const two = dayEntries(scene)[0]!;
      const planted = moving(
        scene,
        new Map([
          [one, two.stampMs],
          [two, one.stampMs],
        ]),
      );
      // The first of them was read before, at its own time.
      return { ...planted, first: new RegExp(`${planted.says.source}|amended`, 'i') };
    },
  ),
  form(
    'stamps-all-of-a-day-equal',
    'Every entry of a day is stamped with the same second.',
    (scene) => {
      const entries = dayEntries(scene);
      const at = entries[0]!.stampMs;
      return moving(scene, new Map(entries.map((booking) => [booking, at])));
    },
    { sight: nobodyCanTell('entries of one second happen, and their balances tell the true order') },
  ),
];
