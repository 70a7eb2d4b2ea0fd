/** Forms of lie: totals that are not the number of entries. */
import { dayWindow } from '../../../src/ledger/business-day.ts';
import { OWN, type Form, type Planted, type Scene, type Setting } from '../form.ts';
import type { Call, Lies, Moment, Reply } from '../platform.ts';
import { formOf, isReported, type Lasting } from './tools.ts';

const form = formOf('totals');
const SAYS_TOTAL =
  /total (?:is|was|of) \d+|held \d+ where \d+ were due|entr(?:y|ies) (?:is|are) missing|total of a span .* different entries|not steady about it: .* \d+ entries at first/i;

/** Changes the replies to calls that include the day, or only the first of them. */
function repliesFor(
  scene: Scene,
  reported: Lasting | 'one call',
  change: (reply: Reply, call: Call) => Reply,
): Lies {
  const day = dayWindow(scene.target, scene.zone);
  let toldIn = -1;
  return {
    reply: (reply, call, at: Moment) => {
      const reaches = call.beginMs <= day.endMs && call.endMs >= day.beginMs && reply.total > 0;
      if (
        !reaches ||
        call.merchantNo !== OWN ||
        !isReported(at, reported === 'one call' ? 'one night' : reported)
      )
        return reply;
      if (reported === 'one call' && toldIn !== -1 && toldIn !== call.nth) return reply;
      toldIn = call.nth;
      return change(reply, call);
    },
  };
}

function lyingTotal(
  name: string,
  lie: string,
  reported: Lasting | 'one call',
  change: (reply: Reply, call: Call) => Reply,
  setting: Setting = {},
): Form {
  const plant = (scene: Scene): Planted => ({
    lies: repliesFor(scene, reported, change),
    where: [{ currency: null, day: scene.target }],
    says: SAYS_TOTAL,
  });
  return form(name, lie, plant, { setting });
}

const empty = (reply: Reply): Reply => ({ ...reply, total: 0, lines: [] });
const plus =
  (by: number) =>
  (reply: Reply): Reply => ({ ...reply, total: reply.total + by });
/** The reply as if the ledger ended with its first page. */
const firstPageOnly = (reply: Reply, { pageNum }: Call): Reply => ({
  ...reply,
  total: Math.min(100, reply.total),
  lines: pageNum === 1 ? reply.lines : [],
});
/** Long enough that a weekday without entries is suspicious. */
export const BUSY: Setting = { perDay: [13, 20], honestDays: 29, resweepDays: 1, nightsAfter: 1 };
const TWO_PAGES: Setting = { perDay: [110, 130], currencies: 1, honestDays: 2, nightsAfter: 1 };

export const totalForms: readonly Form[] = [
  lyingTotal('total-zero-one-call', 'One call for a day is answered by total 0.', 'one call', empty),
  lyingTotal('total-zero-one-night', 'For one night a day is answered by total 0.', 'one night', empty),
  lyingTotal(
    'total-zero-for-good',
    'A day that has entries is answered by total 0 for good.',
    'for good',
    empty,
  ),
  lyingTotal(
    'total-zero-busy-one-night',
    'After four busy weeks a day is answered by total 0 for one night.',
    'one night',
    empty,
    BUSY,
  ),
  lyingTotal(
    'total-zero-busy-for-good',
    'After four busy weeks a day is answered by total 0 for good.',
    'for good',
    empty,
    BUSY,
  ),
  lyingTotal(
    'total-short-one-call',
    'One total is one short of the entries beside it.',
    'one call',
    plus(-1),
  ),
  lyingTotal('total-short-for-good', "A day's total is one short for good.", 'for good', plus(-1)),
  lyingTotal('total-long-one-call', 'One total is one more than there are entries.', 'one call', plus(1)),
  lyingTotal('total-long-for-good', "A day's total is one too many for good.", 'for good', plus(1)),
  lyingTotal(
    'total-of-one-page-one-night',
    'For one night only the first page of a day of two is there, and its total says so.',
    'one night',
    firstPageOnly,
    TWO_PAGES,
  ),
  lyingTotal(
    'total-of-one-page-for-good',
    'Only the first page of a day of two is there for good, and its total says so.',
    'for good',
    firstPageOnly,
    TWO_PAGES,
  ),
];
