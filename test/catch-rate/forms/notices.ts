/** Forms of lie: oddities of accepted entries, and a currency that is new. */
import { decimal } from '../books.ts';
import { nobodyCanTell, type Form, type Scene, type Setting } from '../form.ts';
import type { Booking } from '../books.ts';
import type { Line } from '../platform.ts';
import {
  changing,
  changingAll,
  dayEntries,
  formOf,
  hiding,
  middleOf,
  neighboursIn,
  placesOf,
} from './tools.ts';

const form = formOf('notices');
const SAYS_TYPE = /busiType|\btypes?\b/i;
const SAYS_DECIMALS = /decimals|finer|minor unit|digits/i;
const SAYS_START = /missing|first entr|starts? (?:from|at|with)|opening|before it/i;

/** Finer than any of the currencies here. */
const withTail = (line: Line, tail: string): Line => ({
  ...line,
  balance: `${line.balance}${line.balance.includes('.') ? '' : '.'}${tail}`,
});
const amountWith = (line: Line, change: (digits: string) => string): Line =>
  line.credit === 'null' ? { ...line, debit: change(line.debit) } : { ...line, credit: change(line.credit) };

/** Two amounts in a row are finer than the currency, and the balance between them follows. */
function finer(scene: Scene) {
  const [one, two] = neighboursIn(scene);
  const isCredit = ({ net }: Booking): boolean => net > 0;
  // The first adds a thousandth of a minor unit to the balance, the second takes it away again.
  const lessA = (booking: Booking): string => `${decimal(Math.abs(booking.net) - 1, booking.currency)}999`;
  const moreA = (booking: Booking): string => `${decimal(Math.abs(booking.net), booking.currency)}001`;
  return {
    lies: changing([one, two], (line) =>
      line.batchNo === one.batchNo
        ? withTail(
            amountWith(line, () => (isCredit(one) ? moreA(one) : lessA(one))),
            '001',
          )
        : amountWith(line, () => (isCredit(two) ? lessA(two) : moreA(two))),
    ),
    where: placesOf([one, two], scene.zone),
    says: SAYS_DECIMALS,
  };
}

const NEW: Setting = { currencies: 2, newCurrency: true };
const ofNewAccount = ({ books, currencies }: Scene): Booking[] =>
  books.filter(({ currency }) => currency === currencies[1]);

/** The first entries of a new account are hidden. */
const unbegun = (scene: Scene, count: number, reported: 'one night' | 'for good') => {
  const hidden = ofNewAccount(scene).slice(0, count);
  return { lies: hiding(hidden, reported), where: placesOf(hidden, scene.zone), says: SAYS_START };
};

export const noticeForms: readonly Form[] = [
  form('type-emptied', 'The type of a new entry is empty.', (scene) => {
    const booking = middleOf(scene);
    return {
      lies: changing([booking], (line) => ({ ...line, type: '' })),
      where: placesOf([booking], scene.zone),
      says: SAYS_TYPE,
    };
  }),
  form('type-emptied-of-a-day', 'The types of all entries of a new day are empty.', (scene) => {
    const entries = dayEntries(scene);
    return {
      lies: changing(entries, (line) => ({ ...line, type: '' })),
      where: placesOf(entries, scene.zone),
      says: SAYS_TYPE,
    };
  }),
  form('type-emptied-after-it-was-read', 'The type of an entry read before is empty.', (scene) => {
    const booking = middleOf(scene, scene.days[1]);
    return {
      lies: changing([booking], (line) => ({ ...line, type: '' })),
      where: placesOf([booking], scene.zone),
      says: /busiType|\btypes?\b|amended/i,
    };
  }),
  form(
    'types-emptied-from-the-first-reading',
    'Every type is empty from the first reading on.',
    () => ({
      lies: changingAll((line) => ({ ...line, type: '' })),
      where: 'everywhere',
      says: SAYS_TYPE,
    }),
    { setting: { fromTheFirstReading: true } },
  ),
  form(
    'decimals-finer-than-the-currency',
    'Two amounts and the balance between them are finer than the currency.',
    finer,
  ),
  form('balance-finer-than-the-currency', 'One balance has more decimals than its currency.', (scene) => {
    const booking = middleOf(scene);
    return {
      lies: changing([booking], (line) => withTail(line, '4')),
      where: placesOf([booking], scene.zone),
      says: SAYS_DECIMALS,
    };
  }),
  form('amount-finer-than-the-currency', 'One amount has more decimals than its currency.', (scene) => {
    const booking = middleOf(scene);
    return {
      lies: changing([booking], (line) => amountWith(line, (digits) => `${digits}004`)),
      where: placesOf([booking], scene.zone),
      says: SAYS_DECIMALS,
    };
  }),
  form(
    'new-currency-without-its-first-entry',
    'A new currency is shown without its first entry; the merchant has a life in another.',
    (scene) => unbegun(scene, 1, 'for good'),
    { setting: NEW },
  ),
  form(
    'new-currency-without-its-first-entries',
    'A new currency is shown without its first two entries.',
    (scene) => unbegun(scene, 2, 'for good'),
    { setting: NEW },
  ),
  form(
    'new-currency-without-its-first-entry-one-night',
    'In its first night a new currency is shown without its first entry.',
    (scene) => unbegun(scene, 1, 'one night'),
    { setting: NEW },
  ),
  form(
    'new-currency-without-its-first-day',
    'A new currency is shown without its first day.',
    (scene) => {
      const hidden = ofNewAccount(scene).filter(
        (one) => placesOf([one], scene.zone)[0]!.day === scene.target,
      );
      return {
        lies: hiding(hidden),
        where: placesOf(hidden, scene.zone).concat({
          currency: hidden[0]!.currency,
          day: scene.days[scene.days.indexOf(scene.target) + 1]!,
        }),
        says: SAYS_START,
      };
    },
    { setting: NEW },
  ),
  form(
    'new-currency-without-its-first-entry-after-a-life-before',
    'A new currency is shown without its first entry; the merchant has a life in another from before the first reading.',
    (scene) => unbegun(scene, 1, 'for good'),
    { setting: { ...NEW, lifeBefore: true } },
  ),
  form(
    'new-currency-without-its-first-entries-after-a-life-before',
    'A new currency is shown without its first two entries; the merchant has a life from before the first reading.',
    (scene) => unbegun(scene, 2, 'for good'),
    { setting: { ...NEW, lifeBefore: true, nightsAfter: 4 } },
  ),
  form(
    'currency-under-another-code',
    'From the first reading on an account is shown under the code of another currency.',
    (scene) => {
      const [, two] = scene.currencies;
      const gone = ofNewAccount(scene);
      return {
        lies: changing(gone, (line) => ({ ...line, currency: 'XTS' })),
        where: [{ currency: two!, day: scene.target }],
        says: /XTS|currency/i,
      };
    },
    {
      setting: { ...NEW, fromTheFirstReading: true },
      sight: nobodyCanTell('XTS is a code of the standard, and the account is like any other'),
    },
  ),
];
