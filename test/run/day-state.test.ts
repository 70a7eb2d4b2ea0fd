/** The one mark that an account's day has, and what is said next to it. */
import { describe, expect, test } from 'vitest';
import { dayWindow } from '../../src/ledger/business-day.ts';
import { dayNotes, dayState } from '../../src/run/day-state.ts';
import type { AccountFacts } from '../../src/store/day-facts.ts';

const CLOCK = { zone: 'Asia/Shanghai', today: '2026-03-10' };
const window = (from: string, to = from) => ({
  beginMs: dayWindow(from, CLOCK.zone).beginMs,
  endMs: dayWindow(to, CLOCK.zone).endMs,
});
const DAY = '2026-03-05';
const STATED = { verdict: 'continuous', closing: '0.00' } as const;
const PROVEN = { ...STATED, entries: 7, revision: 1, isDue: false, isRestarted: false } as const;
const of = (change: Partial<typeof FACTS> = {}, day: Partial<DayFact> = {}): AccountFacts => ({
  ...FACTS,
  days: new Map([[DAY, { ...PROVEN, ...day }]]),
  ...change,
});
type DayFact = AccountFacts['days'] extends ReadonlyMap<string, infer Fact> ? Fact : never;
/** Read from 2026-03-01 to 2026-03-08, with entries since 2026-03-03. */
const FACTS: AccountFacts = {
  account: { merchantNo: 'M1', currency: 'USD' },
  ...{ firstDay: '2026-03-03', firstOpening: '0.00', lastBefore: null, days: new Map() },
  ...{ changed: new Set(), revised: new Set(), openBreaks: [], unreadable: [], acknowledged: [] },
  certified: [window('2026-03-01', '2026-03-08')],
};

test.each<[ReturnType<typeof dayState>, string, AccountFacts, string]>([
  ['proven', 'read, with figures and entries', of(), DAY],
  ['empty', 'read, with figures and no entry', of({}, { entries: 0 }), DAY],
  ['reordered', 'where another order chains', of({}, { verdict: 'reordered' }), DAY],
  [
    'broken',
    'with an open break',
    of({ openBreaks: [{ id: 1, amount: '1', ...window(DAY) }] }, { verdict: 'broken' }),
    DAY,
  ],
  ['explained', 'with a break that is not open any more', of({}, { verdict: 'broken' }), DAY],
  ['unreadable', 'with an entry that cannot be read', of({ unreadable: [window(DAY)] }), DAY],
  [
    'unreadable',
    'of which nothing was read, whoever acknowledged what came',
    of({ acknowledged: [window(DAY)] }, { entries: 0 }),
    DAY,
  ],
  ['proven', 'with entries, and one that was acknowledged', of({ acknowledged: [window(DAY)] }), DAY],
  [
    'empty',
    'next to one with an acknowledged entry',
    of({ acknowledged: [window('2026-03-04')] }, { entries: 0 }),
    DAY,
  ],
  [
    'unreadable',
    'before the first one, with one that was acknowledged',
    of({ acknowledged: [window('2026-03-02')] }),
    '2026-03-02',
  ],
  [
    'uncertified',
    'that is not read completely',
    of({ certified: [window('2026-03-01', '2026-03-04')] }),
    DAY,
  ],
  ['uncertified', 'whose entries changed', of({ changed: new Set([DAY]) }), DAY],
  ['uncertified', 'without figures', of({ days: new Map() }), DAY],
  ['not-over', 'that is today', of(), CLOCK.today],
  ['not-read', 'before the first one, and not read', of(), '2026-02-28'],
  ['before', 'before the first one, which opens on zero', of(), '2026-03-02'],
  ['empty', 'before the first one, which opens on a balance', of({ firstOpening: '5.00' }), '2026-03-02'],
  [
    'unreadable',
    'before the first one, with one that cannot be read',
    of({ unreadable: [window('2026-03-02')] }),
    '2026-03-02',
  ],
  ['before', 'of an account without entries', of({ firstDay: null, firstOpening: null }), DAY],
])('%s is a day %s', (state, _, facts, day) => {
  expect(dayState(facts, day, CLOCK)).toBe(state);
});

describe('next to its state', () => {
  const said = (facts: AccountFacts, day = DAY) => dayNotes(facts, day, CLOCK);
  test('a day that is well has nothing', () => {
    expect(said(of())).toEqual([]);
    expect(said(of(), CLOCK.today)).toEqual([]);
  });

  test('it is said what cannot be read, where the opening is from, and whether a statement is out or due', () => {
    const unreadable = { unreadable: [window(DAY)] };
    expect(said(of(unreadable))).toEqual([]);
    expect(said(of(unreadable, { verdict: 'broken', isRestarted: true, revision: null }))).toEqual([
      ...['unreadable', 'derived', 'unpublished'],
    ]);
    expect(said(of({}, { isDue: true }))).toEqual(['due']);
    expect(said(of({ changed: new Set([DAY]) }, { revision: null, isDue: true }))).toEqual([]);
    const first = { firstDay: DAY };
    expect(said(of(first, { isRestarted: true }))).toEqual([]);
    expect(said(of({ ...first, firstOpening: '5.00' }, { isRestarted: true }))).toEqual(['derived']);
  });
});
