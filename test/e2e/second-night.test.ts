/** A second night without news writes no row of the ledger and changes no file. */
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Planted } from '../../src/plugins/sandbox/scenario.ts';
import { daybook, envOf } from '../cli/daybook.ts';
import { DAYS, FROM, MERCHANT, openStage, scenario, TO, type Stage } from '../support/stage.ts';
import { filesBelow, rowsOfTables, writtenFiles, writtenRows } from '../support/written.ts';

/** Tables that say what runs did and who may work. A table that is not named here obeys the law. */
const TABLES_OF_RUNS = new Set(['run', 'run_merchant', 'request', 'lease']);

/** What a night without news writes nevertheless. */
const EXCEPTIONS = {
  /** Which process wrote to the store last. */
  store: { rows: ['installation.store_turn'], files: ['daybook-store.json'] },
  /** How often a break was asked again is what limits asking. */
  breaks: {
    rows: ['continuity_break.healing_read_at', 'continuity_break.readings_unchanged'],
    files: [],
  },
  /** The day that is not over is proven as far as the clock, which went on. */
  today: {
    rows: [
      'certificate.through_ms',
      'certificate.read_at',
      'certificate.run_id',
      'certificate.total',
      'certificate.entries',
    ],
    files: [],
  },
} as const;
type Exception = keyof typeof EXCEPTIONS;

let stage: Stage;
afterEach(() => stage.close());

const at = (hour: string): string => `2026-03-06T${hour}:30:00+08:00`;
const NAMED_DAYS = ['run', '--from', FROM, '--to', TO];
const NIGHT = ['run'];

const place = (day: string, nth: number) => ({ merchant: MERCHANT.merchantNo, currency: 'USD', day, nth });
const MISSING: Planted = { what: 'missing', ...place(DAYS[1]!, 5) };
const MALFORMED: Planted = { what: 'malformed', ...place(DAYS[2]!, 7) };

/** Runs the command and returns its exit code. */
async function ranAt(hour: string, args: readonly string[]): Promise<number | null> {
  stage.setNow(at(hour));
  return (await daybook(args, envOf(stage))).code;
}

const snapshot = async () => ({
  rows: await rowsOfTables(stage.app.database.db, TABLES_OF_RUNS),
  files: await filesBelow(join(stage.app.settings.dataDir, 'statements')),
});

const without = (exceptions: readonly Exception[], kind: 'rows' | 'files', written: readonly string[]) => {
  const named = new Set<string>(exceptions.flatMap((name) => [...EXCEPTIONS[name][kind]]));
  return written.filter((one) => !named.has(one));
};

const LEDGERS: readonly (readonly [string, readonly Planted[], number, readonly Exception[]])[] = [
  ['a calm ledger', [], 0, []],
  ['a ledger that lacks an entry', [MISSING], 3, ['breaks']],
  ['a ledger with an entry that cannot be read', [MALFORMED], 3, ['breaks']],
];
for (const [ledger, planted, code, ofLedger] of LEDGERS)
  test.each<[string, readonly string[], readonly Exception[]]>([
    ['the same days by name', NAMED_DAYS, []],
    ['what a night reads', NIGHT, ['today']],
  ])(`${ledger}, read again: %s`, { timeout: 60_000 }, async (_, args, ofCommand) => {
    stage = await openStage({ scenario: scenario({ planted: [...planted] }) });
    expect(await ranAt('01', NAMED_DAYS)).toBe(code);
    // The first night reads the days of its lookback before those, which is news.
    if (args === NIGHT) await ranAt('02', NIGHT);
    for (const hour of ['04', '07']) {
      const before = await snapshot();
      expect(before.files.size).toBeGreaterThan(DAYS.length);
      expect(await ranAt(hour, args)).toBe(code);
      const after = await snapshot();
      const exceptions: Exception[] = ['store', ...ofLedger, ...ofCommand];
      expect(without(exceptions, 'rows', writtenRows(before.rows, after.rows))).toEqual([]);
      expect(without(exceptions, 'files', writtenFiles(before.files, after.files))).toEqual([]);
    }
  });
