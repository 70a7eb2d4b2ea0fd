/** Forms of lie: amounts other than what was booked. Times and balances are true, except in the last form. */
import { balanced, decimal, unitsOf, type Booking } from '../books.ts';
import { nobodyCanTell, OWN, type Form, type Planted, type Scene } from '../form.ts';
import type { Line } from '../platform.ts';
import { changing, dayEntries, formOf, middleOf, neighboursIn, placesOf, saysWrong } from './tools.ts';

const form = formOf('amounts');

/** The line with another amount, as the credit or debit it was. */
const withNet = (line: Line, net: number): Line => ({
  ...line,
  credit: net > 0 ? decimal(net, line.currency) : 'null',
  debit: net > 0 ? 'null' : decimal(-net, line.currency),
});

const withText = (line: Line, change: (digits: string) => string): Line =>
  line.credit === 'null' ? { ...line, debit: change(line.debit) } : { ...line, credit: change(line.credit) };

function wrongAmount(scene: Scene, change: (line: Line, booking: Booking) => Line): Planted {
  const booking = middleOf(scene);
  return {
    lies: changing([booking], (line) => change(line, booking)),
    where: placesOf([booking], scene.zone),
    says: saysWrong('amount', booking),
  };
}

export const amountForms: readonly Form[] = [
  form('amount-off-by-one-unit', 'An amount is one minor unit too large.', (scene) =>
    wrongAmount(scene, (line, { net }) => withNet(line, net + Math.sign(net))),
  ),
  form('amount-off-by-some', 'An amount is off by a few percent.', (scene) =>
    wrongAmount(scene, (line, { net }) => withNet(line, net + Math.sign(net) * (7 + Math.abs(net >> 5)))),
  ),
  form('amount-a-hundredfold', 'An amount is sent in minor units instead of whole ones.', (scene) =>
    wrongAmount(scene, (line, { net }) => withNet(line, net * 100)),
  ),
  form('amount-negative', 'An amount has a minus sign on the side it is on.', (scene) => ({
    ...wrongAmount(scene, (line) => withText(line, (digits) => `-${digits}`)),
    says: /negative|minus|below zero|credit and debit are swapped|not a number/i,
    first: /negative|minus|below zero|quarantin|cannot be read/i,
  })),
  form('amount-zero', 'An amount is sent as 0.', (scene) =>
    wrongAmount(scene, (line) => withText(line, () => '0')),
  ),
  form('credit-and-debit-swapped', 'A credit is shown as a debit, or a debit as a credit.', (scene) => ({
    ...wrongAmount(scene, (line) => ({ ...line, credit: line.debit, debit: line.credit })),
    says: /credit and debit are swapped/i,
  })),
  form('credit-and-debit-both', 'An entry has the same amount as its credit and as its debit.', (scene) => ({
    ...wrongAmount(scene, (line) => {
      const amount = line.credit === 'null' ? line.debit : line.credit;
      return { ...line, credit: amount, debit: amount };
    }),
    says: /both inAmount .* and outAmount|both a credit and a debit/i,
    first: /both inAmount|both a credit|quarantin|cannot be read/i,
  })),
  form('amounts-of-neighbours-swapped', 'Two entries in a row have each other’s amounts.', (scene) => {
    const [one, two] = neighboursIn(scene);
    const other = new Map([
      [one.batchNo, two.net],
      [two.batchNo, one.net],
    ]);
    return {
      lies: changing([one, two], (line) => withNet(line, other.get(line.batchNo)!)),
      where: placesOf([one, two], scene.zone),
      says: saysWrong('amount', one, two),
    };
  }),
  form('amounts-with-noise', 'The amounts of a day carry the noise of a floating-point number.', (scene) => {
    const entries = dayEntries(scene);
    return {
      lies: changing(entries, (line) => withText(line, (digits) => `${digits}000000003`)),
      where: placesOf(entries, scene.zone),
      says: /noise|rounding|floating/i,
    };
  }),
  form(
    'amounts-cancel-balances-follow',
    'One amount is too large and the next too small by as much, and the balance between them follows.',
    (scene) => {
      const [one, two] = neighboursIn(scene);
      const by = 1 + Math.floor(Math.min(Math.abs(one.net), Math.abs(two.net)) / 3);
      return {
        lies: changing([one, two], (line) =>
          line.batchNo === one.batchNo
            ? { ...withNet(line, one.net + by), balance: moved(line.balance, line.currency, by) }
            : withNet(line, two.net - by),
        ),
        where: placesOf([one, two], scene.zone),
        says: saysWrong('amount', one, two),
      };
    },
    { sight: nobodyCanTell('every balance follows from the one before it, and the day’s closing is true') },
  ),
  form(
    'amount-wrong-balances-follow',
    'An amount is too large from the first reading on, and every later balance follows.',
    (scene) => {
      const booking = middleOf(scene);
      const wrong = balanced(
        scene.books.map((one) => (one.batchNo === booking.batchNo ? { ...one, net: one.net + 700 } : one)),
      );
      const shown = new Map(wrong.map((one) => [one.batchNo, one]));
      return {
        lies: {
          lines: (lines, { since }, merchantNo) =>
            since < 0 || merchantNo !== OWN
              ? lines
              : lines.map((line) => {
                  const { net, balance, currency } = shown.get(line.batchNo)!;
                  return { ...withNet(line, net), balance: decimal(balance, currency) };
                }),
        },
        where: placesOf([booking], scene.zone),
        says: saysWrong('amount', booking),
      };
    },
    {
      setting: { fromTheFirstReading: true },
      sight: nobodyCanTell('it is a ledger like any other'),
    },
  ),
];

/** The balance plus that many minor units. */
export const moved = (balance: string, currency: string, by: number): string =>
  decimal(unitsOf(balance, currency)! + by, currency);
