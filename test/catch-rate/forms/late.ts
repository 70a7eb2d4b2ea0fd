/** Forms in which the books themselves change: entries that come late, and entries that vanish. */
import { balanced, type Booking } from '../books.ts';
import type { Form, Planted, Scene } from '../form.ts';
import type { Lies } from '../platform.ts';
import { OLD, OLD_AND_QUIET } from './changed.ts';
import {
  accountOf,
  amending,
  dayEntries,
  formOf,
  hiding,
  leads,
  likeness,
  middleOf,
  placesOf,
  rewriting,
} from './tools.ts';

const form = formOf('late and vanished');
const SAYS_LATE = /\blate\b|revised|came (?:to it )?after/i;
const SAYS_VANISHED = /vanished|no longer|gone all at the same time/i;

/** An entry that is booked late, after another one of the day. Later balances follow. */
function late(scene: Scene, after: Booking): Planted {
  const atMs = after.atMs + 4_000;
  const booking = likeness(after, { net: 3_333, atMs, stampMs: atMs });
  return {
    lies: rewriting((books) => balanced([...books, booking])),
    where: placesOf([booking], scene.zone),
    says: SAYS_LATE,
  };
}

const gone = (scene: Scene, bookings: readonly Booking[]): Planted => ({
  lies: amending(bookings, () => null),
  where: placesOf(bookings, scene.zone),
  says: SAYS_VANISHED,
  first: leads(SAYS_VANISHED),
});

/** The entries are removed from the books, but no balance changes. */
const goneAlone = (scene: Scene, bookings: readonly Booking[]): Planted => {
  const batchNos = new Set(bookings.map(({ batchNo }) => batchNo));
  const lies: Lies = rewriting((books) => books.filter(({ batchNo }) => !batchNos.has(batchNo)));
  return { lies, where: placesOf(bookings, scene.zone), says: SAYS_VANISHED, first: leads(SAYS_VANISHED) };
};

/** Within the days read again, in an account that is quiet since. So the entry itself is all that is new. */
const QUIET = { honestDays: 4, quietFrom: 2, currencies: 2 };

export const lateForms: readonly Form[] = [
  form(
    'late-within-quiet',
    'An entry comes late, within the re-sweep, after the last one of a quiet account.',
    (scene) => late(scene, dayEntries(scene, scene.days[1]).at(-1)!),
    { setting: QUIET },
  ),
  form('late-within-busy', 'An entry comes late, within the re-sweep, and later balances follow.', (scene) =>
    late(scene, middleOf(scene, scene.days[1])),
  ),
  form(
    'late-beyond-quiet',
    'An entry comes after 9 days, in an account quiet since.',
    (scene) => late(scene, dayEntries(scene, scene.old).at(-1)!),
    { setting: OLD_AND_QUIET },
  ),
  form(
    'late-beyond-busy',
    'An entry comes after 9 days, in an account that goes on; later balances follow.',
    (scene) => ({
      ...late(scene, middleOf(scene, scene.old)),
      says: /\blate\b|amended/i,
      where: scene.days.map((day) => ({ currency: accountOf(scene), day })),
    }),
    { setting: OLD },
  ),
  form('vanished-within', 'An entry read before is gone, and later balances follow.', (scene) =>
    gone(scene, [middleOf(scene, scene.days[1])]),
  ),
  form('vanished-within-alone', 'An entry read before is gone, and no balance follows.', (scene) =>
    goneAlone(scene, [middleOf(scene, scene.days[1])]),
  ),
  form('vanished-one-night', 'For one night an entry read before is not there.', (scene) => {
    const bookings = [middleOf(scene, scene.days[1])];
    return { ...goneAlone(scene, bookings), lies: hiding(bookings, 'one night') };
  }),
  form('vanished-day-within', 'A whole day read before is gone, and no balance follows.', (scene) =>
    goneAlone(scene, dayEntries(scene, scene.days[1])),
  ),
  form(
    'vanished-beyond-quiet',
    'After 9 days an entry is gone and later balances follow, in an account quiet since.',
    (scene) => gone(scene, [middleOf(scene, scene.old)]),
    { setting: OLD_AND_QUIET },
  ),
  form(
    'vanished-beyond-alone',
    'After 9 days an entry is gone, and no balance follows.',
    (scene) => goneAlone(scene, [middleOf(scene, scene.old)]),
    { setting: OLD },
  ),
  form(
    'vanished-day-beyond',
    'After 9 days a whole day is gone, and no balance follows.',
    (scene) => goneAlone(scene, dayEntries(scene, scene.old)),
    { setting: OLD },
  ),
];
