/** Forms of lie: limits on the length of a window, on how far back it goes, and on how many entries can be paged through. */
import { dayOf } from '../../../src/ledger/business-day.ts';
import type { Form, Planted, Scene, Setting } from '../form.ts';
import { type Call, type Lies, type Reply } from '../platform.ts';
import { answering, amending, dayEntries, emptied, formOf, middleOf, placesOf, together } from './tools.ts';

const form = formOf('windows and caps');
const DAY_MS = 86_400_000;
const SAYS_OLD = /amended|older days?|not compared|uncompared|\bwindow/i;
const SAYS_LIMIT = /window|range|older days?|not compared|uncompared|limit|refus|\bcap|amended/i;
const REFUSAL = '{"respCode":"E10031","respMsg":"the date range is too long"}';

const LONG_LIFE: Setting = { honestDays: 40, resweepDays: 3, perDay: [3, 4], currencies: 1, nightsAfter: 9 };
const SHORT_LIFE: Setting = { honestDays: 16, resweepDays: 3, perDay: [3, 4], currencies: 1, nightsAfter: 9 };
/** Life of more than one page, all of it older than the limit of what can be paged through. */
const PAGED_LIFE: Setting = {
  honestDays: 14,
  resweepDays: 2,
  perDay: [60, 70],
  currencies: 1,
  nightsAfter: 9,
};

const longer =
  (days: number) =>
  ({ beginMs, endMs }: Call): boolean =>
    endMs - beginMs > days * DAY_MS;

const refused = (reply: Reply): Reply => ({ ...reply, text: REFUSAL });
/** The platform always has had the limit; nothing else is a lie before the lie's night. */
const always = (change: (reply: Reply, call: Call, ask: (call: Call) => Reply) => Reply): Lies => ({
  reply: (reply, call, _at, ask) => change(reply, call, ask),
});

/** An old entry is amended, and every later balance of its day only: the account's life goes on as it was. */
function withOldChange(scene: Scene, limit: Lies, says = SAYS_LIMIT): Planted {
  const booking = middleOf(scene, scene.old);
  return {
    lies: together(
      amending([booking], (one) => ({ ...one, type: 'T9' })),
      limit,
    ),
    where: placesOf([booking], scene.zone),
    says,
  };
}

const limitForm = (
  name: string,
  lie: string,
  limit: (scene: Scene) => Lies,
  setting: Setting,
  says?: RegExp,
): Form => form(name, lie, (scene) => withOldChange(scene, limit(scene), says), { setting });

/** Only the first entries that match can be paged through. */
const pagedTo =
  (pages: number, change: (reply: Reply) => Reply = (reply) => ({ ...reply, lines: [] })) =>
  (reply: Reply, { pageNum }: Call): Reply =>
    pageNum > pages ? change(reply) : reply;

export const windowForms: readonly Form[] = [
  limitForm(
    'window-over-31-days-refused',
    'Windows over 31 days are always refused, and an old entry is amended.',
    () => always((reply, call) => (longer(31)(call) ? refused(reply) : reply)),
    LONG_LIFE,
  ),
  limitForm(
    'window-over-9-days-refused',
    'Windows over 9 days are always refused, and an old entry is amended.',
    () => always((reply, call) => (longer(9)(call) ? refused(reply) : reply)),
    SHORT_LIFE,
  ),
  limitForm(
    'window-over-9-days-refused-from-a-night-on',
    'From one night on windows over 9 days are refused, and an old entry is amended.',
    () => answering(refused, 'for good', longer(9)),
    SHORT_LIFE,
  ),
  limitForm(
    'window-over-31-days-empty',
    'From one night on windows over 31 days are answered empty, and an old entry is amended.',
    () => answering((reply, call) => (longer(31)(call) ? emptied(reply) : reply)),
    LONG_LIFE,
  ),
  limitForm(
    'window-over-9-days-empty',
    'From one night on windows over 9 days are answered empty, and an old entry is amended.',
    () => answering((reply, call) => (longer(9)(call) ? emptied(reply) : reply)),
    SHORT_LIFE,
  ),
  limitForm(
    'window-capped-to-its-last-days',
    'From one night on only the last 9 days of a longer window are answered, and an old entry is amended.',
    () =>
      answering((reply, call, ask) =>
        longer(9)(call) ? ask({ ...call, beginMs: call.endMs - 9 * DAY_MS }) : reply,
      ),
    SHORT_LIFE,
  ),
  limitForm(
    'window-capped-to-its-first-days',
    'From one night on only the first 9 days of a longer window are answered, and an old entry is amended.',
    () =>
      answering((reply, call, ask) =>
        longer(9)(call) ? ask({ ...call, endMs: call.beginMs + 9 * DAY_MS }) : reply,
      ),
    SHORT_LIFE,
  ),
  limitForm(
    'pages-past-a-cap-empty',
    'From one night on pages past the third are empty, and an old entry is amended.',
    () => answering(pagedTo(3)),
    PAGED_LIFE,
  ),
  limitForm(
    'pages-past-a-cap-refused',
    'From one night on pages past the third are refused, and an old entry is amended.',
    () => answering(pagedTo(3, refused)),
    PAGED_LIFE,
  ),
  limitForm(
    'total-capped',
    'From one night on no total is over 300, pages past it are empty, and an old entry is amended.',
    () =>
      answering((reply, { pageNum }) => ({
        ...reply,
        total: Math.min(300, reply.total),
        lines: pageNum > 3 ? [] : reply.lines,
      })),
    PAGED_LIFE,
  ),
  form(
    'old-days-refused',
    'From one night on the first days are refused: the platform keeps only the last two weeks.',
    (scene) => ({
      lies: answering(refused, 'for good', ({ beginMs }) => dayOf(beginMs, scene.zone) <= scene.days[2]!),
      where: 'everywhere',
      says: SAYS_OLD,
      first: /older days?|not compared|uncompared|window|refus|too long/i,
    }),
    { setting: SHORT_LIFE, mustBeReported: true },
  ),
  form(
    'old-days-empty',
    'From one night on the first days are answered empty: the platform keeps only the last two weeks.',
    (scene) => {
      const days = scene.days.slice(0, 3);
      return {
        lies: {
          lines: (lines, { since }) =>
            since < 0 ? lines : lines.filter(({ filterMs }) => !days.includes(dayOf(filterMs, scene.zone))),
        },
        where: placesOf(
          days.flatMap((day) => dayEntries(scene, day)),
          scene.zone,
        ),
        says: /vanished|no longer|\bgone\b|empty|older days?/i,
      };
    },
    { setting: SHORT_LIFE, neverBelieved: true },
  ),
  form(
    'window-under-a-day-empty',
    'Windows under a day are answered empty, and an entry is missing.',
    (scene) => {
      const booking = middleOf(scene);
      const short: Lies = answering(
        emptied,
        'for good',
        ({ beginMs, endMs }) => endMs - beginMs < DAY_MS / 2,
      );
      const hide: Lies = {
        lines: (lines, { since }) =>
          since < 0 ? lines : lines.filter(({ batchNo }) => batchNo !== booking.batchNo),
      };
      return {
        lies: together(hide, short),
        where: placesOf([booking], scene.zone),
        says: /missing|vanished|not steady|different|empty|contradict|no instant|not found/i,
      };
    },
  ),
  form('window-under-a-day-refused', 'Windows under a day are refused, and an entry is missing.', (scene) => {
    const booking = middleOf(scene);
    const short: Lies = answering(refused, 'for good', ({ beginMs, endMs }) => endMs - beginMs < DAY_MS / 2);
    const hide: Lies = {
      lines: (lines, { since }) =>
        since < 0 ? lines : lines.filter(({ batchNo }) => batchNo !== booking.batchNo),
    };
    return {
      lies: together(hide, short),
      where: placesOf([booking], scene.zone),
      says: /missing|refus|date range/i,
    };
  }),
  form(
    'results-capped-at-one-hundred',
    'From one night on no window shows more than its first 100 entries, and its total says so.',
    (scene) => ({
      lies: answering((reply, { pageNum }) => ({
        ...reply,
        total: Math.min(100, reply.total),
        lines: pageNum > 1 ? [] : reply.lines,
      })),
      where: [{ currency: null, day: scene.target }],
      says: /\bcap|limit|at most \d+|never more than|100 entries|not steady|no longer|entr(?:y|ies) (?:is|are) missing|vanished/i,
      first:
        /\bcap|\blimit|at most \d+|never more than|100 entries|not steady|contradict|no longer|vanished/i,
    }),
    { setting: { perDay: [130, 160], currencies: 1, honestDays: 2, nightsAfter: 1 } },
  ),
];
