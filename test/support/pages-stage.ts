/** A stage with something to see on each page: a break, a late entry with its revision, two merchants. */
import { MERCHANT, openStage, scenario, type Stage } from './stage.ts';

export const BROKEN_DAY = '2026-03-03';
export const REVISED_DAY = '2026-03-04';

/** Four days; the second of USD is broken, the third of KWD was revised the night after. */
export async function openPagesStage(
  afterFirstNight: (stage: Stage) => Promise<void> = () => Promise.resolve(),
): Promise<Stage> {
  const of = { merchant: MERCHANT.merchantNo };
  const stage = await openStage({
    scenario: scenario({
      planted: [
        { what: 'missing', ...of, currency: 'USD', day: BROKEN_DAY, nth: 20 },
        {
          what: 'late',
          ...of,
          currency: 'KWD',
          day: REVISED_DAY,
          nth: 12,
          appears: '2026-03-06T12:00:00+08:00',
        },
      ],
    }),
  });
  await stage.run();
  await afterFirstNight(stage);
  stage.setNow('2026-03-07T01:30:00+08:00');
  await stage.run();
  return stage;
}
