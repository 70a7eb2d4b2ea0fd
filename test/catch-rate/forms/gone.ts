/** Forms of lie: much of what was read before is gone all at the same time. The platform answers with success. */
import { dayOf } from '../../../src/ledger/business-day.ts';
import type { Booking } from '../books.ts';
import { nobodyCanTell, type Form, type Planted, type Scene, type Setting } from '../form.ts';
import { accountOf, dayEntries, formOf, hiding, placesOf, type Lasting } from './tools.ts';

const form = formOf('gone all at the same time');
const SAYS_GONE =
  /vanished|no longer|\bgone\b|disappear|entr(?:y|ies) (?:is|are) missing|came back empty|\bempty\b|\b0 entries\b|showed (?:no|none)/i;

const hidden = (scene: Scene, bookings: readonly Booking[], reported: Lasting): Planted => ({
  lies: hiding(bookings, reported),
  where: placesOf(bookings, scene.zone),
  says: SAYS_GONE,
});

const onDays = (scene: Scene, days: readonly string[]): Booking[] =>
  scene.books.filter(({ stampMs }) => days.includes(dayOf(stampMs, scene.zone)));

const before = ({ days, target }: Scene): string[] => days.slice(0, days.indexOf(target));

/** Everything booked before the end of the day that the run reads first. */
const everything = (scene: Scene): Booking[] => onDays(scene, [...before(scene), scene.target]);

const OLD: Setting = { honestDays: 9, resweepDays: 3, perDay: [3, 5], nightsAfter: 8 };
const QUIET: Setting = { currencies: 1, honestDays: 4, quietFrom: 3 };

const partly = (
  name: string,
  lie: string,
  reported: Lasting,
  choose: (scene: Scene) => readonly Booking[],
  setting: Setting = {},
): Form => form(name, lie, (scene) => hidden(scene, choose(scene), reported), { setting });

/** A day of an account or more. */
const goneForm: typeof partly = (...of) => ({ ...partly(...of), neverBelieved: true });

export const goneForms: readonly Form[] = [
  goneForm(
    'gone-day-all-accounts-one-night',
    'For one night a day read before is empty in every account.',
    'one night',
    (scene) => onDays(scene, [scene.days[1]!]),
  ),
  goneForm(
    'gone-day-all-accounts',
    'From one night on a day read before is empty in every account.',
    'for good',
    (scene) => onDays(scene, [scene.days[1]!]),
  ),
  goneForm('gone-days-one-night', 'For one night every day read before is empty.', 'one night', (scene) =>
    onDays(scene, before(scene)),
  ),
  goneForm('gone-days', 'From one night on every day read before is empty.', 'for good', (scene) =>
    onDays(scene, before(scene)),
  ),
  goneForm('gone-all-one-night', 'For one night the ledger is empty.', 'one night', everything),
  goneForm(
    'gone-all-two-runs',
    'For two runs the ledger is empty, then all is back.',
    'two runs',
    everything,
  ),
  goneForm('gone-all', 'From one night on the ledger is empty.', 'for good', ({ books }) => books),
  goneForm(
    'gone-all-every-other-night',
    'Every other night the ledger is empty.',
    'every other night',
    (scene) => everything(scene),
  ),
  goneForm(
    'gone-all-quiet-merchant',
    'For one night the ledger of a merchant without new entries is empty.',
    'one night',
    ({ books }) => books,
    QUIET,
  ),
  goneForm(
    'gone-all-quiet-merchant-for-good',
    'From one night on the ledger of a merchant without new entries is empty.',
    'for good',
    ({ books }) => books,
    QUIET,
  ),
  goneForm(
    'gone-old-days',
    'From one night on all days before those read again are empty.',
    'for good',
    (scene) => onDays(scene, scene.days.slice(0, 4)),
    OLD,
  ),
  goneForm(
    'gone-old-days-one-account',
    'From one night on one account is empty on all days before those read again.',
    'for good',
    (scene) => scene.days.slice(0, 4).flatMap((day) => dayEntries(scene, day)),
    { ...OLD, currencies: 2 },
  ),
  goneForm(
    'gone-currency-one-night',
    'For one night nothing of a currency is shown, earlier days included.',
    'one night',
    (scene) => everything(scene).filter(({ currency }) => currency === accountOf(scene)),
    { currencies: 2 },
  ),
  partly(
    'gone-half-of-a-day',
    'From one night on half of the entries of a day read before are gone.',
    'for good',
    (scene) => dayEntries(scene, scene.days[1]).filter((_, at) => at % 2 === 0),
    { perDay: [6, 12] },
  ),
  partly(
    'gone-debits-of-all-days',
    'From one night on no debit of the days read before is shown.',
    'for good',
    (scene) => onDays(scene, before(scene)).filter(({ net }) => net < 0),
    { perDay: [6, 12] },
  ),
  partly(
    'gone-type-of-all-days',
    'From one night on no entry of one type is shown, of the days read before.',
    'for good',
    (scene) => onDays(scene, before(scene)).filter(({ type }) => type === 'T2'),
    { perDay: [6, 12] },
  ),
  partly(
    'gone-evenings',
    'From one night on the later half of each day read before is gone.',
    'for good',
    (scene) =>
      before(scene).flatMap((day) => {
        const entries = dayEntries(scene, day);
        return entries.slice(Math.ceil(entries.length / 2));
      }),
  ),
  form(
    'gone-before-the-first-reading',
    'A currency lost its whole life before the first reading.',
    (scene) => hidden(scene, onDays(scene, before(scene)), 'for good'),
    {
      setting: { fromTheFirstReading: true, currencies: 1, quietFrom: 2 },
      sight: nobodyCanTell('nothing of it was ever shown, and nothing follows it'),
    },
  ),
];
