/** Forms of lie: two lies at once. The first sentence should name one of them. */
import { balanced, type Booking, entriesOf } from '../books.ts';
import { nobodyCanTell, OWN, type Form, type Planted, type Scene, type Setting } from '../form.ts';
import { lineOf, type Lies, type Line } from '../platform.ts';
import { moved } from './amounts.ts';
import {
  accountOf,
  amending,
  answering,
  changing,
  changingAll,
  dayEntries,
  emptied,
  formOf,
  hiding,
  likeness,
  middleOf,
  neighboursIn,
  placesOf,
  rewriting,
  together,
} from './tools.ts';

const form = formOf('combined');
const MANY: Setting = { perDay: [8, 14] };
const BOTH: Setting = { bothMerchants: true };
const GONE = 'vanished|no longer|\\bgone\\b';
const MISSING = 'entr(?:y|ies) (?:is|are) missing|is missing';
const OFF = '\\boff\\b|wrong';
const says = (...parts: readonly string[]): RegExp => new RegExp(parts.join('|'), 'i');

const at = (scene: Scene, bookings: readonly Booking[], lies: Lies, expected: RegExp): Planted => ({
  lies,
  where: placesOf(bookings, scene.zone),
  says: expected,
});
const stored = (scene: Scene): Booking => middleOf(scene, scene.days[1]);
const unreadable = (line: Line): Line =>
  line.credit === 'null' ? { ...line, debit: '"a lot"' } : { ...line, credit: '"a lot"' };
const offBy =
  (units: number) =>
  (line: Line): Line => ({ ...line, balance: moved(line.balance, line.currency, units) });
const twoApart = (scene: Scene): [Booking, Booking] => {
  const entries = dayEntries(scene);
  return [entries[2]!, entries.at(-3)!];
};

export const combinedForms: readonly Form[] = [
  form(
    'missing-and-balance-off',
    'An entry is missing, and the balance of another one is off.',
    (scene) => {
      const [one, two] = twoApart(scene);
      return at(scene, [one, two], together(hiding([one]), changing([two], offBy(777))), says(MISSING, OFF));
    },
    { setting: MANY },
  ),
  form(
    'missing-and-unreadable',
    'An entry is missing, and the one after it cannot be read.',
    (scene) => {
      const [one, two] = neighboursIn(scene);
      return at(
        scene,
        [one, two],
        together(hiding([one]), changing([two], unreadable)),
        says('quarantin|not a number|cannot be read', MISSING),
      );
    },
    { setting: MANY },
  ),
  form(
    'vanished-and-missing',
    'An entry read before is gone, and one of the new day is missing.',
    (scene) => {
      const both = [stored(scene), middleOf(scene)];
      return at(scene, both, hiding(both), says(GONE, MISSING));
    },
  ),
  form(
    'vanished-and-amended',
    'An entry read before is gone, and another one of its day amended.',
    (scene) => {
      const [one, two] = [dayEntries(scene, scene.days[1])[1]!, dayEntries(scene, scene.days[1]).at(-2)!];
      return at(
        scene,
        [one, two],
        together(hiding([one]), changing([two], offBy(777))),
        says(GONE, 'amended'),
      );
    },
    { setting: MANY },
  ),
  form(
    'vanished-and-late',
    'An entry read before is gone, and another one comes late on its day.',
    (scene) => {
      const [one, two] = [dayEntries(scene, scene.days[1])[1]!, dayEntries(scene, scene.days[1]).at(-2)!];
      const late = likeness(two, { net: 3_333, atMs: two.atMs + 4_000, stampMs: two.stampMs + 4_000 });
      return at(
        scene,
        [one, two],
        together(
          rewriting((books) => balanced([...books, late])),
          hiding([one]),
        ),
        says(GONE, 'late', 'amended'),
      );
    },
    { setting: MANY },
  ),
  form(
    'amended-and-missing-by-the-same',
    'An amount read before is amended, and an entry of the new day is missing.',
    (scene) => {
      const [one, two] = [stored(scene), middleOf(scene)];
      return at(
        scene,
        [one, two],
        together(changing([one], offBy(two.net)), hiding([two])),
        says('amended', MISSING),
      );
    },
  ),
  form('total-right-and-entry-missing', 'An entry is in no page, and every total counts it.', (scene) => {
    const booking = middleOf(scene);
    return at(
      scene,
      [booking],
      answering((reply) => ({
        ...reply,
        lines: reply.lines.filter(({ batchNo }) => batchNo !== booking.batchNo),
      })),
      says('total|distinct|records|held \\d+ where', MISSING),
    );
  }),
  form(
    'total-long-and-entry-missing',
    'An entry is in no page, and every total is one more than the truth.',
    (scene) => {
      const booking = middleOf(scene);
      const short: Lies = answering((reply) => ({
        ...reply,
        total: reply.total === 0 ? 0 : reply.total + 1,
        lines: reply.lines.filter(({ batchNo }) => batchNo !== booking.batchNo),
      }));
      return at(scene, [booking], short, says('total|distinct|records|held \\d+ where', MISSING));
    },
  ),
  form(
    'other-entry-and-own-missing',
    "One of another merchant's entries stands where an own one is missing.",
    (scene) => {
      const booking = middleOf(scene);
      const strange = entriesOf(scene.otherBooks, accountOf(scene), scene.target, scene.zone)[0]!;
      const mixed: Lies = {
        lines: (lines, { since, nowMs }, merchantNo) =>
          since < 0 || merchantNo !== OWN || strange.atMs > nowMs
            ? lines
            : [...lines, lineOf(strange, scene.zone)],
      };
      return at(scene, [booking, strange], together(hiding([booking]), mixed), says('merchant', MISSING));
    },
    { setting: BOTH },
  ),
  form(
    'stale-and-types-emptied',
    'The state of six hours ago is served, and new types are empty.',
    (scene) => {
      const entries = dayEntries(scene);
      const stale: Lies = { lagMs: ({ since }) => (since >= 0 ? 21_600_000 : 0) };
      return at(
        scene,
        entries,
        together(
          stale,
          changing(entries, (line) => ({ ...line, type: '' })),
        ),
        says('type', MISSING, 'late', 'revised', 'older state|behind|stale'),
      );
    },
  ),
  form(
    'doubled-and-missing',
    'An entry is shown twice under two numbers, and its neighbour is missing.',
    (scene) => {
      const [one, two] = neighboursIn(scene);
      return at(
        scene,
        [one, two],
        together(
          changing([one], (line) => [line, { ...line, batchNo: likeness(one).batchNo }]),
          hiding([two]),
        ),
        says('twice', MISSING),
      );
    },
    { setting: MANY },
  ),
  form(
    'doubled-in-place-of-a-missing-one',
    'An entry is missing, and another one of the day is shown twice in its place.',
    (scene) => {
      const [one, two] = twoApart(scene);
      return at(
        scene,
        [one, two],
        together(
          changing([one], (line) => [line, { ...line, batchNo: likeness(one).batchNo }]),
          hiding([two]),
        ),
        says('twice', MISSING),
      );
    },
    { setting: MANY },
  ),
  form(
    'credit-and-debit-swapped-twice',
    'Two entries of a day have their credit and debit swapped.',
    (scene) => {
      const both = twoApart(scene);
      return at(
        scene,
        both,
        changing(both, (line) => ({ ...line, credit: line.debit, debit: line.credit })),
        /swapped/i,
      );
    },
    { setting: MANY },
  ),
  form(
    'empty-night-then-entry-missing',
    'One night the ledger is empty, and after it an entry of the new day stays missing.',
    (scene) => {
      const booking = middleOf(scene);
      return at(
        scene,
        [booking],
        together(hiding([booking]), answering(emptied, 'one night')),
        says(GONE, MISSING, 'empty', '0 entries'),
      );
    },
  ),
  form(
    'renumbered-and-one-missing',
    'Every entry has another number, and one of the new day is missing.',
    (scene) => {
      const booking = middleOf(scene);
      return at(
        scene,
        [booking],
        together(
          hiding([booking]),
          changingAll((line) => ({ ...line, batchNo: `R${line.batchNo.slice(1)}` })),
        ),
        says('number', MISSING),
      );
    },
  ),
  form(
    'type-and-amount-amended',
    'An entry read before has another type, and another one another amount.',
    (scene) => {
      const entries = dayEntries(scene, scene.days[1]);
      const [one, two] = [entries[1]!, entries.at(-2)!];
      const books = amending([one], (each) => ({ ...each, type: 'T9' }));
      return at(scene, [one, two], together(books, changing([two], offBy(777))), says('amended'));
    },
    { setting: MANY },
  ),
  form(
    'missing-hidden-in-the-next',
    'An entry is missing, and the amount of the next one covers it.',
    (scene) => {
      const [one, two] = neighboursIn(scene);
      const { credit, debit } = lineOf({ ...two, net: one.net + two.net }, scene.zone);
      return at(
        scene,
        [one, two],
        together(
          hiding([one]),
          changing([two], (line) => ({ ...line, credit, debit })),
        ),
        says(MISSING),
      );
    },
    { sight: nobodyCanTell('the chain holds: one entry of the sum leads to the same balance') },
  ),
];
