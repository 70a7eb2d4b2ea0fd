/** Forms of lie: another merchant's entries, instead of the merchant's own or mixed with them. */
import { nobodyCanTell, OTHER, OWN, type Form, type Planted, type Scene, type Setting } from '../form.ts';
import { lineOf, type Lies, type Line } from '../platform.ts';
import { accountOf, formOf, isTold, type Lasting } from './tools.ts';
import { entriesOf } from '../books.ts';

const form = formOf('merchants');
const SAYS_OTHER = /\b(?:another|other) merchant|under two merchants|belongs? to merchant/i;

/** Answers the merchant's calls from the other merchant's ledger. */
const answeredByOther = (told: Lasting, isAnswered: (nth: number) => boolean = () => true): Lies => ({
  reply: (reply, call, at, ask) =>
    call.merchantNo === OWN && isTold(at, told) && isAnswered(call.nth)
      ? ask({ ...call, merchantNo: OTHER })
      : reply,
});

/** Up to `most` entries of the other merchant on that day, as lines. */
const otherLines = (scene: Scene, most: number): Line[] =>
  entriesOf(scene.otherBooks, accountOf(scene), scene.target, scene.zone)
    .slice(0, most)
    .map((booking) => lineOf(booking, scene.zone));

function mixedIn(scene: Scene, told: Lasting, most: number): Planted {
  const strange = otherLines(scene, most);
  return {
    lies: {
      lines: (lines, at, merchantNo) =>
        merchantNo === OWN && isTold(at, told)
          ? [...lines, ...strange.filter(({ atMs }) => atMs <= at.nowMs)]
          : lines,
    },
    where: [{ currency: accountOf(scene), day: scene.target }],
    says: SAYS_OTHER,
  };
}

const everywhere = (lies: Lies): Planted => ({ lies, where: 'everywhere', says: SAYS_OTHER });
const BOTH: Setting = { bothMerchants: true };

export const merchantForms: readonly Form[] = [
  form(
    'other-ledger-one-night',
    "For one night another merchant's ledger is answered.",
    () => everywhere(answeredByOther('one night')),
    { setting: BOTH },
  ),
  form(
    'other-ledger-from-a-night-on',
    "From one night on another merchant's ledger is answered.",
    () => everywhere(answeredByOther('for good')),
    { setting: BOTH },
  ),
  form(
    'other-ledger-always',
    "Another merchant's ledger is answered from the first reading on; that merchant is read as well.",
    () => everywhere(answeredByOther('for good')),
    { setting: { ...BOTH, fromTheFirstReading: true } },
  ),
  form(
    'other-ledger-always-unknown',
    'The ledger of a merchant nobody here knows is answered from the first reading on.',
    () => everywhere(answeredByOther('for good')),
    {
      setting: { fromTheFirstReading: true },
      sight: nobodyCanTell('an entry does not say whose it is, and nobody reads the ledger it belongs to'),
    },
  ),
  form(
    'other-ledger-one-page',
    "One page of a night is another merchant's.",
    (scene) => {
      const nth = Math.floor(scene.random() * 4);
      return everywhere(answeredByOther('one night', (call) => call === nth));
    },
    { setting: BOTH },
  ),
  form(
    'other-entries-mixed-in-one-night',
    "For one night some of another merchant's entries stand among the merchant's own.",
    (scene) => mixedIn(scene, 'one night', 3),
    { setting: BOTH },
  ),
  form(
    'other-entries-mixed-in',
    "Some of another merchant's entries stand among the merchant's own.",
    (scene) => mixedIn(scene, 'for good', 3),
    { setting: BOTH },
  ),
  form(
    'other-entry-mixed-in',
    "One of another merchant's entries stands among the merchant's own.",
    (scene) => mixedIn(scene, 'for good', 1),
    { setting: BOTH },
  ),
];
