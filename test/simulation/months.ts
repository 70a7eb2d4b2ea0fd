/**
 * Draws several nights from a seed: the platform changes entries and misbehaves, and runs are cut short. Then all is
 * calm.
 */
import { addDays } from '../../src/ledger/business-day.ts';
import { below, seeded, type Random } from '../../src/plugins/sandbox/ledger.ts';
import { hostilitySchema, type Hostility } from '../../src/plugins/sandbox/behaviour.ts';
import type { Planted, ScenarioInput } from '../../src/plugins/sandbox/scenario.ts';
import { MERCHANT, OTHER, type Stage } from '../support/stage.ts';

export const FIRST_DAY = '2026-03-24';
export const LAST_DAY = '2026-04-01';
const DAYS = 9;
const ZONES = ['Asia/Shanghai', 'Europe/Berlin', 'America/New_York', 'UTC', 'Asia/Kolkata'];
const ORDERS = ['ascending', 'descending', 'window-shuffled', 'request-shuffled'] as const;
const STRIKES = [
  'liveInsertsEvery',
  'wrongTotalsEvery',
  'duplicateRowsEvery',
  'missingRowsEvery',
  'http429Every',
  'http500Every',
  'resetEvery',
  'truncatedEvery',
  'htmlEvery',
  'errorDocumentEvery',
] as const;

export const chanceOf = (seed: number): Random => seeded(`months ${seed}`);
const oneOf = <Item>(random: Random, items: readonly Item[]): Item => items[below(random, items.length)]!;

/** A ledger of nine days around a change of the clock, with some faults planted in it. */
export function drawnScenario(random: Random): ScenarioInput {
  const merchants = [
    { ...MERCHANT, currencies: ['USD', 'KWD'] },
    { ...OTHER, currencies: ['JPY'] },
  ];
  const entriesPerDay = 5 + below(random, 60);
  const planted = Array.from({ length: below(random, 6) }, (): Planted => {
    const merchant = oneOf(random, merchants);
    const place = {
      merchant: merchant.merchantNo,
      currency: oneOf(random, merchant.currencies),
      day: addDays(FIRST_DAY, below(random, DAYS)),
      nth: below(random, entriesPerDay),
    };
    const at = `${addDays(place.day, 1 + below(random, 5))}T12:00:00Z`;
    return oneOf<Planted>(random, [
      { what: 'missing', ...place },
      { what: 'late', ...place, appears: at },
      { what: 'vanished', ...place, at },
      { what: 'amended', ...place, at, busiType: 'CORRECTED' },
      { what: 'malformed', ...place },
      { what: 'burst', ...place, count: 1 + below(random, 250) },
    ]);
  });
  return {
    seed: below(random, 1_000_000),
    timeZone: oneOf(random, ZONES),
    from: FIRST_DAY,
    to: LAST_DAY,
    entriesPerDay,
    now: `${FIRST_DAY}T20:00:00Z`,
    merchants,
    planted,
  };
}

/**
 * The platform's behaviour for one night: an order, and up to two ways to misbehave, each rare enough for retries to
 * win, but for a refusal, which ends the night.
 */
export function drawnHostility(random: Random): Partial<Hostility> {
  const ways = Array.from({ length: below(random, 3) }, () => [oneOf(random, STRIKES), 3 + below(random, 9)]);
  const down = random() < 0.2 ? { downAfterRequests: below(random, 60) } : {};
  return hostilitySchema.parse({ order: oneOf(random, ORDERS), ...Object.fromEntries(ways), ...down });
}

/** Changes something in what the platform shows: on some day, or by its behaviour. */
export function drawnChange(random: Random, stage: Stage, taken: [string, string][]): void {
  const merchantNo = oneOf(random, [MERCHANT.merchantNo, OTHER.merchantNo]);
  const shown = stage.sandbox.entriesOf(merchantNo);
  if (shown.length === 0) return;
  const { batchNo } = oneOf(random, shown);
  const whim = random();
  if (whim < 0.3) {
    stage.sandbox.takeOut(merchantNo, batchNo);
    taken.push([merchantNo, batchNo]);
  } else if (whim < 0.6) {
    const back = taken.pop();
    if (back !== undefined) stage.sandbox.putBack(...back);
  } else if (whim < 0.8) stage.sandbox.amend(merchantNo, batchNo, { busiType: `AMENDED${below(random, 9)}` });
}
