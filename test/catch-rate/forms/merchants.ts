/** Forms of lie: another merchant's entries, instead of the merchant's own or mixed with them. */
import { nobodyCanTell, OTHER, OWN, type Form, type Planted, type Scene, type Setting } from '../form.ts';
import { lineOf, type Lies, type Line } from '../platform.ts';
import { accountOf, formOf, isReported, type Lasting } from './tools.ts';
import { entriesOf } from '../books.ts';

const form = formOf('merchants');
const SAYS_OTHER = /\b(?:another|other) merchant|under two merchants|belongs? to merchant/i;

/** Answers the merchant's calls from the other merchant's ledger. */
const answeredByOther = (reported: Lasting, isAnswered: (nth: number) => boolean = () => true): Lies => ({
  reply: (reply, call, at, ask) =>
    call.merchantNo === OWN && isReported(at, reported) && isAnswered(call.nth)
      ? ask({ ...call, merchantNo: OTHER })
      : reply,
});

/** Up to `most` entries of the other merchant on that day, as lines. */
const otherLines = (scene: Scene, most: number): Line[] =>
  entriesOf(scene.otherBooks, accountOf(scene), scene.target, scene.zone)
    .slice(0, most)
    .map((booking) => lineOf(booking, scene.zone));

function mixedIn(scene: Scene, reported: Lasting, most: number): Planted {
  const strange = otherLines(scene, most);
  return {
    lies: {
      lines: (lines, at, merchantNo) =>
        merchantNo === OWN && isReported(at, reported)
          ? [...lines, ...strange.filter(({ atMs }) => atMs <= at.nowMs)]
          : lines,
    },
    where: [{ currency: accountOf(scene), day: scene.target }],
    says: SAYS_OTHER,
  };
}

const everywhere = (lies: Lies): Planted => ({ lies, where: 'everywhere', says: SAYS_OTHER });
const BOTH: Setting = { bothMerchants: true };

/** The merchant's own account has no entries from the lie's day on, and the other's goes on. */
const QUIET: Setting = { ...BOTH, currencies: 1, quietFrom: 3 };
const SAYS_PUBLISHED =
  /another merchant|other merchant|under two merchants|belongs? to merchant|of merchant|merchants? M-O/i;

const quietForm = (name: string, lie: string, lies: (scene: Scene) => Lies, setting: Setting = QUIET): Form =>
  form(name, lie, (scene) => ({ lies: lies(scene), where: 'everywhere', says: SAYS_PUBLISHED }), { setting });

/** The merchant never had an entry. */
const NEVER: Lies = { books: (books) => (books[0]?.batchNo.startsWith('A') === true ? [] : books) };

const quietForms: readonly Form[] = [
  quietForm(
    'other-ledger-to-a-quiet-merchant',
    "A merchant without new entries is answered another's ledger from one night on.",
    () => answeredByOther('for good'),
  ),
  quietForm(
    'other-ledger-to-a-quiet-merchant-one-night',
    "For one night a merchant without new entries is answered another's ledger.",
    () => answeredByOther('one night'),
  ),
  quietForm(
    'other-day-to-a-quiet-merchant',
    "A merchant without new entries is answered another's new day beside its own earlier ones.",
    (scene) => {
      const strange = otherLines(scene, 99);
      return {
        lines: (lines, { since, nowMs }, merchantNo) =>
          since < 0 || merchantNo !== OWN
            ? lines
            : [...lines, ...strange.filter(({ atMs }) => atMs <= nowMs)],
      };
    },
  ),
  quietForm(
    'other-ledger-to-a-merchant-without-entries',
    "A merchant that never had an entry is answered another's ledger from one night on.",
    () => ({ ...NEVER, ...answeredByOther('for good') }),
    BOTH,
  ),
  quietForm(
    'other-entries-to-a-merchant-without-entries',
    "A merchant that never had an entry is answered another's new day.",
    (scene) => {
      const strange = otherLines(scene, 99);
      return {
        ...NEVER,
        lines: (lines, { since, nowMs }, merchantNo) =>
          since < 0 || merchantNo !== OWN
            ? lines
            : [...lines, ...strange.filter(({ atMs }) => atMs <= nowMs)],
      };
    },
    BOTH,
  ),
  quietForm(
    'both-ledgers-in-one',
    'From one night on the entries of both merchants are answered to one of them.',
    (scene) => ({
      lines: (lines, { since, nowMs }, merchantNo) =>
        since < 0 || merchantNo !== OWN
          ? lines
          : [
              ...lines,
              ...scene.otherBooks
                .filter(({ atMs }) => atMs <= nowMs)
                .map((booking) => lineOf(booking, scene.zone)),
            ],
    }),
    BOTH,
  ),
];

const SAYS_ANOTHER = /answered with another ledger/;
/** The other ledger is of a merchant that nobody here reads. */
const unknownLedger = (reported: Lasting): Planted => ({
  ...everywhere(answeredByOther(reported)),
  says: SAYS_ANOTHER,
});

export const merchantForms: readonly Form[] = [
  form(
    'other-ledger-unknown-one-night',
    'For one night the ledger of a merchant nobody here reads is answered.',
    () => unknownLedger('one night'),
    { neverBelieved: true },
  ),
  form(
    'other-ledger-unknown-from-a-night-on',
    'From one night on the ledger of a merchant nobody here reads is answered.',
    () => unknownLedger('for good'),
    { neverBelieved: true },
  ),
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
      return {
        ...everywhere(answeredByOther('one night', (call) => call === nth)),
        first: new RegExp(`${SAYS_OTHER.source}|came without .* showed shortly before`, 'i'),
      };
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
  ...quietForms,
];
