/** Forms of lie: what is shown changes from night to night, or between two calls of one night. */
import { dayWindow } from '../../../src/ledger/business-day.ts';
import { below } from '../../../src/plugins/sandbox/ledger.ts';
import { balanced, type Booking } from '../books.ts';
import { OWN, type Form, type Planted, type Scene, type Setting } from '../form.ts';
import type { Lies, Line, Moment } from '../platform.ts';
import { moved } from './amounts.ts';
import {
  answering,
  changing,
  changingAll,
  dayEntries,
  emptied,
  formOf,
  hiding,
  leads,
  middleOf,
  neighboursIn,
  placesOf,
  reaches,
  together,
  without,
} from './tools.ts';

const form = formOf('night to night');
const NIGHTS: Setting = { nightsAfter: 4 };
const MINUTE_MS = 60_000;
const SAYS_CONTRADICTS =
  /contradict|not steady|different (?:replies|answers|entries|totals)|came back empty|changed between|\bonce\b.*\bthen\b|at first/i;
const SAYS_SECONDS = /seconds?\b|timestamp|:00\b|minutes/i;
const SAYS_SAME_NUMBER = /two (?:different )?entries|same number|twice|one number|alternat|used for/i;
const SAYS_RESTORED = /restored|older state|backup|vanished|no longer|\bgone\b/i;

/** The seconds of timestamps are cut. The platform filters by the true time, or by what it shows. */
const secondsCut = (line: Line, isFiltered: boolean): Line => ({
  ...line,
  stamp: `${line.stamp.slice(0, 17)}00`,
  filterMs: isFiltered ? Math.floor(line.filterMs / MINUTE_MS) * MINUTE_MS : line.filterMs,
});

/** Of two entries that share a number, one is shown in even nights and the other in odd ones. */
const sharing = (one: Booking, two: Booking): Lies => ({
  lines: (lines, { since, night }, merchantNo) =>
    since < 0 || merchantNo !== OWN
      ? lines
      : lines.flatMap((line) => {
          if (line.batchNo === one.batchNo) return night % 2 === 0 ? [line] : [];
          if (line.batchNo === two.batchNo) return night % 2 === 0 ? [] : [{ ...line, batchNo: one.batchNo }];
          return [line];
        }),
});

/** Shown or hidden by the number of the call in the night. */
const byCall = (
  scene: Scene,
  bookings: readonly Booking[],
  isHidden: (nth: number, at: Moment) => boolean,
): Planted => ({
  lies: {
    reply: (reply, call, at, ask) =>
      at.since >= 0 && call.merchantNo === OWN && isHidden(call.nth, at)
        ? without(reply, bookings, call, ask)
        : reply,
  },
  where: placesOf(bookings, scene.zone),
  says: /contradict|not steady|missing|late|vanished|no longer|revised|between two calls|another (?:call|reply)/i,
});

/** The ledger as it was two days before the lie's night, with what was booked since the lie on top. */
function restored(scene: Scene, isForGood: boolean): Planted {
  const first = scene.days[scene.days.indexOf(scene.target) - 1]!;
  const lost = scene.books.filter(({ stampMs }) =>
    [first, scene.target].some((day) => day === dayKey(scene, stampMs)),
  );
  const gone = new Set(lost.map(({ batchNo }) => batchNo));
  const lies: Lies = {
    books: (books, { since }) =>
      books[0]?.batchNo.startsWith('A') === true && (isForGood ? since >= 0 : since === 0)
        ? balanced(books.filter(({ batchNo }) => !gone.has(batchNo)))
        : books,
  };
  return { lies, where: placesOf(lost, scene.zone), says: SAYS_RESTORED };
}
const dayKey = (scene: Scene, ms: number): string =>
  placesOf([{ stampMs: ms } as Booking], scene.zone)[0]!.day;

export const nightlyForms: readonly Form[] = [
  form(
    'number-of-two-entries-alternating',
    'Two entries of a day share a number: one is shown in even nights, the other in odd ones.',
    (scene) => {
      const [one, two] = neighboursIn(scene);
      return {
        lies: sharing(one, two),
        where: placesOf([one, two], scene.zone),
        says: /missing|amended|two (?:different )?entries|twice/i,
      };
    },
    { setting: NIGHTS },
  ),
  form(
    'number-of-two-stored-entries-alternating',
    'Two entries read before get one number: one is shown in even nights, the other in odd ones.',
    (scene) => {
      const [one, two] = dayEntries(scene, scene.days[1]);
      return {
        lies: sharing(one!, two!),
        where: placesOf([one!, two!], scene.zone),
        says: /vanished|no longer|amended|two (?:different )?entries|twice/i,
        first: leads(/vanished|no longer|two (?:different )?entries|twice/i),
      };
    },
    { setting: NIGHTS },
  ),
  form(
    'number-of-two-entries-in-one-night',
    'Calls of one night show one of two entries by the same number in turn.',
    (scene) => {
      const [one, two] = neighboursIn(scene);
      const shown = (line: Line, isOdd: boolean): Line[] => {
        if (line.batchNo === one.batchNo) return isOdd ? [line] : [];
        if (line.batchNo === two.batchNo) return isOdd ? [] : [{ ...line, batchNo: one.batchNo }];
        return [line];
      };
      return {
        lies: answering((reply, { nth }) => {
          const lines = reply.lines.flatMap((line) => shown(line, nth % 2 === 1));
          return { ...reply, total: reply.total - (reply.lines.length - lines.length), lines };
        }),
        where: placesOf([one, two], scene.zone),
        says: new RegExp(
          `${SAYS_SAME_NUMBER.source}|${SAYS_CONTRADICTS.source}|amended|missing|vanished`,
          'i',
        ),
      };
    },
  ),
  form(
    'seconds-cut-every-other-night',
    'Every other night the seconds of all timestamps are 00.',
    () => ({
      lies: changingAll((line) => secondsCut(line, false), 'every other night'),
      where: 'everywhere',
      says: SAYS_SECONDS,
    }),
    { setting: NIGHTS },
  ),
  form('seconds-cut-one-night', 'For one night the seconds of all timestamps are 00.', () => ({
    lies: changingAll((line) => secondsCut(line, false), 'one night'),
    where: 'everywhere',
    says: SAYS_SECONDS,
  })),
  form(
    'seconds-cut-and-filtered',
    'From one night on the seconds of all timestamps are 00, and the platform filters by those.',
    () => ({
      lies: changingAll((line) => secondsCut(line, true)),
      where: 'everywhere',
      says: SAYS_SECONDS,
    }),
  ),
  form(
    'seconds-cut-in-new-entries',
    'From one night on the seconds of new timestamps are 00, and the platform filters by those.',
    (scene) => ({
      lies: changingAll(
        (line) => secondsCut(line, true),
        'for good',
        ({ atMs }) => atMs >= dayWindow(scene.target, scene.zone).beginMs,
      ),
      where: 'everywhere',
      says: SAYS_SECONDS,
    }),
    { setting: { perDay: [8, 14] } },
  ),
  form(
    'entry-appears-after-the-first-call',
    'In the night a day is read first its last entry is shown from the second call on.',
    (scene) => byCall(scene, dayEntries(scene).slice(-1), (nth, { since }) => since === 0 && nth < 1),
  ),
  form(
    'entry-appears-late-in-the-night',
    'In the night a day is read first its last entry is shown from the third, fourth or fifth call on.',
    (scene) => {
      const from = 2 + below(scene.random, 3);
      return byCall(scene, dayEntries(scene).slice(-1), (nth, { since }) => since === 0 && nth < from);
    },
  ),
  form(
    'entries-appear-within-the-night',
    'In the night a day is read first the second half of it is shown from the second call on.',
    (scene) => {
      const entries = dayEntries(scene);
      return byCall(scene, entries.slice(entries.length >> 1), (nth, { since }) => since === 0 && nth < 1);
    },
  ),
  form(
    'entry-gone-after-the-first-call',
    'The first call of every night shows an entry of the new day, the others do not.',
    (scene) => byCall(scene, [middleOf(scene)], (nth) => nth > 0),
    { setting: NIGHTS, mustBeReported: true },
  ),
  form(
    'first-call-of-each-night-empty',
    'The first call of each night is answered by total 0, the others truly.',
    () => ({
      lies: answering(emptied, 'for good', ({ nth }) => nth === 0),
      where: 'everywhere',
      says: SAYS_CONTRADICTS,
    }),
    { setting: NIGHTS, mustBeReported: true },
  ),
  form(
    'every-other-call-empty',
    'Every other call of each night is answered by total 0.',
    () => ({
      lies: answering(emptied, 'for good', ({ nth }) => nth % 2 === 1),
      where: 'everywhere',
      says: new RegExp(`${SAYS_CONTRADICTS.source}|empty|0 entries`, 'i'),
    }),
    // Of most nights only calls for an entry’s exact second are lied about, as if its timestamp were a second off.
    { setting: NIGHTS },
  ),
  form(
    'first-call-of-each-night-counts-more',
    'The total of the first call of each night is one too many.',
    () => ({
      lies: answering(
        (reply) => ({ ...reply, total: reply.total + 1 }),
        'for good',
        ({ nth }) => nth === 0,
      ),
      where: 'everywhere',
      says: new RegExp(`${SAYS_CONTRADICTS.source}|total`, 'i'),
    }),
    { setting: NIGHTS, mustBeReported: true },
  ),
  form(
    'amount-flips-each-night',
    'The amount and the balance of the last entry of a day read before change every other night.',
    (scene) => {
      const booking = middleOf(scene, scene.days[1]);
      return {
        lies: changing(
          [booking],
          (line) => ({ ...line, balance: moved(line.balance, line.currency, 500) }),
          'every other night',
        ),
        where: placesOf([booking], scene.zone),
        says: /amended/i,
        first: leads(/amended/i),
      };
    },
    { setting: NIGHTS },
  ),
  form(
    'type-flips-each-night',
    'The type of an entry of the new day changes every other night.',
    (scene) => {
      const booking = middleOf(scene);
      return {
        lies: changing([booking], (line) => ({ ...line, type: 'T9' }), 'every other night'),
        where: placesOf([booking], scene.zone),
        says: /amended|revised/i,
        first: leads(/amended|revised/i),
      };
    },
    { setting: NIGHTS },
  ),
  form(
    'entry-comes-and-goes',
    'Every other night an entry of a day read before is not shown.',
    (scene) => {
      const booking = middleOf(scene, scene.days[1]);
      return {
        lies: hiding([booking], 'every other night'),
        where: placesOf([booking], scene.zone),
        says: /vanished|no longer/i,
        first: leads(/vanished|no longer/i),
      };
    },
    { setting: NIGHTS },
  ),
  form('renumbered-one-night', 'For one night every entry has another number.', () => ({
    lies: changingAll((line) => ({ ...line, batchNo: `R${line.batchNo.slice(1)}` }), 'one night'),
    where: 'everywhere',
    says: /number|twice|vanished|no longer/i,
    first: /number/i,
  })),
  form('number-with-a-blank-one-night', 'For one night every number ends with a blank.', () => ({
    lies: changingAll((line) => ({ ...line, batchNo: `${line.batchNo} ` }), 'one night'),
    where: 'everywhere',
    says: /number|blank|space|vanished|no longer/i,
    first: /number|blank|space/i,
  })),
  form('backup-restored', 'The ledger goes back two days for good, and goes on from there.', (scene) =>
    restored(scene, true),
  ),
  form('backup-restored-one-night', 'For one night the ledger is as two days ago.', (scene) =>
    restored(scene, false),
  ),
  form(
    'cache-answers-every-call',
    'From the second call of a night on, every call is answered by the reply to the first.',
    () => {
      let first = '';
      return {
        lies: answering((reply, call, ask) => {
          if (call.nth === 0) first = JSON.stringify(call);
          return call.nth === 0 || first === '' ? reply : ask(JSON.parse(first) as typeof call);
        }),
        where: 'everywhere',
        says: /cache|sent others too|could not be proven|same (?:reply|answer|page)|outside|ignore|contradict|not steady|for every call|whatever/i,
      };
    },
  ),
  form(
    'cache-of-the-day-before',
    'A new day is answered by the entries of the day before it, as a cache would.',
    (scene) => {
      const before = scene.days[scene.days.indexOf(scene.target) - 1]!;
      const bookings = dayEntries(scene);
      return {
        lies: together(hiding(bookings, 'one night'), {
          reply: (reply, call, { since }, ask) =>
            since === 0 && reaches(call, scene.target, scene.zone) && !reaches(call, before, scene.zone)
              ? ask({ ...call, beginMs: call.beginMs - 86_400_000, endMs: call.endMs - 86_400_000 })
              : reply,
        }),
        where: [{ currency: null, day: scene.target }],
        says: /outside|no instant|cache|missing|late|not steady|contradict|ignore|revised/i,
      };
    },
  ),
  form(
    'zone-every-other-night',
    'Every other night timestamps are in UTC.',
    (scene) => ({
      lies: { zoneOf: (_, { since, night }) => (since >= 0 && night % 2 === 0 ? 'UTC' : scene.zone) },
      where: 'everywhere',
      says: /zone/i,
    }),
    { setting: { ...NIGHTS, zone: 'Asia/Shanghai' } },
  ),
];
