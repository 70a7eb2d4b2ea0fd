/** One rule of exit codes: what stands open of a merchant counts for every command that reads or publishes its ledger. */
import { afterEach, expect, test } from 'vitest';
import { entriesOfAmounts, type WireEntry } from '../support/plain-platform.ts';
import { openPlainStage, type PlainStage } from '../support/plain-stage.ts';
import { daybook, envOf } from './daybook.ts';

const ENTRIES = entriesOfAmounts('USD', [
  ['A-1', '2026-02-10 10:00:00', 10_000],
  ['A-2', '2026-02-11 10:00:00', 500],
  ['A-3', '2026-02-11 12:00:00', 700],
  ['A-4', '2026-02-20 10:00:00', 900],
  ['A-5', '2026-03-01 10:00:00', 100],
]);
const NOW = '2026-03-02T01:30:00+08:00';
/** Whatever they are asked for, they come upon the merchant. */
const COMMANDS = [
  ['run', '--from', '2026-02-27', '--to', '2026-02-28'],
  ['run'],
  ['publish'],
  ['publish', '--from', '2026-02-27', '--to', '2026-02-28'],
  ['reconcile'],
  ['backfill', '--from', '2026-02-25', '--to', '2026-02-26', '--now'],
  ['status'],
];

let stage: PlainStage;
afterEach(() => stage.close());
const command = (...args: string[]) => daybook(args, envOf({ app: stage.app() }));

async function everyCommand(): Promise<{ readonly code: number | null; readonly words: string }[]> {
  const ended = [];
  for (const args of COMMANDS) {
    const { code, stdout, stderr } = await command(...args);
    ended.push({ command: args.join(' '), code, words: stdout + stderr });
  }
  return ended;
}

const spoilt = (batchNo: string, fields: Readonly<Record<string, unknown>>) =>
  ENTRIES.map((entry) => (entry.batchNo === batchNo ? { ...entry, ...fields } : entry));

test.each<[string, readonly WireEntry[], RegExp]>([
  ['a known open break', ENTRIES.filter(({ batchNo }) => batchNo !== 'A-2'), /break/],
  ['an unreadable entry', spoilt('A-3', { vailAmount: '1.2.3' }), /unreadable|quarantined/],
])('%s is 3 for every command, with words', { timeout: 120_000 }, async (_, entries, words) => {
  stage = await openPlainStage(entries, NOW);
  expect(await stage.run('2026-02-10', '2026-02-28')).toMatchObject({ exitCode: 3 });
  const ended = await everyCommand();
  expect(ended.map(({ code }) => code)).toEqual(COMMANDS.map(() => 3));
  for (const one of ended) expect.soft(one.words).toMatch(words);
});

test(
  'adopted days that were not read are 3 for every command, with words',
  { timeout: 120_000 },
  async () => {
    stage = await openPlainStage(ENTRIES, NOW);
    expect(await stage.run('2026-02-10', '2026-03-01')).toMatchObject({ exitCode: 0 });
    await stage.newDatabase();
    await stage.adopt();
    await stage.run('2026-02-25', '2026-03-01');
    const ended = await everyCommand();
    expect(ended.map(({ code }) => code)).toEqual(COMMANDS.map(() => 3));
    for (const one of ended)
      expect.soft(one.words).toContain('with an adopted statement that this database has not read');
  },
);

test('where nothing is open every command is 0', { timeout: 120_000 }, async () => {
  stage = await openPlainStage(ENTRIES, NOW);
  expect(await stage.run('2026-02-10', '2026-03-01')).toMatchObject({ exitCode: 0 });
  expect((await everyCommand()).map(({ code }) => code)).toEqual(COMMANDS.map(() => 0));
});
