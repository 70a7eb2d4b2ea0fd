import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  addDays,
  dayOf,
  daysFromTo,
  dayWindow,
  hasDay,
  instantsOf,
  InvalidDay,
  isTimeZone,
  parseDay,
  splitAtTransitions,
  zonesAt,
} from '../../src/ledger/business-day.ts';
import { placesMeant, zoneProblem } from '../../src/ledger/zone-names.ts';
import { wallSecond } from '../../src/ledger/wall-time.ts';
import { lengthMs } from '../../src/ledger/window.ts';

const HOUR_MS = 3_600_000;
const zones = fc.constantFrom(
  'UTC',
  'Asia/Shanghai',
  'Asia/Kolkata',
  'Europe/Berlin',
  'America/New_York',
  'America/Sao_Paulo',
  'Africa/Cairo',
  'America/Havana',
  'Australia/Lord_Howe',
  'Pacific/Apia',
);
const instants = fc
  .integer({ min: Date.UTC(2010, 0, 1) / 1_000, max: Date.UTC(2030, 0, 1) / 1_000 })
  .map((second) => second * 1_000);

/** The time that a clock in the zone shows, from the standard library and so independent of our code. */
function wallClock(ms: number, zone: string): string {
  return new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' }).format(
    ms,
  );
}

test.each(['Europe/Berlin', 'Australia/Lord_Howe', 'America/Havana', 'Africa/Cairo', 'Pacific/Chatham'])(
  'the clock of %s is right at every half hour of a year, whatever was asked before',
  (zone) => {
    const clock = new Intl.DateTimeFormat('sv-SE', {
      timeZone: zone,
      dateStyle: 'short',
      timeStyle: 'medium',
    });
    const halfHours = Array.from({ length: 366 * 48 }, (_, at) => Date.UTC(2026, 0, 1) + (at * HOUR_MS) / 2);
    expect(halfHours.filter((ms) => wallSecond(ms, zone) !== clock.format(ms))).toEqual([]);
  },
);

describe('calendar days', () => {
  test.each([
    '2026-02-30',
    '2026-13-01',
    '2026-1-1',
    '20260101',
    '2025-02-29',
    'yesterday',
    '',
    '2026-01-01T00',
  ])('%j is refused, and the message says how to write a day', (text) => {
    expect(() => parseDay(text)).toThrow(InvalidDay);
    expect(() => parseDay(text)).toThrow(/YYYY-MM-DD/);
  });

  test('are counted across leap days and the end of the year', () => {
    expect(parseDay('2024-02-29')).toBe('2024-02-29');
    expect(addDays('2024-02-28', 2)).toBe('2024-03-01');
    expect(addDays('2026-01-01', -1)).toBe('2025-12-31');
    expect(daysFromTo('2025-12-30', '2026-01-02')).toEqual([
      '2025-12-30',
      '2025-12-31',
      '2026-01-01',
      '2026-01-02',
    ]);
    expect(daysFromTo('2026-01-02', '2026-01-01')).toEqual([]);
  });
});

describe('instants of wall-clock times', () => {
  test('nearly always one', () => {
    expect(instantsOf('2026-03-01 08:00:00', 'Asia/Shanghai')).toEqual([Date.UTC(2026, 2, 1)]);
  });

  test('none in the hour a clock skips, two in the hour it repeats', () => {
    expect(instantsOf('2026-03-29 02:30:00', 'Europe/Berlin')).toEqual([]);
    const [first, second] = instantsOf('2026-10-25 02:30:00', 'Europe/Berlin');
    expect([first, second]).toEqual([Date.UTC(2026, 9, 25, 0, 30), Date.UTC(2026, 9, 25, 1, 30)]);
  });

  test.each([
    '2026-02-30 10:00:00',
    '2026-03-01 24:00:00',
    '2026-03-01 10:00',
    '2026-03-01T10:00:00',
    '2026-03-01 10:60:00',
    '2026-03-01 10:00:00.5',
    '2026-03-01 10:00:00Z',
    '2026-3-1 10:00:00',
    '',
  ])('none if %j is no valid time', (text) => {
    expect(instantsOf(text, 'Asia/Shanghai')).toEqual([]);
  });

  test('are exactly the instants at which the clock shows that time', () => {
    fc.assert(
      fc.property(instants, zones, (ms, zone) => {
        const wall = wallClock(ms, zone);
        const found = instantsOf(wall, zone);
        expect(found).toContain(ms);
        expect(found.map((instant) => wallClock(instant, zone))).toEqual(found.map(() => wall));
        expect(dayOf(ms, zone)).toBe(wall.slice(0, 10));
      }),
    );
  });
});

describe('business days', () => {
  test.each([
    ['Asia/Shanghai', '2026-03-29', 24],
    ['Europe/Berlin', '2026-03-29', 23],
    ['Europe/Berlin', '2026-10-25', 25],
    ['Australia/Lord_Howe', '2026-04-05', 24.5],
    // Midnight itself is skipped, so the day begins at 01:00.
    ['America/Sao_Paulo', '2018-11-04', 23],
    // Midnight comes twice.
    ['America/Havana', '2026-11-01', 25],
    // The day that Samoa skipped.
    ['Pacific/Apia', '2011-12-30', 0],
  ])('%s %s has %d hours', (zone, day, hours) => {
    expect(lengthMs(dayWindow(day, zone))).toBe(hours * HOUR_MS);
  });

  test('follow each other without gap or overlap, and hold exactly the instants of their day', () => {
    fc.assert(
      fc.property(instants, zones, (ms, zone) => {
        const day = dayOf(ms, zone);
        const { beginMs, endMs } = dayWindow(day, zone);
        expect(beginMs <= ms && ms <= endMs).toBe(true);
        expect(dayOf(beginMs, zone)).toBe(day);
        expect(dayOf(endMs, zone)).toBe(day);
        expect(dayWindow(addDays(day, 1), zone).beginMs).toBe(endMs + 1);
      }),
    );
  });
});

describe('splitAtTransitions', () => {
  test('leaves a window whole if the offset does not change', () => {
    const window = { beginMs: Date.UTC(2026, 0, 1), endMs: Date.UTC(2026, 11, 31) };
    expect(splitAtTransitions(window, 'Asia/Shanghai')).toEqual([window]);
  });

  test('cuts a year at both changes of the clock', () => {
    const window = { beginMs: Date.UTC(2026, 0, 1), endMs: Date.UTC(2026, 11, 31) };
    expect(splitAtTransitions(window, 'Europe/Berlin')).toEqual([
      { beginMs: window.beginMs, endMs: Date.UTC(2026, 2, 29, 1) - 1 },
      { beginMs: Date.UTC(2026, 2, 29, 1), endMs: Date.UTC(2026, 9, 25, 1) - 1 },
      { beginMs: Date.UTC(2026, 9, 25, 1), endMs: window.endMs },
    ]);
  });

  test('makes a wall-clock time mean one instant in each part', () => {
    fc.assert(
      fc.property(instants, zones, (ms, zone) => {
        const parts = splitAtTransitions(dayWindow(dayOf(ms, zone), zone), zone);
        const found = instantsOf(wallClock(ms, zone), zone);
        for (const { beginMs, endMs } of parts) {
          expect(
            found.filter((instant) => beginMs <= instant && instant <= endMs).length,
          ).toBeLessThanOrEqual(1);
        }
      }),
    );
  });
});

/** Zones whose clocks were set back over midnight or skipped days, and all others. */
const everyZone = fc.oneof(
  fc.constantFrom('America/St_Johns', 'Antarctica/Casey', 'Pacific/Apia', 'Pacific/Fakaofo', 'Asia/Gaza'),
  fc.constantFrom(...Intl.supportedValuesOf('timeZone')),
);

test('around any change of any clock each instant has one day, days never come again, and there are none that no clock shows', () => {
  const tenMinutes = HOUR_MS / 6;
  fc.assert(
    fc.property(everyZone, fc.integer({ min: 2001, max: 2027 }), (zone, year) => {
      const clock = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' });
      const parts = splitAtTransitions(
        { beginMs: Date.UTC(year, 0, 1), endMs: Date.UTC(year + 1, 0, 1) - 1 },
        zone,
      );
      for (const { beginMs: changeMs } of parts.slice(1)) {
        const around = Array.from(
          { length: 12 * 6 * 6 },
          (_, nth) => changeMs + (nth - 6 * 6 * 6) * tenMinutes,
        );
        const instants = [...around, changeMs - 1, changeMs - 30_000].sort((a, b) => a - b);
        const shown = new Set(instants.map((ms) => clock.format(ms)));
        let last = '';
        for (const ms of instants) {
          const day = dayOf(ms, zone);
          const { beginMs, endMs } = dayWindow(day, zone);
          expect(beginMs <= ms && ms <= endMs).toBe(true);
          expect(day >= last && day <= clock.format(ms)).toBe(true);
          last = day;
        }
        for (const day of daysFromTo(
          dayOf(changeMs - 24 * HOUR_MS, zone),
          dayOf(changeMs + 24 * HOUR_MS, zone),
        )) {
          expect(hasDay(day, zone)).toBe(shown.has(day));
          expect(dayWindow(addDays(day, 1), zone).beginMs).toBe(dayWindow(day, zone).endMs + 1);
        }
      }
    }),
    { numRuns: 60 },
  );
});

describe('time zones', () => {
  test('are known by name', () => {
    expect(['Asia/Shanghai', 'UTC', 'Mars/Olympus', '+08:00', ''].map(isTimeZone)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });

  test.each([
    'CST',
    'cst',
    'BST',
    'IST',
    'EST',
    'PST',
    'AST',
    'MST',
    'HST',
    'JST',
    'CET',
    'WET',
    'AEST',
    'EDT',
    'SGT',
  ])('%s is an abbreviation: it is refused, with the places that it may mean', (name) => {
    expect(isTimeZone(name)).toBe(false);
    const places = placesMeant(name);
    expect(places.length).toBeGreaterThan(0);
    expect(places.filter((place) => !isTimeZone(place))).toEqual([]);
    expect(zoneProblem(name)).toContain(`which may mean ${places[0]!}`);
  });

  test('no abbreviation that this machine takes for a zone is taken', () => {
    const letters = Array.from({ length: 26 }, (_, at) => String.fromCharCode(65 + at));
    const words = letters.flatMap((a) => letters.flatMap((b) => letters.map((c) => a + b + c)));
    // Names of countries, and of the one clock that all others are counted from.
    expect(words.filter(isTimeZone)).toEqual(['GMT', 'PRC', 'ROC', 'ROK', 'UCT', 'UTC']);
  });

  test('are found by their offset, well-known ones first', () => {
    expect(zonesAt(Date.UTC(2026, 6, 1), 8 * 60).slice(0, 3)).toEqual([
      'Asia/Shanghai',
      'Asia/Hong_Kong',
      'Asia/Singapore',
    ]);
    expect(zonesAt(Date.UTC(2026, 6, 1), 17)).toEqual([]);
  });
});
