/** Forms of lie: one change over many entries at once. One sentence should name it. */
import { decimal, unitsOf } from '../books.ts';
import type { Form, Planted, Scene, Setting } from '../form.ts';
import { wallText } from '../../simulation/history-platform.ts';
import type { Lies, Line } from '../platform.ts';
import { stampedAt } from './moved.ts';
import { accountOf, changing, changingAll, dayEntries, formOf, likeness, placesOf, scaled } from './tools.ts';

const form = formOf('one change over many');
const TWO: Setting = { currencies: 2 };
const CENTS: Setting = { perDay: [6, 12] };
const everywhere = (lies: Lies, says: RegExp, first = says): Planted => ({
  lies,
  where: 'everywhere',
  says,
  first,
});

/** Changes amounts and balances of a line. `isBalanceToo` is false where balances stay. */
const scaledLine = (line: Line, by: number, isBalanceToo = true): Line => ({
  ...line,
  credit: scaled(line.credit, line.currency, by),
  debit: scaled(line.debit, line.currency, by),
  balance: isBalanceToo ? scaled(line.balance, line.currency, by) : line.balance,
});

const roundedText = (text: string, currency: string): string => {
  if (text === 'null') return text;
  return decimal(Math.round(unitsOf(text, currency)! / 100) * 100, currency);
};
const rounded = (line: Line): Line => ({
  ...line,
  credit: roundedText(line.credit, line.currency),
  debit: roundedText(line.debit, line.currency),
  balance: roundedText(line.balance, line.currency),
});

const netOf = ({ credit, debit, currency }: Line): number =>
  credit === 'null' ? -unitsOf(debit, currency)! : unitsOf(credit, currency)!;
const balanceBefore = (line: Line): Line => ({
  ...line,
  balance: decimal(unitsOf(line.balance, line.currency)! - netOf(line), line.currency),
});
const swapped = (line: Line): Line => ({ ...line, credit: line.debit, debit: line.credit });

const SAYS_AMENDED = /amended/i;
/** Names that a change of one kind is over many entries: how many, or all of them. */
const named = (kind: string): RegExp => new RegExp(`(?:${kind})`, 'i');

const ofDay = (
  name: string,
  lie: string,
  change: (line: Line) => Line,
  says: RegExp,
  setting: Setting = CENTS,
): Form =>
  form(
    name,
    lie,
    (scene: Scene) => ({
      lies: changing(dayEntries(scene), change),
      where: [{ currency: accountOf(scene), day: scene.target }],
      says,
    }),
    { setting },
  );

export const manyForms: readonly Form[] = [
  form('renumbered-all', 'From one night on every entry has another number.', () =>
    everywhere(
      changingAll((line) => ({ ...line, batchNo: `R${line.batchNo.slice(1)}` })),
      /number|vanished|no longer/i,
      named('renumber|(?:other|new|another|different) numbers?'),
    ),
  ),
  form(
    'renumbered-a-day',
    'From one night on every entry of a day read before has another number.',
    (scene) => {
      const entries = dayEntries(scene, scene.days[1]);
      return {
        lies: changing(entries, (line) => ({
          ...line,
          batchNo: likeness({ batchNo: line.batchNo } as (typeof entries)[0]).batchNo,
        })),
        where: placesOf(entries, scene.zone),
        says: /number|vanished|no longer/i,
        first: named('renumber|(?:other|new|another|different) numbers?'),
      };
    },
  ),
  form('all-a-hundredfold', 'From one night on all amounts and balances are in minor units.', () =>
    everywhere(
      changingAll((line) => scaledLine(line, 100)),
      SAYS_AMENDED,
      named('100|hundred|minor units|factor'),
    ),
  ),
  form('amounts-a-hundredfold', 'From one night on all amounts are in minor units; balances are not.', () =>
    everywhere(
      changingAll((line) => scaledLine(line, 100, false)),
      SAYS_AMENDED,
      named('100|hundred|minor units|factor'),
    ),
  ),
  ofDay(
    'new-day-a-hundredfold',
    'Amounts and balances of a new day are in minor units.',
    (line) => scaledLine(line, 100),
    /100|hundred|minor units|factor/i,
  ),
  ofDay(
    'new-day-amounts-a-hundredfold',
    'Amounts of a new day are in minor units; balances are not.',
    (line) => scaledLine(line, 100, false),
    /100|hundred|minor units|factor/i,
  ),
  form(
    'all-rounded',
    'From one night on all amounts and balances are rounded to whole units.',
    () => everywhere(changingAll(rounded), /amended|round/i, named('round|decimals|amounts')),
    { setting: { ...CENTS, currencies: 1 } },
  ),
  ofDay(
    'new-day-rounded',
    'Amounts and balances of a new day are rounded to whole units.',
    rounded,
    /round|decimals|whole|amount|balance/i,
  ),
  form('all-balances-before', 'From one night on all balances are those before the entry.', () =>
    everywhere(changingAll(balanceBefore), /amended|before/i, named('balances?')),
  ),
  ofDay(
    'new-day-balances-before',
    'Balances of a new day are those before the entry.',
    balanceBefore,
    /balances? (?:before|of .* before)|before (?:the|each|its) entr|before instead|every balance/i,
  ),
  form('all-balances-negative', 'From one night on all balances have a minus sign.', () =>
    everywhere(
      changingAll((line) => ({ ...line, balance: `-${line.balance}` })),
      /amended|balance/i,
      named('balances?|sign'),
    ),
  ),
  form('all-balances-zero', 'From one night on all balances are 0.', () =>
    everywhere(
      changingAll((line) => ({ ...line, balance: '0' })),
      /amended|balance/i,
      named('balances?'),
    ),
  ),
  form(
    'all-credits-and-debits-swapped',
    'From one night on every credit is shown as a debit, and the other way round.',
    () => everywhere(changingAll(swapped), /amended|swapped/i, named('swapped|credits?|debits?|amounts')),
  ),
  ofDay(
    'new-day-credits-and-debits-swapped',
    'Credits and debits of a new day are swapped.',
    swapped,
    /swapped|credit and debit|credits and debits/i,
  ),
  form(
    'currencies-swapped',
    'From one night on each account is shown in the other one’s currency code.',
    (scene) => {
      const [one, two] = scene.currencies;
      const other = (line: Line): Line => ({ ...line, currency: line.currency === one ? two! : one! });
      return everywhere(changingAll(other), /amended|currenc/i, named('currenc'));
    },
    { setting: TWO },
  ),
  form('currency-code-of-small-letters', 'From one night on currency codes are in small letters.', () =>
    everywhere(
      changingAll((line) => ({ ...line, currency: line.currency.toLowerCase() })),
      /currency|quarantined/i,
      named('currency'),
    ),
  ),
  form('types-renamed', 'From one night on every type has another code.', () =>
    everywhere(
      changingAll((line) => ({ ...line, type: `PAY-${line.type}` })),
      SAYS_AMENDED,
      named('types?|amended'),
    ),
  ),
  form('types-emptied', 'From one night on every type is empty.', () =>
    everywhere(
      changingAll((line) => ({ ...line, type: '' })),
      /type|amended/i,
      named('type|busiType|amended'),
    ),
  ),
  form(
    'all-stamps-an-hour-later',
    'From one night on every entry is stamped and found an hour later.',
    (scene) =>
      everywhere(
        changingAll((line) => stampedAt(line, line.filterMs + 3_600_000, scene.zone)),
        /amended|timestamp|hour|zone|clock/i,
        named('timestamps?|stamped|hour|zone|clock|amended'),
      ),
    { setting: { zone: 'Asia/Shanghai' } },
  ),
  form('all-stamps-midnight', 'From one night on every timestamp is at midnight.', (scene) =>
    everywhere(
      changingAll((line) => ({
        ...line,
        stamp: `${wallText(line.filterMs, scene.zone).slice(0, 10)} 00:00:00`,
      })),
      /timestamp|midnight|00:00|time of day|outside|zone|busiDate/i,
    ),
  ),
  form(
    'fields-as-text',
    'From one night on balances and amounts are sent as words with a currency sign.',
    () =>
      everywhere(
        changingAll((line) => ({ ...line, balance: JSON.stringify(`$ ${line.balance}`) })),
        /not a number|quarantined|vailAmount|unreadable|cannot be read/i,
      ),
  ),
];
