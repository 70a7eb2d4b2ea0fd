import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addDays } from '../../src/ledger/business-day.ts';
import {
  dueJobs,
  lastSlot,
  nextTime,
  RETRY_AFTER_MS,
  type ScheduledJob,
} from '../../src/run/schedule/due.ts';
import { shortAndLong } from '../support/short-and-long.ts';

const MINUTE_MS = 60_000;
const NIGHTLY: ScheduledJob = { job: 'nightly', when: '30 1 * * *' };
const at = (iso: string) => new Date(iso);

interface Try {
  readonly command: string;
  readonly slot: string | null;
  readonly exitCode: number | null;
  readonly finishedAt: Date | null;
  readonly interrupted: boolean;
  readonly awaitsPerson: boolean;
}
const tried = (
  slot: string,
  exitCode: number | null,
  finishedAt: string | null,
  command = 'nightly',
  interrupted = false,
  awaitsPerson = false,
): Try => ({
  command,
  slot,
  exitCode,
  interrupted,
  awaitsPerson,
  finishedAt: finishedAt === null ? null : at(finishedAt),
});

const dueOf = (jobs: readonly ScheduledJob[], zone: string, now: Date, runs: readonly Try[]) =>
  dueJobs(
    jobs.map(({ job, when }) => ({ job, slot: lastSlot(when, zone, now) })),
    now,
    runs,
  );

describe('the last slot', () => {
  test('is due exactly at its minute, and not before', () => {
    const slot = (iso: string) => lastSlot('30 1 * * *', 'Asia/Shanghai', at(iso));
    expect(slot('2026-03-06T01:30:00.000+08:00')).toBe('2026-03-06 01:30');
    expect(slot('2026-03-06T01:29:59.999+08:00')).toBe('2026-03-05 01:30');
    expect(slot('2026-03-06T01:29:59.000+08:00')).toBe('2026-03-05 01:30');
    expect(slot('2026-03-07T01:29:00.000+08:00')).toBe('2026-03-06 01:30');
  });
});

describe('a due slot', () => {
  const zone = 'Asia/Shanghai';
  const slot = '2026-03-06 01:30';
  const due = (now: string, runs: readonly Try[], jobs = [NIGHTLY]) => dueOf(jobs, zone, at(now), runs);

  test('has no run, however long ago it was', () => {
    expect(due('2026-03-06T01:30:00+08:00', [])).toEqual([{ job: 'nightly', slot }]);
    expect(due('2026-03-07T01:29:00+08:00', [])).toEqual([{ job: 'nightly', slot }]);
  });

  test('has no good run; a good run may need a person', () => {
    for (const exitCode of [0, 3]) {
      expect(due('2026-03-06T23:00:00+08:00', [tried(slot, exitCode, '2026-03-06T01:31:00+08:00')])).toEqual(
        [],
      );
    }
  });

  test('whose run was not good is due again ten minutes later, and not before', () => {
    const runs = [4, 5, 70, 2].map((code) => tried(slot, code, '2026-03-06T01:40:00+08:00'));
    expect(due('2026-03-06T01:49:59+08:00', runs)).toEqual([]);
    expect(due('2026-03-06T01:50:00+08:00', runs)).toEqual([{ job: 'nightly', slot }]);
    expect(RETRY_AFTER_MS).toBe(10 * MINUTE_MS);
  });

  test('is not due again where another try would end as the last one did', () => {
    const awaiting = tried(slot, 4, '2026-03-06T01:40:00+08:00', 'nightly', false, true);
    expect(due('2026-03-06T09:00:00+08:00', [awaiting])).toEqual([]);
  });

  test('whose run was killed is due again at once: its row has no end', () => {
    expect(due('2026-03-06T01:31:00+08:00', [tried(slot, null, null)])).toEqual([{ job: 'nightly', slot }]);
  });

  test('is due again at once if the clock was set back to before the end of its run', () => {
    const runs = [tried(slot, 4, '2026-03-06T05:00:00+08:00')];
    expect(due('2026-03-06T02:00:00+08:00', runs)).toEqual([{ job: 'nightly', slot }]);
    // And ten minutes after an end that is before the new time of the clock.
    const again = [...runs, tried(slot, 4, '2026-03-06T02:01:00+08:00')];
    expect(due('2026-03-06T02:10:59+08:00', again)).toEqual([]);
    expect(due('2026-03-06T02:11:00+08:00', again)).toEqual([{ job: 'nightly', slot }]);
  });

  test('after several nights down is the last one, once', () => {
    const runs = [tried('2026-03-02 01:30', 0, '2026-03-02T01:31:00+08:00')];
    expect(due('2026-03-06T15:00:00+08:00', runs)).toEqual([{ job: 'nightly', slot }]);
  });

  test('depends on the job’s own slots, and never on runs that a person started', () => {
    const jobs = [NIGHTLY, { job: 'resweep', when: '30 13 * * *' }];
    const runs = [
      tried(slot, 0, '2026-03-06T01:31:00+08:00'),
      { ...tried(slot, 0, '2026-03-06T13:35:00+08:00', 'run'), slot: null },
    ];
    expect(due('2026-03-06T13:40:00+08:00', runs, jobs)).toEqual([
      { job: 'resweep', slot: '2026-03-06 13:30' },
    ]);
  });
});

/**
 * Ticks every ten minutes for some days. Each due job runs at once and well. Returns the slots in the order they ran.
 */
function simulated(zone: string, when: string, from: Date, to: Date, everyMs = 10 * MINUTE_MS): string[] {
  const runs: Try[] = [];
  for (let ms = from.getTime(); ms < to.getTime(); ms += everyMs) {
    for (const { job, slot } of dueOf([{ job: 'nightly', when }], zone, new Date(ms), runs)) {
      runs.push(tried(slot, 0, new Date(ms).toISOString(), job));
    }
  }
  return runs.map(({ slot }) => slot!);
}

describe('when clocks change, each day has its run once', () => {
  for (const { options, cases } of shortAndLong(
    [
      // A gap from 02:00 to 03:00, and an hour that comes twice.
      ['Europe/Berlin', '2026-03-29'],
      ['Europe/Berlin', '2026-10-25'],
      ['America/New_York', '2026-03-08'],
      ['America/New_York', '2026-11-01'],
      // A gap at midnight, and a midnight that comes twice.
      ['Asia/Beirut', '2026-03-29'],
      ['Asia/Beirut', '2026-10-25'],
      // The clock changes by half an hour.
      ['Australia/Lord_Howe', '2026-10-04'],
      ['Australia/Lord_Howe', '2026-04-05'],
      ['Asia/Shanghai', '2026-03-29'],
    ] as const,
    3,
  ))
    test.each(cases)('%s %s', options, (zone, day) => {
      const from = new Date(Date.parse(`${addDays(day, -2)}T12:00:00Z`));
      const to = new Date(from.getTime() + 4 * 24 * 60 * MINUTE_MS);
      for (const when of ['0 0 * * *', '30 0 * * *', '30 1 * * *', '0 2 * * *', '30 2 * * *', '0 3 * * *']) {
        const slots = simulated(zone, when, from, to);
        const days = slots.map((slot) => slot.slice(0, 10));
        expect(new Set(days).size, `${zone} ${when}: ${slots.join(', ')}`).toBe(days.length);
        const first = days[0]!;
        expect(days, `${zone} ${when}`).toEqual(days.map((_, n) => addDays(first, n)));
        expect(days.length, `${zone} ${when}`).toBeGreaterThanOrEqual(4);
      }
    });
});

describe('the next time', () => {
  const next = (when: string, zone: string, now: string) => nextTime(when, zone, at(now)).toISOString();

  test('is that of the next slot, never of the one due now', () => {
    expect(next('30 1 * * *', 'Asia/Shanghai', '2026-03-06T01:29:59+08:00')).toBe('2026-03-05T17:30:00.000Z');
    expect(next('30 1 * * *', 'Asia/Shanghai', '2026-03-06T01:30:00+08:00')).toBe('2026-03-06T17:30:00.000Z');
    expect(next('0 3 * * mon', 'UTC', '2026-03-06T12:00:00Z')).toBe('2026-03-09T03:00:00.000Z');
    expect(next('0 0 29 2 *', 'UTC', '2026-03-06T12:00:00Z')).toBe('2028-02-29T00:00:00.000Z');
  });

  test('is right if the clock skips it or repeats it, or if a whole day is missing', () => {
    // 02:30 is skipped, so it is due at 03:00, which is 01:00Z.
    expect(next('30 2 * * *', 'Europe/Berlin', '2026-03-29T00:00:00Z')).toBe('2026-03-29T01:00:00.000Z');
    // 02:30 comes at 00:30Z and at 01:30Z. Only the first time counts.
    expect(next('30 2 * * *', 'Europe/Berlin', '2026-10-25T00:00:00Z')).toBe('2026-10-25T00:30:00.000Z');
    expect(next('30 2 * * *', 'Europe/Berlin', '2026-10-25T00:30:00Z')).toBe('2026-10-26T01:30:00.000Z');
    // Midnight is skipped.
    expect(next('0 0 * * *', 'Asia/Beirut', '2026-03-28T12:00:00Z')).toBe('2026-03-28T22:00:00.000Z');
    // Samoa had no 30 December 2011.
    expect(next('0 12 30 12 *', 'Pacific/Apia', '2011-12-29T00:00:00Z')).toBe('2011-12-30T10:00:00.000Z');
  });

  test.each([
    'UTC',
    'Europe/Berlin',
    'America/New_York',
    'Australia/Lord_Howe',
    'Asia/Beirut',
    'Africa/Casablanca',
    'America/Santiago',
  ])('is the first instant at which another slot is the last one: %s', (zone) => {
    fc.assert(
      fc.property(
        fc.constantFrom(
          '* * * * *',
          '*/7 * * * *',
          '30 * * * *',
          '0 0 * * *',
          '30 2 * * *',
          '59 1 * * *',
          '15 3 * * 0',
        ),
        fc.date({ min: at('2025-01-01T00:00:00Z'), max: at('2028-01-01T00:00:00Z'), noInvalidDate: true }),
        (when, now) => {
          const next = nextTime(when, zone, now);
          expect(next.getTime()).toBeGreaterThan(now.getTime());
          expect(lastSlot(when, zone, new Date(next.getTime() - 1))).toBe(lastSlot(when, zone, now));
          expect(lastSlot(when, zone, next) > lastSlot(when, zone, now)).toBe(true);
        },
      ),
      { numRuns: 150 },
    );
  });
});
