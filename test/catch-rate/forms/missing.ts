/** Forms of lie: entries that are booked and never shown. Totals fit what is shown. */
import { balanced, type Booking } from '../books.ts';
import { nobodyCanTell, type Form, type Scene, type Setting, type AccountView } from '../form.ts';
import {
  accountOf,
  dayEntries,
  FIRST_MISSING,
  formOf,
  hiding,
  middleOf,
  neighboursIn,
  placesOf,
  SAYS_MISSING,
  saysGap,
  type Lasting,
} from './tools.ts';
import { BUSY } from './totals.ts';

const form = formOf('missing');

/** A form that hides the entries that `choose` picks. */
function missing(
  name: string,
  lie: string,
  choose: (scene: Scene) => readonly Booking[],
  more: {
    readonly reported?: Lasting;
    readonly sight?: AccountView;
    readonly setting?: Setting;
    /** True if daybook should name the one missing entry by the entries around it. */
    readonly isGapTold?: boolean;
    /** What daybook should say first, if not that entries are missing. */
    readonly isGone?: RegExp;
  } = {},
): Form {
  const { reported, isGapTold, isGone, ...rest } = more;
  const plant = (scene: Scene) => {
    const hidden = choose(scene);
    const says = isGone ?? (isGapTold === true ? saysGap(scene, hidden[0]!) : SAYS_MISSING);
    const first = isGone ?? FIRST_MISSING;
    return { lies: hiding(hidden, reported), where: placesOf(hidden, scene.zone), says, first };
  };
  return form(name, lie, plant, rest);
}

const ofAccount = (scene: Scene): Booking[] =>
  scene.books.filter(({ currency }) => currency === accountOf(scene));

/** Two neighbours whose amounts cancel out. Without them no balance changes. */
const zeroNet: Form = form(
  'missing-zero-net-pair',
  'Two entries that cancel each other are left out together.',
  (scene) => {
    const [one, two] = neighboursIn(scene);
    const gone = new Set([one.batchNo, two.batchNo]);
    return {
      lies: {
        books: (books) =>
          balanced(
            books.map((booking) =>
              booking.batchNo === two.batchNo ? { ...booking, net: -one.net } : booking,
            ),
          ),
        lines: (lines, { since }) => (since >= 0 ? lines.filter(({ batchNo }) => !gone.has(batchNo)) : lines),
      },
      where: placesOf([one, two], scene.zone),
      says: SAYS_MISSING,
    };
  },
  { sight: nobodyCanTell('the balances before and after them are the same, and so is every total') },
);

export const missingForms: readonly Form[] = [
  missing(
    'missing-first-of-day',
    "A day's first entry is left out.",
    (scene) => dayEntries(scene).slice(0, 1),
    { isGapTold: true },
  ),
  missing('missing-middle', 'An entry in the middle of a day is left out.', (scene) => [middleOf(scene)], {
    isGapTold: true,
  }),
  missing('missing-last-of-day', "A day's last entry is left out for good.", (scene) =>
    dayEntries(scene).slice(-1),
  ),
  missing(
    'missing-whole-day-busy-one-night',
    'After four busy weeks a whole day of one account is left out in the night it is read first.',
    (scene) => dayEntries(scene),
    { reported: 'one night', setting: { ...BUSY, currencies: 2 } },
  ),
  missing(
    'missing-last-one-night',
    "A day's last entry is left out in the night the day is read first.",
    (scene) => dayEntries(scene).slice(-1),
    { reported: 'one night' },
  ),
  missing(
    'missing-very-first',
    "The account's very first entry is never shown.",
    (scene) => ofAccount(scene).slice(0, 1),
    { setting: { fromTheFirstReading: true } },
  ),
  missing(
    'missing-very-last',
    "The account's very last entry is never shown: nothing is booked after it.",
    (scene) => ofAccount(scene).slice(-1),
    {
      setting: { quietFrom: 4, honestDays: 3 },
      sight: nobodyCanTell('no later entry starts from the balance it left'),
    },
  ),
  missing('missing-two-neighbours', 'Two entries in a row are left out.', neighboursIn),
  missing(
    'missing-two-apart',
    'Two entries of a day with others between them are left out.',
    (scene) => [dayEntries(scene)[1]!, dayEntries(scene).at(-2)!],
    { setting: { perDay: [5, 12] } },
  ),
  zeroNet,
  missing('missing-all-debits', "All of a day's debits are left out.", (scene) =>
    debitsOrSome(dayEntries(scene)),
  ),
  missing('missing-whole-day', 'A whole day of one account is left out for good.', (scene) =>
    dayEntries(scene),
  ),
  missing(
    'missing-whole-day-one-night',
    'A whole day of one account is left out in the night it is read first.',
    (scene) => dayEntries(scene),
    { reported: 'one night' },
  ),
  missing(
    'missing-currency-from-a-day-on',
    'From one night on, nothing of a currency is shown any more, earlier days included.',
    ofAccount,
    {
      setting: { currencies: 2 },
      isGone: /no longer shown, and nothing in [A-Z]{3} of that time or later is/,
    },
  ),
  missing('missing-currency-always', 'A currency is never shown at all.', ofAccount, {
    setting: { currencies: 2, fromTheFirstReading: true },
    sight: nobodyCanTell('an account that never shows is no account to anyone'),
  }),
];

const debitsOrSome = (entries: readonly Booking[]): Booking[] => {
  const debits = entries.filter(({ net }) => net < 0);
  return debits.length > 0 && debits.length < entries.length ? debits : entries.slice(0, 2);
};
