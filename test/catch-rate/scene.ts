/** Draws the ledger in which a lie is planted, and the runs of its history. */
import { addDays, dayOf, dayWindow } from '../../src/ledger/business-day.ts';
import { below, seeded, type Random } from '../../src/plugins/sandbox/ledger.ts';
import { balanced, drawBooks, pick, type Booking } from './books.ts';
import { OTHER, OWN, type Scene, type Setting } from './form.ts';
import { ORDERS, type Order } from './platform.ts';

const ZONES = [
  'Asia/Shanghai',
  'Europe/Berlin',
  'America/New_York',
  'Asia/Kolkata',
  'America/Santiago',
  'UTC',
] as const;
/** The first account's currency has decimals, because every form needs some. */
const FIRST_CURRENCIES = ['USD', 'EUR', 'KWD'] as const;
const SECOND_CURRENCIES = ['JPY', 'EUR', 'USD', 'KWD'] as const;
const FIRST_DAY = '2026-01-05';
const FIRST_DAYS = 360;
const HONEST_DAYS = 3;
const NIGHTS_AFTER = 2;
/** Covers every day read before the lie. Less than the default, to keep a history short. */
const RESWEEP_DAYS = 3;
const PER_DAY = [3, 12] as const;
/** A nightly run begins at 01:30, and the second run of a day at 13:30. */
const NIGHT_MINUTES = 90;
const MIDDAY_MINUTES = 13 * 60 + 30;
const MINUTE_MS = 60_000;

/** One run of a history. */
export interface Step {
  readonly name: string;
  readonly nowMs: number;
  /** How many runs after the one in which the lie begins; negative before it. */
  readonly since: number;
  /** How many nights after that one. */
  readonly night: number;
  /** Days asked for by date. Null for what a nightly run reads by default. */
  readonly range: { readonly from: string; readonly to: string } | null;
  /** The first day that has been read; if left out, the first of all. */
  readonly readFrom?: string;
}

export interface Drawn {
  readonly scene: Scene;
  readonly resweepDays: number;
  readonly order: Order;
  /** The zone daybook is set to. The scene has the platform's zone. */
  readonly zoneSet: string;
  readonly steps: readonly Step[];
  readonly booksOf: (merchantNo: string) => readonly Booking[];
  readonly merchants: readonly string[];
}

/** Draws everything except the lie, from a seed text. */
export function drawHistory(setting: Setting, seed: string): Drawn {
  const random = seeded(seed);
  const zoneSet = setting.zone ?? pick(random, ZONES);
  const zone = setting.platformZone ?? zoneSet;
  const firstDay = setting.firstDay ?? addDays(FIRST_DAY, below(random, FIRST_DAYS));
  const honestDays = setting.honestDays ?? HONEST_DAYS;
  const nightsAfter = setting.nightsAfter ?? NIGHTS_AFTER;
  const days = Array.from({ length: honestDays + 2 + nightsAfter }, (_, day) => addDays(firstDay, day));
  const currencies = drawCurrencies(random, setting.currencies ?? 1 + below(random, 2));
  const shape = {
    zone,
    days: setting.lifeBefore === true ? [addDays(firstDay, -1), ...days] : days,
    currencies,
    perDay: setting.perDay ?? PER_DAY,
    quietFrom: setting.quietFrom,
    lateEvenings: setting.lateEvenings,
  };
  const drawnBooks = drawBooks(shape, 'A', random);
  const otherBooks = drawBooks({ ...shape, quietFrom: undefined }, 'B', random);
  const isFirst = setting.fromTheFirstReading === true;
  const target = days[isFirst ? honestDays - 1 : honestDays]!;
  const books =
    setting.newCurrency === true
      ? begunOn(drawnBooks, { currency: currencies[1]!, day: target, zone })
      : drawnBooks;
  const old = days[setting.quietFrom === undefined ? below(random, 2) : 1]!;
  return {
    scene: { random, zone, books, otherBooks, currencies, days, target, old },
    resweepDays: setting.resweepDays ?? RESWEEP_DAYS,
    order: setting.order ?? pick(random, ORDERS.slice(0, -1)),
    zoneSet,
    steps: stepsOf({ days, honestDays, isFirst, zone: zoneSet }, setting),
    booksOf: (merchantNo) => (merchantNo === OWN ? books : otherBooks),
    merchants: setting.bothMerchants === true ? [OWN, OTHER] : [OWN],
  };
}

/** The books without the account's entries before that day. */
const begunOn = (
  books: readonly Booking[],
  { currency, day, zone }: { readonly currency: string; readonly day: string; readonly zone: string },
): Booking[] => balanced(books.filter((one) => one.currency !== currency || dayOf(one.stampMs, zone) >= day));

function drawCurrencies(random: Random, count: number): string[] {
  const first = pick(random, FIRST_CURRENCIES);
  const second = pick(
    random,
    SECOND_CURRENCIES.filter((currency) => currency !== first),
  );
  return [first, second].slice(0, count);
}

/** The first reading, then one run each night, and one at midday after the night in which the lie begins. */
function stepsOf(
  life: {
    readonly days: readonly string[];
    readonly honestDays: number;
    readonly isFirst: boolean;
    readonly zone: string;
  },
  setting: Setting,
): Step[] {
  const { days, honestDays, isFirst, zone } = life;
  const at = (day: number, minutes: number): number =>
    dayWindow(days[day]!, zone).beginMs + minutes * MINUTE_MS;
  const nightMinutes = setting.nightMinutes ?? NIGHT_MINUTES;
  const firstSince = isFirst ? 0 : -1;
  const range = { from: days[0]!, to: days[honestDays - 1]! };
  const steps: Step[] = [
    {
      name: 'first reading',
      nowMs: at(honestDays, NIGHT_MINUTES),
      since: firstSince,
      night: firstSince,
      range,
    },
  ];
  const add = (name: string, nowMs: number, night: number): void => {
    steps.push({ name, nowMs, since: steps.at(-1)!.since + 1, night, range: null });
  };
  const midday = (day: number): void => {
    if (steps.at(-1)!.since === 0) add('midday', at(day, MIDDAY_MINUTES), 0);
  };
  midday(honestDays);
  for (let day = honestDays + 1; day < days.length; day += 1) {
    add('night', at(day, nightMinutes), day - honestDays - (isFirst ? 0 : 1));
    midday(day);
  }
  return steps;
}
