/** Forms of lie: wrong currencies and types, and entries that change after they were read. */
import { dayOf } from '../../../src/ledger/business-day.ts';
import { nobodyCanTell, type Form, type Setting } from '../form.ts';
import { stampedAt } from './moved.ts';
import {
  accountOf,
  amending,
  changing,
  dayEntries,
  formOf,
  leads,
  middleOf,
  placesOf,
  rewriting,
} from './tools.ts';

const form = formOf('currency and type');
const amended = formOf('amended');
const SAYS_AMENDED = /amended/i;
/**
 * Ten days are read honestly. The oldest is before the days that are read again, and its account is quiet since then.
 */
export const OLD: Setting = { honestDays: 10, resweepDays: 7, perDay: [3, 6] };
export const OLD_AND_QUIET: Setting = { ...OLD, quietFrom: 3, currencies: 2 };
/** For checks that reach every old day within some nights. */
const LONG = { nightsAfter: 5 };

export const currencyForms: readonly Form[] = [
  form(
    'currency-of-another-account',
    'An entry is shown in the currency of another account.',
    (scene) => {
      const booking = middleOf(scene);
      const currency = scene.currencies[1]!;
      const where = placesOf([booking], scene.zone);
      return {
        lies: changing([booking], (line) => ({ ...line, currency })),
        where: [...where, ...where.map((place) => ({ ...place, currency }))],
        says: new RegExp(`${booking.batchNo}[^.]*currency|currency[^.]*${booking.batchNo}`, 'i'),
      };
    },
    { setting: { currencies: 2 } },
  ),
  form('currency-unknown', 'An entry is shown in a currency that does not exist.', (scene) => {
    const booking = middleOf(scene);
    const where = placesOf([booking], scene.zone);
    return {
      lies: changing([booking], (line) => ({ ...line, currency: 'QQQ' })),
      where: [...where, ...where.map((place) => ({ ...place, currency: 'QQQ' }))],
      says: /QQQ.*(?:not in|no list|unknown)|unknown currency|currency[^.]*no list|currency of \S+ is wrong/i,
    };
  }),
  form(
    'type-wrong',
    'An entry is shown with another type from the first reading on.',
    (scene) => {
      const booking = middleOf(scene);
      return {
        lies: changing([booking], (line) => ({ ...line, type: 'T9' })),
        where: placesOf([booking], scene.zone),
        says: /type/i,
      };
    },
    {
      setting: { fromTheFirstReading: true },
      sight: nobodyCanTell('nothing else in the ledger depends on a type'),
    },
  ),
];

export const amendedForms: readonly Form[] = [
  amended('type-amended', 'The type of an entry read before is amended.', (scene) => {
    const booking = middleOf(scene, scene.days[1]);
    return {
      lies: amending([booking], (one) => ({ ...one, type: 'T9' })),
      where: placesOf([booking], scene.zone),
      says: SAYS_AMENDED,
      first: leads(SAYS_AMENDED),
    };
  }),
  amended('type-amended-one-night', 'For one night an entry read before has another type.', (scene) => {
    const booking = middleOf(scene, scene.days[1]);
    return {
      lies: changing([booking], (line) => ({ ...line, type: 'T9' }), 'one night'),
      where: placesOf([booking], scene.zone),
      says: SAYS_AMENDED,
      first: leads(SAYS_AMENDED),
    };
  }),
  amended(
    'amount-amended-balances-follow',
    'An amount read before is amended, and every later balance.',
    (scene) => {
      const booking = middleOf(scene, scene.days[1]);
      return {
        lies: amending([booking], (one) => ({ ...one, net: one.net + 1_234 })),
        where: placesOf([booking], scene.zone),
        says: SAYS_AMENDED,
        first: leads(SAYS_AMENDED),
      };
    },
  ),
  amended('amount-amended-alone', 'An amount read before is amended, and no balance follows.', (scene) => {
    const booking = middleOf(scene, scene.days[1]);
    return {
      lies: rewriting((books) =>
        books.map((one) => (one.batchNo === booking.batchNo ? { ...one, net: one.net + 1_234 } : one)),
      ),
      where: placesOf([booking], scene.zone),
      says: SAYS_AMENDED,
      first: leads(SAYS_AMENDED),
    };
  }),
  amended('day-amended', 'An entry read before is amended to another day.', (scene) => {
    const booking = dayEntries(scene, scene.days[1]).at(-1)!;
    const toMs = booking.stampMs + 86_400_000;
    return {
      lies: changing([booking], (line) => stampedAt(line, toMs, scene.zone)),
      where: [
        ...placesOf([booking], scene.zone),
        { currency: booking.currency, day: dayOf(toMs, scene.zone) },
      ],
      says: SAYS_AMENDED,
      first: leads(SAYS_AMENDED),
    };
  }),
  amended(
    'old-type-amended',
    'After 9 days the type of an entry is amended.',
    (scene) => {
      const booking = middleOf(scene, scene.old);
      return {
        lies: amending([booking], (one) => ({ ...one, type: 'T9' })),
        where: placesOf([booking], scene.zone),
        says: SAYS_AMENDED,
        first: leads(SAYS_AMENDED),
      };
    },
    { setting: { ...OLD, ...LONG } },
  ),
  amended(
    'old-amount-amended-balances-follow-quiet',
    'After 9 days an amount and every later balance are amended, in an account quiet since.',
    (scene) => {
      const booking = middleOf(scene, scene.old);
      return {
        lies: amending([booking], (one) => ({ ...one, net: one.net + 1_234 })),
        where: placesOf([booking], scene.zone),
        says: SAYS_AMENDED,
        first: leads(SAYS_AMENDED),
      };
    },
    { setting: { ...OLD_AND_QUIET, ...LONG } },
  ),
  amended(
    'old-amount-and-balance-amended',
    'After 9 days the amount and the balance of an entry are amended, and no later balance follows.',
    (scene) => {
      const booking = middleOf(scene, scene.old);
      return {
        lies: rewriting((books) =>
          books.map((one) =>
            one.batchNo === booking.batchNo
              ? { ...one, net: one.net + 1_234, balance: one.balance + 1_234 }
              : one,
          ),
        ),
        where: placesOf([booking], scene.zone),
        says: SAYS_AMENDED,
        first: leads(SAYS_AMENDED),
      };
    },
    { setting: { ...OLD, ...LONG } },
  ),
  amended(
    'old-amount-amended-balances-follow-busy',
    'After 9 days an amount and every later balance are amended, in an account that goes on.',
    (scene) => {
      const booking = middleOf(scene, scene.old);
      return {
        lies: amending([booking], (one) => ({ ...one, net: one.net + 1_234 })),
        where: scene.days.map((day) => ({ currency: accountOf(scene), day })),
        says: SAYS_AMENDED,
        first: leads(SAYS_AMENDED),
      };
    },
    { setting: OLD },
  ),
];
