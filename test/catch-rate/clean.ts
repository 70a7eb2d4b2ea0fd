/** Plays honest histories. Whatever a run reports about one is a false alarm. */
import { dayOf, dayWindow } from '../../src/ledger/business-day.ts';
import { below, seeded } from '../../src/plugins/sandbox/ledger.ts';
import { sumOfSync } from '../../src/sync/sync-report.ts';
import type { Rig } from '../simulation/rig.ts';
import { balanced, pick, type Booking } from './books.ts';
import { OWN, type Setting } from './form.ts';
import { HONEST_TRAITS, type Trait } from './honest-traits.ts';
import { playSteps, type Product, type Seen } from './play.ts';
import { together } from './forms/tools.ts';
import { booksIngredients, noticing } from './ingredients.ts';
import { ORDERS, type Lies } from './platform.ts';
import { drawHistory, type Drawn, type Step } from './scene.ts';

/** Six zones. In most of them the clock changes, forward or back, soon after the first day. */
const PLACES: readonly Required<Pick<Setting, 'zone' | 'firstDay'>>[] = [
  { zone: 'Asia/Shanghai', firstDay: '2026-05-11' },
  { zone: 'Asia/Kolkata', firstDay: '2026-06-29' },
  { zone: 'Europe/Berlin', firstDay: '2026-03-26' },
  { zone: 'Europe/Berlin', firstDay: '2026-10-22' },
  { zone: 'America/New_York', firstDay: '2026-03-05' },
  { zone: 'America/New_York', firstDay: '2026-10-29' },
  { zone: 'America/Santiago', firstDay: '2026-04-01' },
  { zone: 'America/Santiago', firstDay: '2026-09-02' },
  { zone: 'Australia/Lord_Howe', firstDay: '2026-04-02' },
  { zone: 'Australia/Lord_Howe', firstDay: '2026-10-01' },
];

const SECOND_MS = 1_000;

const MANY_A_DAY = 30;

const isWeekend = (day: string): boolean => [0, 6].includes(new Date(day).getUTCDay());

const WEEKS = 'weekends without entries, for six weeks';
const TRAITS: readonly Trait[] = [
  {
    name: 'a second of jitter',
    often: 4,
    books: (books, random) =>
      books.map((booking) =>
        booking.stampMs === booking.atMs && random() < 0.2
          ? { ...booking, stampMs: booking.stampMs + (random() < 0.5 ? -1 : 1) * SECOND_MS }
          : booking,
      ),
  },
  {
    name: 'several entries in one second',
    often: 4,
    books: (books, random) => {
      const at = new Map<string, number>();
      return balanced(
        books.map((booking) => {
          const before = at.get(booking.currency);
          const atMs = before !== undefined && random() < 0.2 ? before : booking.atMs;
          at.set(booking.currency, atMs);
          return { ...booking, atMs, stampMs: atMs };
        }),
      );
    },
  },
  {
    name: 'days without entries',
    often: 2,
    books: (books, random, { scene: { zone, days } }) => {
      // An empty day is rightly reported if its weekday was busy for four weeks. So only earlier days are emptied. So is the
      // last day that is read of an account that is always busy, and of few days each one is the last once.
      if (days.length < 20 && books.length > MANY_A_DAY * days.length) return [...books];
      const empty = pick(random, days.slice(0, 20));
      return balanced(books.filter(({ atMs }) => dayOf(atMs, zone) !== empty));
    },
  },
  { name: 'more than a page a day', often: 0.5, setting: { perDay: [101, 130], currencies: 1 } },
  { name: 'a life before the first reading', often: 2, setting: { lifeBefore: true } },
  {
    name: WEEKS,
    often: 0.3,
    setting: { perDay: [13, 20], honestDays: 36 },
    books: (books, _, { scene: { zone } }) =>
      balanced(books.filter(({ atMs }) => !isWeekend(dayOf(atMs, zone)))),
  },
  {
    name: 'first two entries that cancel, a second or two apart, their stamps swapped',
    often: 0.5,
    books: (books, random) => {
      const apartMs = (1 + below(random, 2)) * SECOND_MS;
      const [one, two] = books.filter(({ currency }) => currency === books[0]!.currency);
      if (one === undefined || two === undefined) return [...books];
      return balanced(
        books.map((booking) => {
          if (booking === one) return { ...one, stampMs: one.atMs + apartMs };
          if (booking === two) return { ...two, net: -one.net, atMs: one.atMs + apartMs, stampMs: one.atMs };
          return booking;
        }),
      );
    },
  },
  ...HONEST_TRAITS,
  {
    name: 'a late entry within the re-sweep',
    often: 1,
    setting: { honestDays: 3, currencies: 2 },
    lies: ({ scene: { books, currencies } }) => {
      const last = books.findLast(({ currency }) => currency === currencies[0])!;
      return {
        books: (held, { since }) =>
          since >= 1 ? held : held.filter(({ batchNo }) => batchNo !== last.batchNo),
      };
    },
  },
];
/** Traits that draw the books anew must come first. The last one only changes times. */
const LATE_ENTRY = TRAITS.at(-1)!;

export interface CleanOutcome {
  readonly seed: string;
  /** How many entries had been read by the end. */
  readonly entries: number;
  readonly runs: number;
  /** A sentence for each false alarm. */
  readonly alarms: readonly string[];
  /** How often copy or statements were wrong after a run. */
  readonly harmed: number;
  readonly traits: readonly string[];
  /** What it truly had, in the books and in replies. */
  readonly ingredients: readonly string[];
}

/** Plays one honest history. */
export async function playClean(rig: Rig, seed: string, product?: Product): Promise<CleanOutcome> {
  const random = seeded(`${seed}/clean`);
  const found = TRAITS.filter(({ often }) => random() * 10 < often);
  // The account of a late entry goes quiet afterwards, which is rightly reported where each weekday was busy for weeks.
  const traits = found.some(({ name }) => name === WEEKS) ? found.filter((one) => one !== LATE_ENTRY) : found;
  const setting = Object.assign({}, pick(random, PLACES), ...traits.map((trait) => trait.setting)) as Setting;
  const fewest = 3 + below(random, 2);
  const honestDays = Math.max(fewest, ...traits.map((trait) => trait.setting?.honestDays ?? 0));
  const isLate = traits.includes(LATE_ENTRY);
  // Its account goes quiet on the last day read first, so that the lookback still reaches the entry.
  const drawn = drawHistory({ ...setting, honestDays, ...(isLate && { quietFrom: honestDays + 1 }) }, seed);
  let books: readonly Booking[] = drawn.scene.books;
  for (const trait of [...traits].reverse()) books = trait.books?.(books, random, drawn) ?? books;
  const scene = { ...drawn.scene, books };
  const honest: Drawn = {
    ...drawn,
    scene,
    steps: traits.some(({ isBackfilled }) => isBackfilled) ? backfilled(drawn) : drawn.steps,
    order: pick(random, ORDERS),
    booksOf: (merchantNo) => (merchantNo === OWN ? books : drawn.scene.otherBooks),
  };
  const hidesPast = traits.some((trait) => trait.hidesPast === true || trait.setting?.lifeBefore === true);
  const met = new Set<string>();
  const lies = together(
    ...traits.map(({ name, lies: of }): Lies => noticing(of?.(honest, random) ?? {}, name, met)),
  );
  const seen = await playSteps(rig, honest, { lies }, product === undefined ? {} : { product });
  const lastMs = seen.at(-1)!.step.nowMs;
  const fromMs = dayWindow(scene.days[0]!, scene.zone).beginMs;
  const untilMs = dayWindow(dayOf(lastMs, scene.zone), scene.zone).beginMs;
  const read = { first: honest.steps[0]!.range!.to, last: dayOf(untilMs - 1, scene.zone) };
  return {
    seed,
    entries: books.filter(({ stampMs }) => stampMs >= fromMs && stampMs < untilMs).length,
    runs: seen.length,
    alarms: seen.flatMap((one) => alarmsOf(one, { isLate, hidesPast })),
    harmed: seen.filter(({ isHarmed }) => isHarmed).length,
    traits: traits.map(({ name }) => name),
    ingredients: [...booksIngredients(books, scene, read), ...met],
  };
}

/** The first day is not read at first, but in the night after. */
function backfilled({ steps, scene: { days } }: Drawn): Step[] {
  const [first, ...later] = steps as [Step, ...Step[]];
  const readFrom = days[1]!;
  const night = later.findIndex(({ name }) => name === 'night');
  const before = later.slice(0, night + 1).map((step) => ({ ...step, readFrom }));
  const range = { from: days[0]!, to: days[0]! };
  const backfill = { ...before.at(-1)!, name: 'backfill', readFrom: days[0]!, range };
  return [
    { ...first, range: { from: readFrom, to: first.range!.to }, readFrom },
    ...before,
    { ...backfill, nowMs: backfill.nowMs + 600_000 },
    ...later.slice(night + 1),
  ];
}

/** Said where entries fit several openings and nothing decides. */
const UNDECIDED = /its entries cancel and fit each of them/;

/**
 * What a run on an honest ledger should not have reported. After a late entry, a revised statement may be reported; where
 * the past cannot be known, an opening that is not decided.
 */
function alarmsOf(
  { step, exitCode, reported, report }: Seen,
  { isLate, hidesPast }: { readonly isLate: boolean; readonly hidesPast: boolean },
): string[] {
  const alarms: string[] = [];
  const reasons = (report?.reasons ?? []).filter((reason) => reason.exitCode !== 0);
  const isAllowed =
    reasons.length > 0 &&
    reasons.every(
      ({ what }) =>
        (isLate && /\brevised\b/i.test(what)) ||
        (hidesPast && (UNDECIDED.test(what) || /\brevised\b/i.test(what))),
    );
  if (exitCode !== 0 && !isAllowed)
    alarms.push(`${step.name} ended with ${exitCode}: ${reasons[0]?.what ?? reported.text.split('\n')[0]!}`);
  else if (reported.breaks > 0) alarms.push(`${step.name} left ${reported.breaks} breaks`);
  for (const notice of Object.keys(report === null ? {} : sumOfSync(report.sync).notices))
    alarms.push(`${step.name} gave a notice: ${notice}`);
  return alarms;
}
