/** Days that a zone skips or begins twice: every entry is in one statement, every day that the zone has follows the one before it. */
import { afterEach, expect, test } from 'vitest';
import { askedRange } from '../../src/run/range.ts';
import { verifyPaths } from '../../src/verify/verify.ts';
import { statusOf } from '../../src/run/status.ts';
import { manifestsIn, lawlessIn } from '../support/law.ts';
import { type WireEntry } from '../support/plain-platform.ts';
import { openPlainStage, PLAIN_MERCHANT, type PlainStage } from '../support/plain-stage.ts';

const { merchantNo } = PLAIN_MERCHANT;
const HOUR_MS = 3_600_000;

let stage: PlainStage | undefined;
afterEach(() => stage?.close());

const clockOf = (zone: string) => {
  const clock = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' });
  return (ms: number): string => clock.format(ms);
};

/** At 05 o'clock on the day after. */
function nightAfter(day: string, zone: string): string {
  let ms = Date.parse(`${day}T00:00:00Z`);
  while (clockOf(zone)(ms) < `${day} 23:30:00`) ms += HOUR_MS / 2;
  return new Date(ms + 5.5 * HOUR_MS).toISOString();
}

/** A credit of 1.00 at each of these instants, with the time that a clock in the zone shows. */
const creditsAt = (instants: readonly number[], zone: string): WireEntry[] =>
  instants.map((atMs, nth) => ({
    batchNo: `E-${String(nth + 1).padStart(4, '0')}`,
    ...{ currency: 'USD', busiType: '01', inAmount: 1, outAmount: null, vailAmount: nth + 1 },
    ...{ busiDate: clockOf(zone)(atMs), atMs },
  }));

const everyMs = (from: string, to: string, stepMs: number): number[] => {
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
  return Array.from({ length: Math.floor((toMs - fromMs) / stepMs) }, (_, nth) => fromMs + nth * stepMs);
};

test('a day that the zone skipped is refused where it is asked for alone', () => {
  const [day, zone] = ['2011-12-30', 'Pacific/Apia'];
  expect(() => askedRange({ from: day, to: day }, '2012-01-05', zone)).toThrow(
    `there was no ${day} in the time zone ${zone}, which skipped it`,
  );
  expect(askedRange({ from: '2011-12-29', to: day }, '2012-01-05', zone)).toEqual({
    from: '2011-12-29',
    to: day,
  });
});

test.each<[string, string, string[], number[]]>([
  [
    'America/St_Johns',
    'is set back at 00:01',
    ['2006-10-27', '2006-10-28', '2006-10-29', '2006-10-30'],
    [
      ...everyMs('2006-10-27T12:00:00Z', '2006-10-29T02:00:00Z', 5 * HOUR_MS),
      ...everyMs('2006-10-29T02:10:30Z', '2006-10-29T04:30:00Z', 10_000),
      ...everyMs('2006-10-29T05:00:00Z', '2006-10-30T22:00:00Z', 5 * HOUR_MS),
    ],
  ],
  [
    'America/St_Johns',
    'is set back at 00:01, and only the minute that comes twice has entries on that day',
    ['2006-10-27', '2006-10-28', '2006-10-29', '2006-10-30'],
    everyMs('2006-10-27T12:00:00Z', '2006-10-27T13:00:00Z', HOUR_MS / 2).concat(
      Date.parse('2006-10-29T02:30:20Z'),
      Date.parse('2006-10-30T12:00:00Z'),
    ),
  ],
  [
    'Antarctica/Casey',
    'is set back by three hours over midnight',
    ['2010-03-03', '2010-03-04', '2010-03-05', '2010-03-06'],
    everyMs('2010-03-03T00:00:00Z', '2010-03-06T10:00:00Z', 10 * 60_000),
  ],
  [
    'Pacific/Apia',
    'skips 30 December 2011',
    ['2011-12-28', '2011-12-29', '2011-12-31', '2012-01-01'],
    everyMs('2011-12-28T12:00:00Z', '2012-01-01T09:00:00Z', 3 * HOUR_MS),
  ],
  [
    'Pacific/Apia',
    'skips 30 December 2011, and the days around it are quiet',
    ['2011-12-28', '2011-12-29', '2011-12-31', '2012-01-01'],
    [Date.parse('2011-12-28T12:00:00Z'), Date.parse('2011-12-28T13:00:00Z')],
  ],
])('the clock of %s %s', async (zone, _, days, instants) => {
  const entries = creditsAt(instants, zone);
  stage = await openPlainStage(entries, nightAfter(days.at(-1)!, zone), { zone });
  const report = await stage.run(days[0]!, days.at(-1)!);
  expect(report.reasons.map(({ what }) => what)).toEqual([]);
  expect(report.exitCode).toBe(0);
  const manifests = await manifestsIn(stage.app().objects);
  expect(manifests.map(({ day }) => day)).toEqual(days);
  expect(lawlessIn(manifests)).toEqual([]);
  expect(manifests.at(-1)!.statements).toMatchObject([{ closing: `${entries.length}.00` }]);
  const { files, problems } = await verifyPaths([stage.folder]);
  expect([...problems, ...files.flatMap((file) => file.problems)]).toEqual([]);
  const clock = { zone, now: stage.now(), maxAgeMs: null };
  const [status] = await statusOf(stage.app().database.db, [merchantNo], clock);
  expect(status).toMatchObject({
    missing: [],
    discrepancies: [],
    provenFrom: days[0],
    provenThrough: days.at(-1),
  });
  // Nothing is left to be done, and nothing is made twice.
  expect(await stage.run(days[0]!, days.at(-1)!)).toMatchObject({ exitCode: 0, publish: { published: [] } });
});
