/** Forms of lie: filters that are ignored, and pages that do not fit together. */
import { dayWindow } from '../../../src/ledger/business-day.ts';
import { OWN, type Form, type Planted, type Scene, type Setting } from '../form.ts';
import { PAGE_SIZE_MAX } from '../../../src/platform/wire.ts';
import type { Call, Line, Reply } from '../platform.ts';
import {
  accountOf,
  FIRST_MISSING,
  formOf,
  isReported,
  neighboursIn,
  placesOf,
  type Lasting,
} from './tools.ts';

const form = formOf('filters and pages');
const SAYS_FILTER = /ignores?\b.*\b(?:beginDate|endDate|dates)|batchNo .* alone/i;
const SAYS_PAGES = /\bpages?\b|distinct entries|\bpageSize\b/i;
const TWO_PAGES: Setting = { perDay: [110, 130], currencies: 1, honestDays: 2, nightsAfter: 1 };
const [ALL_BEGIN_MS, ALL_END_MS] = [1_000_000_000_000, 9_999_999_999_999];

/** Answers calls as if they asked for something else. */
const heedless = (
  reported: Lasting,
  change: (call: Call) => Call,
  isHeedless: (call: Call) => boolean = () => true,
): Planted => ({
  lies: {
    reply: (reply, call, at, ask) =>
      isReported(at, reported) && isHeedless(call) ? ask(change(call)) : reply,
  },
  where: 'everywhere',
  says: SAYS_FILTER,
});

type Ask = (call: Call) => Reply;

/** Changes the day's pages, whatever the call asked for. */
function paged(
  scene: Scene,
  reported: Lasting,
  change: (reply: Reply, call: Call, ask: Ask) => Reply,
): Planted {
  const day = dayWindow(scene.target, scene.zone);
  return {
    lies: {
      reply: (reply, call, at, ask) =>
        isReported(at, reported) &&
        call.merchantNo === OWN &&
        call.beginMs <= day.endMs &&
        call.endMs >= day.beginMs
          ? change(reply, call, ask)
          : reply,
    },
    where: [{ currency: accountOf(scene), day: scene.target }],
    says: SAYS_PAGES,
    first: new RegExp(`${SAYS_PAGES.source}|${FIRST_MISSING.source}`, 'i'),
  };
}

const overlapping = (reply: Reply, call: Call, ask: Ask): Reply => {
  const all: Line[] = [];
  for (let pageNum = 1; all.length < reply.total; pageNum += 1) {
    const { lines } = ask({ ...call, pageNum });
    if (lines.length === 0) break;
    all.push(...lines);
  }
  const first = (call.pageNum - 1) * 90;
  return { ...reply, lines: all.slice(first, first + PAGE_SIZE_MAX) };
};

const pageForm = (
  name: string,
  lie: string,
  reported: Lasting,
  change: (reply: Reply, call: Call, ask: Ask) => Reply,
  setting: Setting = TWO_PAGES,
): Form => form(name, lie, (scene) => paged(scene, reported, change), { setting });

export const pageForms: readonly Form[] = [
  form('dates-ignored', 'From one night on beginDate and endDate are ignored.', () =>
    heedless('for good', (call) => ({ ...call, beginMs: ALL_BEGIN_MS, endMs: ALL_END_MS })),
  ),
  form('dates-ignored-one-night', 'For one night beginDate and endDate are ignored.', () =>
    heedless('one night', (call) => ({ ...call, beginMs: ALL_BEGIN_MS, endMs: ALL_END_MS })),
  ),
  form('begin-ignored', 'From one night on beginDate is ignored.', () =>
    heedless('for good', (call) => ({ ...call, beginMs: ALL_BEGIN_MS })),
  ),
  form('end-ignored', 'From one night on endDate is ignored.', () =>
    heedless('for good', (call) => ({ ...call, endMs: ALL_END_MS })),
  ),
  form('batchNo-ignored', 'From one night on batchNo is ignored; dates are heeded.', () =>
    heedless('for good', (call) => ({ ...call, batchNo: undefined })),
  ),
  form('dates-ignored-beside-batchNo', 'Beside a batchNo, dates are ignored from one night on.', () =>
    heedless(
      'for good',
      (call) => ({ ...call, beginMs: ALL_BEGIN_MS, endMs: ALL_END_MS }),
      ({ batchNo }) => batchNo !== undefined,
    ),
  ),
  pageForm(
    'pages-overlap-one-night',
    'For one night page 2 begins with the last of page 1.',
    'one night',
    overlapping,
  ),
  pageForm('pages-overlap', 'Page 2 begins with the last of page 1 for good.', 'for good', overlapping),
  pageForm(
    'page-lost',
    'Page 2 is empty for one night, and the total counts its entries.',
    'one night',
    (reply, { pageNum }) => (pageNum > 1 ? { ...reply, lines: [] } : reply),
  ),
  pageForm('page-repeated', 'Page 1 is answered again as page 2.', 'for good', (reply, call, ask) =>
    call.pageNum > 1 ? ask({ ...call, pageNum: 1 }) : reply,
  ),
  pageForm(
    'page-size-smaller-unsaid',
    'A page holds 50 entries and says it holds 100.',
    'for good',
    (reply) => ({
      ...reply,
      lines: reply.lines.slice(0, 50),
    }),
  ),
  form(
    'page-size-smaller-said',
    'A page holds 50 entries where 100 were asked for, and says so.',
    (scene) => ({
      ...paged(scene, 'for good', (reply) => ({ ...reply, pageSize: 50, lines: reply.lines.slice(0, 50) })),
      where: 'everywhere',
    }),
    { setting: TWO_PAGES },
  ),
  pageForm(
    'page-cut-and-counted',
    'The last entry of page 1 is lost, and every total is one less.',
    'for good',
    (reply, { pageNum }) => ({
      ...reply,
      total: Math.max(0, reply.total - 1),
      lines: pageNum === 1 ? reply.lines.slice(0, -1) : reply.lines,
    }),
  ),
  form('number-shared-by-two', 'Two entries of a day have the same number and other contents.', (scene) => {
    const [one, two] = neighboursIn(scene);
    return {
      lies: {
        lines: (lines, { since }, merchantNo) =>
          since < 0 || merchantNo !== OWN
            ? lines
            : lines.map((line) => (line.batchNo === two.batchNo ? { ...line, batchNo: one.batchNo } : line)),
      },
      where: placesOf([one, two], scene.zone),
      says: /is used for two entries/i,
    };
  }),
];
