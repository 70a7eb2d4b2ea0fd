/** Forms in which one old entry of several pages changes, and the order of a page is another in each call. */
import type { Booking } from '../books.ts';
import type { Form, Planted, Scene, Setting } from '../form.ts';
import { formOf, likeness, middleOf, placesOf, rewriting } from './tools.ts';

const form = formOf('windows and caps');
/** Older days are compared within seven nights. */
const ROUNDS: Setting = {
  honestDays: 18,
  resweepDays: 2,
  perDay: [50, 60],
  currencies: 1,
  nightsAfter: 8,
  order: 'changing',
};
const SAYS_SWAPPED = /number|vanished|no longer|late|revised/i;
const SAYS_MOVED = /amended|timestamp|moved/i;

/** The books themselves have another entry in place of an old one, or none. No balance follows. */
function replaced(scene: Scene, says: RegExp, change: (booking: Booking) => Booking | null): Planted {
  const booking = middleOf(scene, scene.old);
  const now = change(booking);
  return {
    lies: rewriting((books) =>
      books.flatMap((one) => (one.batchNo === booking.batchNo ? (now ?? []) : [one])),
    ),
    where: placesOf(now === null ? [booking] : [booking, now], scene.zone),
    says,
  };
}

const roundForm = (
  name: string,
  lie: string,
  says: RegExp,
  change: (booking: Booking) => Booking | null,
): Form =>
  form(
    name,
    `After 18 days ${lie}; the order of a page changes from call to call.`,
    (scene) => replaced(scene, says, change),
    { setting: ROUNDS },
  );

const later =
  (ms: number) =>
  (booking: Booking): Booking => ({ ...booking, stampMs: booking.stampMs + ms });

export const roundForms: readonly Form[] = [
  roundForm('old-entry-has-another-number', 'an entry has another number', SAYS_SWAPPED, (booking) =>
    likeness(booking),
  ),
  roundForm('old-entry-moved-by-seconds', 'an entry is stamped some seconds later', SAYS_MOVED, later(3_000)),
  roundForm('old-entry-moved-by-a-day', 'an entry is stamped a day later', SAYS_MOVED, later(86_400_000)),
  roundForm('old-type-amended-in-changing-order', 'an entry has another type', /amended/i, (booking) => ({
    ...booking,
    type: 'T9',
  })),
  roundForm('old-entry-gone-in-changing-order', 'an entry is gone', /vanished|no longer/i, () => null),
];
