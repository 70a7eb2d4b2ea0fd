/** Honest habits of ledgers and platforms that a check might mistake for a lie, from bursts to limits of windows. */
import { dayOf, dayWindow } from '../../src/ledger/business-day.ts';
import { PlatformRejected } from '../../src/platform/errors.ts';
import { below, type Random } from '../../src/plugins/sandbox/ledger.ts';
import { balanced, pick, type Booking } from './books.ts';
import type { Setting } from './form.ts';
import { pageText, type Call, type Lies, type Reply } from './platform.ts';
import { without } from './forms/tools.ts';
import type { Drawn } from './scene.ts';

/** Something honest that a check might mistake for a lie. */
export interface Trait {
  readonly name: string;
  /** Of ten histories, how many have it. */
  readonly often: number;
  readonly setting?: Setting;
  readonly books?: (books: readonly Booking[], random: Random, drawn: Drawn) => Booking[];
  readonly lies?: (drawn: Drawn, random: Random) => Lies;
  /** The first reading begins a day later, and that day is read in a night after. */
  readonly isBackfilled?: boolean;
  /** The platform may refuse to say what came before, so that openings may honestly stay undecided. */
  readonly hidesPast?: boolean;
}

const DAY_MS = 86_400_000;
const LIMITS_DAYS = [9, 31];
const CURRENCIES = ['USD', 'EUR', 'JPY', 'KWD'];

const numbered = (random: Random): string =>
  `${pick(random, ['0', 'A', 'Z'])}${below(random, 1_000_000_000)}`;

/** A credit and an equal debit in one second, or the debit first. */
function pairAt(currency: string, atMs: number, random: Random): Booking[] {
  const net = (1 + below(random, 50_000)) * (random() < 0.5 ? -1 : 1);
  return [net, -net].map((own) => ({
    ...{ batchNo: numbered(random), currency, type: 'T1', net: own, balance: 0, atMs, stampMs: atMs },
  }));
}

const isOf = (day: string, zone: string, own: string) => (booking: Booking) =>
  booking.currency === own && dayOf(booking.atMs, zone) === day;

/** Takes the last booking of each account day away to zero, in its second or a minute later. */
function swept(books: readonly Booking[], random: Random, zone: string): Booking[] {
  const days = Map.groupBy(books, ({ currency, atMs }) => `${currency} ${dayOf(atMs, zone)}`);
  const balances = new Map<string, number>();
  const inSecond = random() < 0.5;
  const sweeps = [...days.values()]
    .sort((a, b) => a[0]!.atMs - b[0]!.atMs)
    .flatMap((own) => {
      const [{ currency }] = own as [Booking];
      const { atMs } = own.at(-1)!;
      const net = own.reduce((sum, one) => sum + one.net, balances.get(currency) ?? 0);
      balances.set(currency, 0);
      if (net === 0) return [];
      const sweptMs = Math.min(
        atMs + (inSecond ? 0 : 60_000),
        dayWindow(dayOf(atMs, zone), zone).endMs - 999,
      );
      const own2 = { batchNo: numbered(random), currency, type: 'T2', net: -net, balance: 0 };
      return [{ ...own2, atMs: sweptMs, stampMs: sweptMs }];
    });
  return balanced([...books, ...sweeps]);
}

/** A platform that refuses windows over some days, or else shows only their first days. */
const limitedTo = (days: number, kind: 'refused' | 'cut'): Trait => ({
  name: `windows over ${days} days ${kind}`,
  often: 0.5,
  // Life of more days than the limit, with few entries each.
  setting: { honestDays: days + 3, perDay: [1, 4] },
  lies: () => ({
    reply: (honest, call, _, ask) => {
      if (call.endMs - call.beginMs < days * DAY_MS) return honest;
      if (kind === 'refused') throw new PlatformRejected('HTTP 400: the range is too wide');
      return ask({ ...call, endMs: call.beginMs + days * DAY_MS - 1 });
    },
  }),
  hidesPast: true,
});

/** A platform that always sends these beside its pages, or beside those that `isMeant` picks. */
const sending = (
  name: string,
  fields: (reply: Reply, call: Call) => string,
  isMeant: (reply: Reply) => boolean = () => true,
): Trait => ({
  name,
  often: 0.7,
  lies: () => ({
    reply: (honest, call) =>
      isMeant(honest)
        ? { ...honest, text: `{${fields(honest, call)},${pageText(honest, call.pageNum).slice(1)}` }
        : honest,
  }),
});

const BESIDE: readonly Trait[] = [
  sending('constant fields beside each page', () => '"channel":"web-east","note":"see the manual"'),
  sending(
    'figures of paging and a number of the call beside each page',
    ({ total, lines }, { nth }) =>
      `"pages":${Math.ceil(total / 100)},"size":${lines.length},"hasNextPage":${total > 100},"isLastPage":${total <= 100},` +
      `"navigatepageNums":[${total === 0 ? '' : '1'}],"traceId":"9f8e7d6c5b4a${String(nth).padStart(4, '0')}","elapsed":${3 + nth}`,
  ),
  sending(
    'a message beside empty pages',
    () => '"message":"nothing to show"',
    ({ total }) => total === 0,
  ),
];

export const HONEST_TRAITS: readonly Trait[] = [
  ...BESIDE,
  {
    name: 'a burst in one second',
    often: 2,
    books: (books, random, { scene: { zone, days } }) => {
      const own = books.filter(isOf(pick(random, days), zone, pick(random, books).currency));
      const burst = new Set(own.slice(below(random, 3)).slice(0, 2 + below(random, 8)));
      const atMs = [...burst][0]?.atMs ?? 0;
      return balanced(books.map((one) => (burst.has(one) ? { ...one, atMs, stampMs: atMs } : one)));
    },
  },
  {
    name: 'equal pairs in one second',
    often: 2,
    books: (books, random, { scene: { zone, days, currencies } }) => {
      const pairs = days.flatMap((day) => {
        const currency = pick(random, currencies);
        const { beginMs, endMs } = dayWindow(day, zone);
        const atMs = beginMs + 1_000 * below(random, Math.floor((endMs - beginMs) / 1_000));
        return random() < 0.5 ? [] : pairAt(currency, atMs, random);
      });
      return balanced([...books, ...pairs]);
    },
  },
  {
    name: 'an account of equal pairs alone',
    often: 2,
    books: (books, random, { scene: { zone, days, currencies } }) => {
      const currency = CURRENCIES.find((one) => !currencies.includes(one))!;
      const first = below(random, 4);
      const isDaily = random() < 0.5;
      const pairs = days.slice(first, isDaily ? undefined : first + 1).flatMap((day) => {
        const atMs = dayWindow(day, zone).beginMs + 36_000_000;
        return pairAt(currency, atMs, random);
      });
      return balanced([...books, ...pairs]);
    },
  },
  {
    name: 'a sweep to zero each day',
    often: 1.5,
    books: (books, random, { scene: { zone } }) => swept(books, random, zone),
  },
  {
    name: 'a new currency after some days',
    often: 1.5,
    setting: { currencies: 2 },
    books: (books, random, { scene: { zone, days, currencies } }) => {
      const from = days[2 + below(random, 3)]!;
      return balanced(
        books.filter(({ currency, atMs }) => currency !== currencies[1] || dayOf(atMs, zone) >= from),
      );
    },
  },
  {
    name: 'an account with one entry',
    often: 1,
    setting: { currencies: 2 },
    books: (books, random, { scene: { currencies } }) => {
      const only = pick(
        random,
        books.filter(({ currency }) => currency === currencies[1]),
      );
      return balanced(books.filter((one) => one === only || one.currency !== currencies[1]));
    },
  },
  {
    name: 'entries on whole minutes',
    often: 1,
    books: (books) =>
      balanced(
        books.map((one) => {
          const atMs = one.atMs - (one.atMs % 60_000);
          return { ...one, atMs, stampMs: atMs };
        }),
      ),
  },
  {
    name: 'an entry in mid-read',
    often: 1.5,
    // The day that a night reads first gets its last entry between two calls.
    lies: ({ scene: { books, target, zone } }) => {
      const last = books.findLast(({ stampMs }) => dayOf(stampMs, zone) === target);
      return {
        reply: (honest, call, { since }, ask) =>
          since === 0 && call.nth === 0 && last !== undefined ? without(honest, [last], call, ask) : honest,
      };
    },
  },
  {
    name: 'an account that goes quiet',
    often: 1,
    setting: { quietFrom: 2 },
  },
  {
    name: 'an earlier day read later',
    often: 2,
    setting: { honestDays: 5 },
    isBackfilled: true,
    hidesPast: true,
  },
  ...LIMITS_DAYS.flatMap((days) => [limitedTo(days, 'refused'), limitedTo(days, 'cut')]),
];
