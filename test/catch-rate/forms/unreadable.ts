/** Forms of lie: entries that cannot be read. */
import type { Form, Planted, Scene } from '../form.ts';
import type { Line } from '../platform.ts';
import { changing, dayEntries, formOf, leads, middleOf, placesOf, type Lasting } from './tools.ts';

const form = formOf('unreadable');
/** An entry that cannot be read is known, so it comes before anything that is guessed. */
const FIRST_UNREADABLE = leads(
  /quarantin|cannot be read|not a number|not a real time|control characters|is empty/i,
);

function wrecked(
  scene: Scene,
  change: (line: Line) => Line,
  says: RegExp,
  reported: Lasting = 'for good',
): Planted {
  const booking = middleOf(scene);
  return {
    lies: changing([booking], change, reported),
    where: placesOf([booking], scene.zone),
    says,
    first: FIRST_UNREADABLE,
  };
}

const amountAs =
  (json: string) =>
  (line: Line): Line =>
    line.credit === 'null' ? { ...line, debit: json } : { ...line, credit: json };

export const unreadableForms: readonly Form[] = [
  form('unreadable-amount', 'An amount is a word.', (scene) =>
    wrecked(scene, amountAs('"a lot"'), /Amount is not a number/),
  ),
  form('unreadable-amount-one-night', 'For one night an amount is a word.', (scene) =>
    wrecked(scene, amountAs('"a lot"'), /Amount is not a number/, 'one night'),
  ),
  form('amount-of-too-many-digits', 'An amount has 40 digits before its point.', (scene) =>
    wrecked(scene, amountAs('9'.repeat(40)), /Amount is not a number of up to/),
  ),
  form('amount-missing', 'An entry has neither credit nor debit.', (scene) =>
    wrecked(scene, amountAs('null'), /neither|inAmount|outAmount/),
  ),
  form('balance-missing', 'An entry has no balance.', (scene) =>
    wrecked(scene, (line) => ({ ...line, balance: 'null' }), /vailAmount/),
  ),
  form('date-not-in-the-calendar', 'A timestamp is of the 30th of February.', (scene) =>
    wrecked(scene, (line) => ({ ...line, stamp: '2026-02-30 10:00:00' }), /busiDate is not a real time/),
  ),
  form('date-in-another-form', 'A timestamp is written the way of another country.', (scene) =>
    wrecked(
      scene,
      (line) => ({ ...line, stamp: line.stamp.replaceAll('-', '/') }),
      /busiDate is not a real time/,
    ),
  ),
  form('type-with-NUL', 'The type of an entry holds a NUL character.', (scene) =>
    wrecked(scene, (line) => ({ ...line, type: 'T\u0000' }), /busiType holds control characters/),
  ),
  form('number-with-NUL', 'The number of an entry holds a NUL character.', (scene) =>
    wrecked(
      scene,
      (line) => ({ ...line, batchNo: `${line.batchNo}\u0000` }),
      /batchNo holds control characters/,
    ),
  ),
  form('number-empty', 'An entry has an empty number.', (scene) =>
    wrecked(scene, (line) => ({ ...line, batchNo: '' }), /batchNo is empty/),
  ),
  form('last-of-day-unreadable', "A day's last entry cannot be read.", (scene) => {
    const booking = dayEntries(scene).at(-1)!;
    return {
      lies: changing([booking], amountAs('"a lot"')),
      where: placesOf([booking], scene.zone),
      says: /Amount is not a number/,
      first: FIRST_UNREADABLE,
    };
  }),
];
