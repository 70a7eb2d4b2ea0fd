/** Forms of lie: requests with a filter, and second pages, that are answered otherwise than the rest. */
import { dayWindow } from '../../../src/ledger/business-day.ts';
import type { Form, Scene, Setting } from '../form.ts';
import { OTHER } from '../form.ts';
import { PAGE_SIZE_MAX } from '../../../src/platform/wire.ts';
import type { Call, Reply } from '../platform.ts';
import { moved } from './amounts.ts';
import {
  accountOf,
  answering,
  emptied,
  formOf,
  hiding,
  middleOf,
  placesOf,
  reaches,
  together,
} from './tools.ts';

const form = formOf('pages and filters that contradict');
/** Replies that contradict each other have to be reported after three nights of them. */
const TWO_PAGES: Setting = { perDay: [110, 130], currencies: 1, honestDays: 2, nightsAfter: 4 };
/** So many nights that three show it, even if it shows in few of them. */
const SELDOM: Setting = { nightsAfter: 7 };
const THREE_PAGES: Setting = { ...TWO_PAGES, ...SELDOM, perDay: [210, 230] };
const SAYS_PAGES =
  /\bpages?\b|distinct|total|not steady|contradict|came without|entries are missing|is missing|vanished|no longer/i;
const SAYS_FILTER = /filter|batchNo|currency|ignore|not steady|contradict/i;
const DAY_MS = 86_400_000;

type Change = (reply: Reply, call: Call, ask: (call: Call) => Reply) => Reply;

/** Every page 2 from the new day on. */
const onPageTwo = (
  name: string,
  lie: string,
  change: Change,
  says = SAYS_PAGES,
  setting: Setting = TWO_PAGES,
): Form =>
  form(
    name,
    lie,
    (scene: Scene) => ({
      lies: answering(
        change,
        'for good',
        (call) => call.pageNum > 1 && call.endMs >= dayWindow(scene.target, scene.zone).beginMs,
      ),
      where: 'everywhere',
      says,
    }),
    { setting, mustBeReported: true },
  );

/** The day's pages, on page 1 as well. */
const onEveryPage = (
  name: string,
  lie: string,
  change: Change,
  says = SAYS_PAGES,
  setting = TWO_PAGES,
): Form =>
  form(
    name,
    lie,
    (scene: Scene) => ({
      lies: answering(change, 'for good', (call) => reaches(call, scene.target, scene.zone)),
      where: [{ currency: null, day: scene.target }],
      says,
    }),
    { setting, mustBeReported: true },
  );

/** Only requests with a filter are answered wrongly, and an entry of the new day is missing. */
const onFilter = (name: string, lie: string, isMeant: (call: Call) => boolean, change: Change): Form =>
  form(name, lie, (scene) => {
    const booking = middleOf(scene);
    return {
      lies: together(hiding([booking]), answering(change, 'for good', isMeant)),
      where: placesOf([booking], scene.zone),
      says: new RegExp(`${SAYS_FILTER.source}|entr(?:y|ies) (?:is|are) missing`, 'i'),
    };
  });

const byNumber = ({ batchNo }: Call): boolean => batchNo !== undefined;
const byCurrency = ({ currency }: Call): boolean => currency !== undefined;

export const filterForms: readonly Form[] = [
  onPageTwo(
    'page-two-amounts-off',
    'The balances on page 2 are off by the same.',
    (reply) => ({
      ...reply,
      lines: reply.lines.map((line) => ({ ...line, balance: moved(line.balance, line.currency, 300) })),
    }),
    /balance|amended/i,
  ),
  onPageTwo(
    'page-two-of-another-merchant',
    "Page 2 is of another merchant's ledger.",
    (_, call, ask) => ask({ ...call, merchantNo: OTHER }),
    /merchant|\bpages?\b|distinct|total|not steady|contradict|came without/i,
    { ...TWO_PAGES, ...SELDOM, bothMerchants: true },
  ),
  onPageTwo('page-two-lacks-an-entry', 'Page 2 lacks its last entry; the total counts it.', (reply) => ({
    ...reply,
    lines: reply.lines.slice(0, -1),
  })),
  onPageTwo('page-two-empty', 'Page 2 is empty for good; the total counts its entries.', (reply) => ({
    ...reply,
    lines: [],
  })),
  onPageTwo('page-two-total-zero', 'Page 2 is answered by total 0.', emptied),
  onPageTwo('page-two-counts-itself', 'The total of page 2 is the number of its own entries.', (reply) => ({
    ...reply,
    total: reply.lines.length,
  })),
  onPageTwo(
    'page-two-of-the-day-before',
    'Page 2 is that of the day before.',
    (reply, call, ask) => ({
      ...ask({ ...call, beginMs: call.beginMs - DAY_MS, endMs: call.endMs - DAY_MS }),
      total: reply.total,
    }),
    /outside|\bpages?\b|distinct|total|not steady|contradict/i,
  ),
  onPageTwo(
    'page-three-is-page-two',
    'Page 3 repeats page 2.',
    (reply, call, ask) => (call.pageNum > 2 ? ask({ ...call, pageNum: 2 }) : reply),
    SAYS_PAGES,
    THREE_PAGES,
  ),
  onEveryPage('totals-count-pages', 'The total of a day is its number of pages.', (reply) => ({
    ...reply,
    total: Math.ceil(reply.total / PAGE_SIZE_MAX),
  })),
  onEveryPage(
    'totals-count-the-page',
    'The total of each page is the number of its own entries.',
    (reply) => ({
      ...reply,
      total: reply.lines.length,
    }),
  ),
  onEveryPage(
    'pages-begin-at-zero',
    'Pages are counted from 0, so page 1 is the second one.',
    (reply, call, ask) => ({
      ...ask({ ...call, pageNum: call.pageNum + 1 }),
      total: reply.total,
    }),
  ),
  onEveryPage('pages-all-empty', 'Every page of a day is empty, and its total is right.', (reply) => ({
    ...reply,
    lines: [],
  })),
  onEveryPage(
    'page-size-ten',
    'A page holds 10 entries and says it holds 100.',
    (reply) => ({ ...reply, lines: reply.lines.slice(0, 10) }),
    SAYS_PAGES,
    { perDay: [15, 20], currencies: 1 },
  ),
  onFilter(
    'number-filter-empty',
    'Beside a batchNo nothing is found, and an entry is missing.',
    byNumber,
    emptied,
  ),
  onFilter(
    'number-filter-of-another',
    'Beside a batchNo all entries are answered, and an entry is missing.',
    byNumber,
    (_, call, ask) => ask({ ...call, batchNo: undefined }),
  ),
  onFilter(
    'currency-filter-empty',
    'Beside a currency nothing is found, and an entry is missing.',
    byCurrency,
    emptied,
  ),
  onFilter(
    'currency-filter-ignored',
    'A currency in the request is ignored, and an entry is missing.',
    byCurrency,
    (_, call, ask) => ask({ ...call, currency: undefined }),
  ),
  form(
    'new-currency-behind-an-ignored-filter',
    'A new currency lacks its first entry, and a currency in the request is ignored.',
    (scene) => {
      const first = scene.books.find(({ currency }) => currency === scene.currencies[1])!;
      return {
        lies: together(
          hiding([first]),
          answering((_, call, ask) => ask({ ...call, currency: undefined }), 'for good', byCurrency),
        ),
        where: placesOf([first], scene.zone),
        says: /missing|first entr|starts? (?:from|at|with)|opening|currency/i,
      };
    },
    { setting: { currencies: 2, newCurrency: true } },
  ),
  form(
    'number-filter-shows-what-is-gone',
    'An entry read before is gone, and is still found by its batchNo.',
    (scene) => {
      const booking = middleOf(scene, scene.days[1]);
      return {
        lies: answering(
          (reply) => {
            const lines = reply.lines.filter(({ batchNo }) => batchNo !== booking.batchNo);
            return { ...reply, total: reply.total - (reply.lines.length - lines.length), lines };
          },
          'for good',
          (call) => !byNumber(call),
        ),
        where: [{ currency: accountOf(scene), day: scene.days[1]! }],
        says: /vanished|no longer|batchNo|not steady|contradict/i,
      };
    },
  ),
];
