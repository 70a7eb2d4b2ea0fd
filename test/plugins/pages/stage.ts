/** A stage with something to see on each page: a break, a late entry with its revision, two merchants. */
import { afterAll, beforeAll } from 'vitest';
import { closeMonth } from '../../../src/months/close.ts';
import { monthOf } from '../../../src/months/month.ts';
import { showPages, textOf, type ShownPages } from './support.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../../support/stage.ts';

export const BROKEN_DAY = '2026-03-03';
export const REVISED_DAY = '2026-03-04';

/** Closes March though it is not over: in the night after it, a day is revised and others come. */
export async function closeMarch({ app }: Stage): Promise<void> {
  const month = monthOf('2026-03')!;
  const auditEvent = {
    ...{ by: 'ada', command: 'close', subject: `${MERCHANT.merchantNo} ${month.name}` },
    note: 'for the half-year report',
  };
  const request = { merchantNo: MERCHANT.merchantNo, month, despite: 'the auditor asks for it', auditEvent };
  const { now, objects, settings, database } = app;
  const zone = settings.platform.timeZone;
  await closeMonth(request, { db: database.db, objects, now, zone, signingKey: null });
}

/** Four days; the second of USD is broken, the third of KWD was revised the night after. */
export async function openPagesStage(
  afterFirstNight: (stage: Stage) => Promise<void> = () => Promise.resolve(),
  planted: NonNullable<Parameters<typeof scenario>[0]>['planted'] = [],
): Promise<Stage> {
  const of = { merchant: MERCHANT.merchantNo };
  const stage = await openStage({
    scenario: scenario({
      entriesPerDay: 60,
      planted: [
        ...planted,
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

/** The stage with its pages for the tests of a file: opened before all of them, closed after. */
export function usePagesStage() {
  let stage: Stage;
  let pages: ShownPages;
  beforeAll(async () => {
    stage = await openPagesStage();
    pages = await showPages(stage);
  });
  afterAll(async () => {
    await pages.close();
    await stage.close();
  });
  return {
    stage: () => stage,
    pages: () => pages,
    /** The text of a page. */
    words: async (path: string): Promise<string> => textOf(await pages.html(path)),
  };
}
