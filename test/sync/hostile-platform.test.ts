/** Reads windows from a platform whose books change while they are read. It remembers what it held at each answer. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Window } from '../../src/ledger/entry.ts';
import type { LedgerPageQuery } from '../../src/platform/ledger-reader.ts';
import type { WindowReading } from '../../src/store/compare-with-stored.ts';
import { READ_LIMITS, type ReadLimits } from '../../src/sync/limits.ts';
import { readWindows } from '../../src/sync/read-windows.ts';
import { createReadingWork } from '../../src/sync/reading-work.ts';
import { randomOf } from '../support/random.ts';
import { createMemoryPlatform, spread, type Booking } from './memory-platform.ts';

const BEGIN_MS = Date.parse('2026-03-01T00:00:00Z');
const HOUR: Window = { beginMs: BEGIN_MS, endMs: BEGIN_MS + 3_600_000 - 1 };
const LIMITS: Partial<ReadLimits> = {
  pageNumMax: 3,
  pageNumIndivisibleMax: 12,
  failedCallsMax: 300,
  pagesInProgressMax: 20,
  windowsInProgressMax: 4,
};

/** Many or few entries in a second, filtered by ms or by the second. */
const ledgers = fc
  .array(
    fc.record({
      atS: fc.integer({ min: 0, max: 3_590 }),
      overS: fc.constantFrom(0, 0, 1, 30),
      count: fc.integer({ min: 1, max: 260 }),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map((crowds) =>
    crowds.flatMap(({ atS, overS, count }, nth) => {
      const beginMs = BEGIN_MS + atS * 1_000;
      const endMs = Math.min(HOUR.endMs, beginMs + overS * 1_000);
      return spread(count, { beginMs, endMs }, `G${nth}-`);
    }),
  );

const isIn = ({ trueMs }: Booking, { beginMs, endMs }: Window): boolean =>
  trueMs >= beginMs && trueMs <= endMs;
const idsOf = (bookings: readonly Booking[], window: Window): string =>
  bookings
    .filter((booking) => isIn(booking, window))
    .map(({ batchNo, credit }) => `${batchNo} ${credit}`)
    .sort()
    .join();
const idsIn = ({ entries }: WindowReading): string =>
  entries
    .map(({ batchNo, credit }) => `${batchNo} ${credit ?? ''}`)
    .sort()
    .join();

/**
 * Books that change before answers, always in the window asked for. One entry joins or leaves. Or, between two
 * readings (before a first page), one leaves and another joins in the same instant. At most one entry is amended. With
 * `onlyJoin` entries only join.
 */
function changingBooks(
  bookings: readonly Booking[],
  seed: number,
  { changesMax, onlyJoin = false }: { readonly changesMax: number; readonly onlyJoin?: boolean },
) {
  const random = randomOf(seed);
  const pick = <Item>(items: readonly Item[]): Item | undefined => items[Math.floor(random() * items.length)];
  /** What the platform held, for each answer. */
  const held: (readonly Booking[])[] = [];
  const answers: LedgerPageQuery[] = [];
  let changes = 0;
  let isAmended = false;
  const join = ({ window }: LedgerPageQuery, booked: Booking[], near: Booking | undefined) => {
    const trueMs =
      near?.trueMs ?? window.beginMs + Math.floor(random() * (window.endMs - window.beginMs + 1));
    booked.push({ batchNo: `N${changes}`, currency: 'USD', credit: '1.00', trueMs });
  };
  const onAnswer = (query: LedgerPageQuery, booked: Booking[]): void => {
    if (changes < changesMax && random() < 0.5) {
      changes += 1;
      const inside = booked.filter((booking) => isIn(booking, query.window));
      const leaving = pick(inside);
      const leave = () => leaving !== undefined && booked.splice(booked.indexOf(leaving), 1);
      const kind = onlyJoin ? 0.8 : random();
      if (kind < 0.4 && query.pageNum === 1) {
        leave();
        join(query, booked, leaving);
      } else if (kind < 0.6) leave();
      else if (kind < 0.9 || isAmended) join(query, booked, pick(inside));
      else if (leaving !== undefined) {
        isAmended = true;
        booked[booked.indexOf(leaving)] = { ...leaving, credit: '7777.00' };
      }
    }
    held.push([...booked]);
    answers.push(query);
  };
  return { held, answers, onAnswer, bookings };
}

const ORDERS = fc.constantFrom('time' as const, 'latest first' as const, 'shuffled' as const);

test(
  'entries that join while pages are read, in any order, are no contradiction',
  { tags: ['long'] },
  async () => {
    let changes = 0;
    await fc.assert(
      fc.asyncProperty(
        ledgers,
        ORDERS,
        fc.integer(),
        fc.nat(40),
        async (bookings, order, seed, changesMax) => {
          const books = changingBooks(bookings, seed, { changesMax, onlyJoin: true });
          const contradictions: string[] = [];
          await readWindows({
            reader: createMemoryPlatform({ bookings, faults: { order }, seed, onAnswer: books.onAnswer })
              .reader,
            merchant: { merchantNo: 'M-TEST', token: 'made-up' },
            asked: [{ window: HOUR, planned: [HOUR] }],
            limits: LIMITS,
            work: createReadingWork(1, { ...READ_LIMITS, ...LIMITS, callsMin: Infinity }),
            storedNear: () => Promise.resolve(null),
            signal: new AbortController().signal,
            onFirstPage: () => Promise.resolve(),
            onContradiction: (problem) => contradictions.push(problem),
            onWindowDone: () => undefined,
            onReading: () => Promise.resolve(),
          });
          changes += (books.held.at(-1)?.length ?? 0) - bookings.length;
          expect(contradictions).toEqual([]);
        },
      ),
      { numRuns: 200 },
    );
    expect(changes).toBeGreaterThan(200);
  },
);

test(
  'a certified window is exactly what the platform held at some instant while it was read',
  { tags: ['long'] },
  async () => {
    let certified = 0;
    await fc.assert(
      fc.asyncProperty(
        ledgers,
        ORDERS,
        fc.integer(),
        fc.nat(40),
        async (bookings, order, seed, changesMax) => {
          const books = changingBooks(bookings, seed, { changesMax });
          const platform = createMemoryPlatform({
            bookings,
            faults: { order },
            seed,
            onAnswer: books.onAnswer,
          });
          await readWindows({
            reader: platform.reader,
            merchant: { merchantNo: 'M-TEST', token: 'made-up' },
            asked: [{ window: HOUR, planned: [HOUR] }],
            limits: LIMITS,
            work: createReadingWork(1, { ...READ_LIMITS, ...LIMITS, callsMin: Infinity }),
            storedNear: () => Promise.resolve(null),
            signal: new AbortController().signal,
            onFirstPage: () => Promise.resolve(),
            onContradiction: () => undefined,
            onWindowDone: () => undefined,
            onReading: ({ window }, { reading }) => {
              if (!reading.certified) return Promise.resolve();
              const during = [...books.answers.keys()].filter((n) => {
                const asked = books.answers[n]!.window;
                return asked.beginMs >= window.beginMs && asked.endMs <= window.endMs;
              });
              // A second that is made of parts is only as exact as each part: see what-a-certificate-proves.md.
              const wasSplit = during.some((n) => books.answers[n]!.window.endMs < window.endMs);
              if (wasSplit) return Promise.resolve();
              certified += 1;
              const ever = new Set(during.map((n) => idsOf(books.held[n]!, window)));
              expect(ever).toContain(idsIn(reading));
              return Promise.resolve();
            },
          });
        },
      ),
      { numRuns: 300 },
    );
    expect(certified).toBeGreaterThan(300);
  },
);
