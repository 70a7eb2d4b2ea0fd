/** Counts the calls of a nightly run for a merchant whose earlier days are stored already. */
import type { Rig } from '../simulation/rig.ts';
import { playSteps, type Product } from './play.ts';
import { drawHistory } from './scene.ts';

/** Measured with this many pages per day. */
export const PAGES_A_DAY = [1, 3, 30] as const;
const RESWEEP_DAYS = 7;

export interface NightCalls {
  readonly pagesADay: number;
  readonly calls: number;
}

/** The calls of the second night after the first reading, with that many pages per day. */
export async function callsANight(rig: Rig, pagesADay: number, product?: Product): Promise<NightCalls> {
  const perDay = pagesADay * 100 - 40;
  const drawn = drawHistory(
    {
      zone: 'Asia/Shanghai',
      firstDay: '2026-05-11',
      currencies: 1,
      honestDays: RESWEEP_DAYS + 1,
      resweepDays: RESWEEP_DAYS,
      nightsAfter: 1,
      perDay: [perDay, perDay],
    },
    `calls at ${pagesADay} pages a day`,
  );
  const nights = { ...drawn, steps: drawn.steps.filter(({ name }) => name !== 'midday') };
  const seen = await playSteps(rig, nights, { lies: {} }, product === undefined ? {} : { product });
  const bad = seen.find(({ exitCode }) => exitCode !== 0);
  if (bad !== undefined)
    throw new Error(`a night without a lie ended with ${bad.exitCode}: ${bad.reported.text}`);
  return { pagesADay, calls: seen.at(-1)!.calls };
}
