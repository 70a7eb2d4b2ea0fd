/** Forms of lie: balances that do not follow from the entries. Amounts and times are true. */
import type { Booking } from '../books.ts';
import type { Form, Planted, Scene } from '../form.ts';
import type { Line } from '../platform.ts';
import { moved } from './amounts.ts';
import { changing, dayEntries, formOf, middleOf, neighboursIn, placesOf, saysWrong } from './tools.ts';

const form = formOf('balances');
const by = (line: Line, units: number): Line => ({
  ...line,
  balance: moved(line.balance, line.currency, units),
});

function wrongBalance(scene: Scene, booking: Booking, units: number): Planted {
  return {
    lies: changing([booking], (line) => by(line, units)),
    where: placesOf([booking], scene.zone),
    says: saysWrong('balance', booking),
  };
}

/** All balances of the account are off, from one entry of the day on. */
const fromEntryOn = (scene: Scene, first: Booking, units: number): Planted => ({
  lies: changing(
    scene.books.filter(({ currency, atMs }) => currency === first.currency && atMs >= first.atMs),
    (line) => by(line, units),
  ),
  where: placesOf([first], scene.zone),
  says: new RegExp(`every balance from ${first.batchNo} on,? is`),
});

export const balanceForms: readonly Form[] = [
  form('balance-off-by-one-unit', "An entry's balance is one minor unit too large.", (scene) =>
    wrongBalance(scene, middleOf(scene), 1),
  ),
  form('balance-off-by-some', "An entry's balance is off by some amount.", (scene) =>
    wrongBalance(scene, middleOf(scene), 4_321),
  ),
  form('balance-off-first-of-day', "The balance of a day's first entry is off.", (scene) =>
    wrongBalance(scene, dayEntries(scene)[0]!, 4_321),
  ),
  form('balance-off-last-of-day', "The balance of a day's last entry is off.", (scene) =>
    wrongBalance(scene, dayEntries(scene).at(-1)!, 4_321),
  ),
  form('balances-off-from-an-entry-on', 'From one entry on, every balance is off by the same.', (scene) =>
    fromEntryOn(scene, middleOf(scene), -5_000),
  ),
  form('balances-off-from-a-day-on', 'From one day on, every balance is off by the same.', (scene) =>
    fromEntryOn(scene, dayEntries(scene)[0]!, -5_000),
  ),
  form(
    'hold-placed-and-released',
    'A hold lowers the available balance over some entries and is released.',
    (scene) => {
      const held = dayEntries(scene).slice(1, -2);
      return {
        lies: changing(held, (line) => by(line, -9_999)),
        where: placesOf(held, scene.zone),
        says: new RegExp(
          `a hold that was placed and released, or every balance from ${held[0]!.batchNo} up to`,
        ),
      };
    },
    { setting: { perDay: [6, 15] } },
  ),
  form('balances-swapped', 'Two entries in a row have each other’s balances.', (scene) => {
    const [one, two] = neighboursIn(scene);
    const other = new Map([
      [one.batchNo, two.balance - one.balance],
      [two.batchNo, one.balance - two.balance],
    ]);
    return {
      lies: changing([one, two], (line) => by(line, other.get(line.batchNo)!)),
      where: placesOf([one, two], scene.zone),
      says: saysWrong('balance', one, two),
    };
  }),
  form(
    'balances-all-the-latest',
    'Every entry of a day shows the balance at the end of the day.',
    (scene) => {
      const entries = dayEntries(scene);
      const { balance } = entries.at(-1)!;
      const own = new Map(entries.map((booking) => [booking.batchNo, balance - booking.balance]));
      return {
        lies: changing(entries, (line) => by(line, own.get(line.batchNo)!)),
        where: placesOf(entries, scene.zone),
        says: new RegExp(`entries from ${entries[0]!.batchNo} to \\S+ show the same balance`),
      };
    },
  ),
  form(
    'balances-with-noise',
    'The balances of a day carry the noise of a floating-point number.',
    (scene) => {
      const entries = dayEntries(scene);
      let at = 0;
      return {
        lies: changing(entries, (line) => ({ ...line, balance: `${line.balance}00000000${1 + (at++ % 9)}` })),
        where: placesOf(entries, scene.zone),
        says: /noise|rounding|floating/i,
      };
    },
  ),
];
