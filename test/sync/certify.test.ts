/** What a window that does not add up costs of the reader's patience. Only readings without progress count. */
import { expect, test } from 'vitest';
import type { LedgerEntry, UnreadableEntry, Window } from '../../src/ledger/entry.ts';
import type { LedgerPage } from '../../src/platform/ledger-reader.ts';
import { certifyWindow, type CertifyTask } from '../../src/sync/certify.ts';
import type { PageSource } from '../../src/sync/page-source.ts';
import { READ_LIMITS } from '../../src/sync/limits.ts';
import { createReadingWork } from '../../src/sync/reading-work.ts';
import { accountEntries } from '../support/ledger-entries.ts';

const SECOND: Window = {
  beginMs: Date.parse('2026-03-01T12:00:00Z'),
  endMs: Date.parse('2026-03-01T12:00:00.999Z'),
};
const entries = accountEntries(
  0,
  Array.from({ length: 102 }, () => ['2026-03-01 12:00:00', 100] as const),
).map((entry): LedgerEntry => ({ ...entry, bookedMs: SECOND.beginMs }));
const wreck = (batchNo: string | null): UnreadableEntry => ({ raw: '{"a":1}', batchNo, reason: 'odd' });
const page = (shown: readonly LedgerEntry[], unreadable: readonly UnreadableEntry[] = []): LedgerPage => ({
  total: 102,
  entries: shown,
  unreadable,
  notices: [],
});

/** Reads a second whose pages are given, one list of pages per reading. Returns the cost. */
async function costOf(readings: readonly (readonly LedgerPage[])[]) {
  const task: CertifyTask = {
    window: SECOND,
    planned: [SECOND],
    splitPolicy: { pageNumMax: 100, unitMs: 1 },
    retryBudget: { failedCalls: 0, certifiedPages: 0, streak: { failed: 0 } },
  };
  let reads = 0;
  const source: PageSource = {
    page: (_, pageNum) => {
      if (pageNum === 1) reads += 1;
      return Promise.resolve(readings[reads - 1]![pageNum - 1]!);
    },
    holdPages: () => Promise.resolve(),
    onFirstPage: () => undefined,
    onContradiction: () => undefined,
    work: createReadingWork(1, READ_LIMITS),
    isEmptyBelieved: () => Promise.resolve(true),
  };
  const limits = { ...READ_LIMITS, readsBeforeSplitMax: 32 };
  const outcome = await certifyWindow(task, source, limits);
  return {
    reads,
    failedCalls: task.retryBudget.failedCalls,
    certified: outcome.kind === 'read' && outcome.reading.certified,
  };
}

test('identical unreadable entries without batchNo each count: once all is known, a repeated reading costs no patience', async () => {
  const wrecks = [wreck(null), wreck(null), wreck(null)];
  const first = page(entries.slice(0, 97), wrecks);
  const [one, other] = [97, 98].map((nth) => page([entries[nth]!, entries[0]!]));
  // Each reading lacks one entry. The second has what the first lacked, and both entries must come once more.
  const readings = [
    [first, one!],
    [first, other!],
    [first, one!],
    [first, other!],
  ];
  expect(await costOf(readings)).toEqual({ reads: 4, failedCalls: 2, certified: true });
});

test('an unreadable entry with the batchNo of a readable one is not a further record', async () => {
  const named = wreck(entries[0]!.batchNo);
  const first = page(entries.slice(0, 99), [named]);
  const lacking = page(entries.slice(99, 101));
  const whole = page(entries.slice(100, 102));
  // After the first reading 101 of 102 are known, however often the entry that also comes unreadable is counted.
  const readings = [
    [first, lacking],
    [first, lacking],
    [first, whole],
    [first, lacking],
    [first, whole],
  ];
  expect(await costOf(readings)).toEqual({ reads: 5, failedCalls: 4, certified: true });
});
