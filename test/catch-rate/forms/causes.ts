/** Forms of lie whose break has a known cause: entries that vanished, were amended, or cannot be read, and pairs. */
import { balanced, decimal, type Booking } from '../books.ts';
import { nobodyCanTell, type Form, type Planted, type Scene, type Setting } from '../form.ts';
import type { Line } from '../platform.ts';
import { moved } from './amounts.ts';
import {
  changing,
  dayEntries,
  formOf,
  hiding,
  leads,
  likeness,
  middleOf,
  placesOf,
  together,
} from './tools.ts';

const form = formOf('causes of a break');
const MANY: Setting = { perDay: [6, 12] };
const SAYS_GONE = /vanished|no longer/i;
const SAYS_AMENDED = /amended/i;
const SAYS_UNREADABLE = /quarantin|cannot be read|not a number|unreadable/i;
const SAYS_PAIR = /entr(?:y|ies)[^.]*\bmissing\b|missing[^.]*entr(?:y|ies)|payment/i;

/** Of what is known, not guessed, the first sentence must lead with it. */
const planted = (
  scene: Scene,
  bookings: readonly Booking[],
  lies: Planted['lies'],
  says: RegExp,
): Planted => ({
  lies,
  where: placesOf(bookings, scene.zone),
  says,
  first: [SAYS_GONE, SAYS_AMENDED, SAYS_UNREADABLE].includes(says) ? leads(says) : says,
});

const inner = (scene: Scene, day: string): Booking[] => dayEntries(scene, day).slice(1, -1);
const stored = (scene: Scene): Booking[] => inner(scene, scene.days[1]!);
const unreadable = (line: Line): Line =>
  line.credit === 'null' ? { ...line, debit: '"a lot"' } : { ...line, credit: '"a lot"' };

/** A payment and its refund: the second one of two entries is booked as the reverse of the first. */
function payment(scene: Scene, one: Booking, two: Booking) {
  const books = (held: readonly Booking[]): Booking[] =>
    balanced(held.map((each) => (each.batchNo === two.batchNo ? { ...each, net: -one.net } : each)));
  return { books: { books } as Planted['lies'], both: [one, two] as const };
}

function missingPair(scene: Scene, one: Booking, two: Booking, says = SAYS_PAIR): Planted {
  const { books, both } = payment(scene, one, two);
  return planted(scene, both, together(books, hiding(both)), says);
}

export const causeForms: readonly Form[] = [
  form(
    'vanished-two-leave-two-breaks',
    'Two entries of a day read before are gone, apart from each other, and no balance follows.',
    (scene) => {
      const gone = [stored(scene)[0]!, stored(scene).at(-1)!];
      return planted(scene, gone, hiding(gone), SAYS_GONE);
    },
    { setting: MANY },
  ),
  form(
    'vanished-neighbours-leave-one-break',
    'Two entries in a row of a day read before are gone, and no balance follows.',
    (scene) => {
      const gone = stored(scene).slice(0, 2);
      return planted(scene, gone, hiding(gone), SAYS_GONE);
    },
    { setting: MANY },
  ),
  form(
    'vanished-first-of-a-day',
    'The first entry of a day read before is gone, and no balance follows.',
    (scene) => {
      const gone = dayEntries(scene, scene.days[1]).slice(0, 1);
      return planted(scene, gone, hiding(gone), SAYS_GONE);
    },
  ),
  form(
    'vanished-last-of-a-day',
    'The last entry of a day read before is gone, and no balance follows.',
    (scene) => {
      const gone = dayEntries(scene, scene.days[1]).slice(-1);
      return planted(scene, gone, hiding(gone), SAYS_GONE);
    },
  ),
  form(
    'amended-from-credit-to-debit',
    'An entry read before changes its side, and no balance follows.',
    (scene) => {
      const booking = middleOf(scene, scene.days[1]);
      return planted(
        scene,
        [booking],
        changing([booking], (line) => ({ ...line, credit: line.debit, debit: line.credit })),
        SAYS_AMENDED,
      );
    },
  ),
  form('amended-balance', 'The balance of an entry read before is amended.', (scene) => {
    const booking = middleOf(scene, scene.days[1]);
    return planted(
      scene,
      [booking],
      changing([booking], (line) => ({ ...line, balance: moved(line.balance, line.currency, 700) })),
      SAYS_AMENDED,
    );
  }),
  form(
    'amended-amount-of-the-last',
    'The amount of the last entry of a day read before is amended.',
    (scene) => {
      const booking = dayEntries(scene, scene.days[1]).at(-1)!;
      return planted(
        scene,
        [booking],
        changing([booking], (line) => withUnits(line, Math.abs(booking.net) + 900)),
        SAYS_AMENDED,
      );
    },
  ),
  form('unreadable-after-it-was-read', 'An entry read before can no longer be read.', (scene) => {
    const booking = middleOf(scene, scene.days[1]);
    return planted(scene, [booking], changing([booking], unreadable), SAYS_UNREADABLE);
  }),
  form(
    'unreadable-two-of-a-day',
    'Two entries of a new day, apart from each other, cannot be read.',
    (scene) => {
      const entries = inner(scene, scene.target);
      const wrecks = [entries[0]!, entries.at(-1)!];
      return planted(scene, wrecks, changing(wrecks, unreadable), SAYS_UNREADABLE);
    },
    { setting: MANY },
  ),
  form('unreadable-first-of-a-day', 'The first entry of a new day cannot be read.', (scene) => {
    const booking = dayEntries(scene)[0]!;
    return planted(scene, [booking], changing([booking], unreadable), SAYS_UNREADABLE);
  }),
  form('unreadable-whole-day', 'No entry of a new day can be read.', (scene) => {
    const entries = dayEntries(scene);
    return planted(scene, entries, changing(entries, unreadable), SAYS_UNREADABLE);
  }),
  form(
    'missing-payment-and-refund',
    'A payment and its refund, with entries between them, are missing.',
    (scene) => {
      const entries = inner(scene, scene.target);
      return missingPair(scene, entries[0]!, entries.at(-1)!);
    },
    { setting: MANY },
  ),
  form(
    'missing-payment-and-refund-next-day',
    'A payment is missing, and its refund of the next day.',
    (scene) => {
      const next = scene.days[scene.days.indexOf(scene.target) + 1]!;
      return missingPair(scene, inner(scene, scene.target)[0]!, inner(scene, next)[0]!);
    },
    { setting: MANY },
  ),
  form(
    'vanished-payment-and-refund',
    'A payment and its refund, both read before, with entries between them, are gone.',
    (scene) => {
      const [one, two] = [stored(scene)[0]!, stored(scene).at(-1)!];
      const { books } = payment(scene, one, two);
      return planted(scene, [one, two], together(books, hiding([one, two])), SAYS_GONE);
    },
    { setting: MANY },
  ),
  form(
    'missing-three-of-a-day',
    'Three entries of a new day, apart from each other, are missing.',
    (scene) => {
      const gone = dayEntries(scene).filter((_, at) => [1, 3, 5].includes(at));
      return planted(scene, gone, hiding(gone), /entr(?:y|ies) (?:is|are) missing/i);
    },
    { setting: { perDay: [8, 14] } },
  ),
  form('split-after-it-was-read', 'An entry read before becomes two entries of the same sum.', (scene) => {
    const booking = middleOf(scene, scene.days[1]);
    const part = booking.net > 0 ? 1 : -1;
    const rest = likeness(booking, {
      net: booking.net - part,
      atMs: booking.atMs + 1_000,
      stampMs: booking.stampMs + 1_000,
    });
    return planted(
      scene,
      [booking],
      {
        lines: (lines, { since }) =>
          since < 0
            ? lines
            : lines.flatMap((line) =>
                line.batchNo === booking.batchNo
                  ? [
                      { ...withUnits(line, 1), balance: decimal(booking.balance - rest.net, line.currency) },
                      {
                        ...withUnits(line, Math.abs(rest.net)),
                        batchNo: rest.batchNo,
                        stamp: line.stamp,
                      },
                    ]
                  : [line],
              ),
      },
      /amended|late|revised/i,
    );
  }),
  form(
    'merged-after-they-were-read',
    'Two entries read before become one of the same sum.',
    (scene) => {
      const [one, two] = stored(scene);
      const sum = one!.net + two!.net;
      return planted(
        scene,
        [one!, two!],
        together(
          hiding([one!]),
          changing([two!], (line) => ({
            ...line,
            credit: sum > 0 ? decimal(sum, line.currency) : 'null',
            debit: sum > 0 ? 'null' : decimal(-sum, line.currency),
          })),
        ),
        /amended|vanished|no longer/i,
      );
    },
    { setting: MANY },
  ),
  form(
    'merged-before-they-were-read',
    'Two entries in a row of a new day are shown as one of the same sum.',
    (scene) => {
      const [one, two] = inner(scene, scene.target);
      const sum = one!.net + two!.net;
      return planted(
        scene,
        [one!, two!],
        together(
          hiding([one!]),
          changing([two!], (line) => ({
            ...line,
            credit: sum > 0 ? decimal(sum, line.currency) : 'null',
            debit: sum > 0 ? 'null' : decimal(-sum, line.currency),
          })),
        ),
        /missing/i,
      );
    },
    { setting: MANY, sight: nobodyCanTell('one entry of that sum leads to the same balance') },
  ),
  form(
    'last-amount-and-balance-off',
    'The amount and the balance of a day’s last entry are off by the same.',
    (scene) => {
      const booking = dayEntries(scene).at(-1)!;
      const by = booking.net > 0 ? 800 : -800;
      return planted(
        scene,
        [booking],
        changing([booking], (line) => ({
          ...withUnits(line, Math.abs(booking.net) + 800),
          balance: moved(line.balance, line.currency, by),
        })),
        /missing|\boff\b|wrong/i,
      );
    },
  ),
  form('replaced-by-another-number', 'An entry read before has another number.', (scene) => {
    const booking = middleOf(scene, scene.days[1]);
    return planted(
      scene,
      [booking],
      changing([booking], (line) => ({ ...line, batchNo: likeness(booking).batchNo })),
      /number|vanished|no longer/i,
    );
  }),
];

/** The line with another amount on its side. */
function withUnits(line: Line, units: number): Line {
  const text = decimal(units, line.currency);
  return line.credit === 'null' ? { ...line, debit: text } : { ...line, credit: text };
}
