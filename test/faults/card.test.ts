/** Checks that the published card has every kind of fault and no failure. It is stale if it lacks a kind. */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { Tried } from './attempt.ts';
import { cardOf, tally, type Tally } from './card.ts';
import { FAULT_KINDS } from './kinds.ts';

interface Row {
  readonly kind: string;
  readonly fault: string;
  readonly runs: number;
  readonly held: string;
}

/** The rows of the card's table. */
function rowsOf(card: string): Row[] {
  const cells = card
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| kind '))
    .map((line) => line.split('|').map((cell) => cell.trim()));
  return cells.map(([, kind = '', fault = '', runs = '', , , held = '']) => ({
    kind,
    fault,
    runs: Number(runs),
    held,
  }));
}

test('the published card has all kinds of faults, and no run that broke a law', async () => {
  const rows = rowsOf(await readFile(new URL('../../docs/faults.md', import.meta.url), 'utf8'));
  expect(rows.map(({ kind, fault }) => [kind, fault])).toEqual(
    FAULT_KINDS.map(({ name, fault }) => [name, fault]),
  );
  expect(rows.filter(({ runs, held }) => runs === 0 || held !== 'all')).toEqual([]);
});

test('a run that broke a law is in the card', () => {
  const [first] = FAULT_KINDS;
  const drawn = { kind: first!.name, story: 'first', place: 's3', at: 0, pick: 0, more: 0 } as const;
  const held: Tried = { drawn, isStruck: true, exit: 4, elapsedMs: 2_400, broken: [] };
  const tallies = new Map<string, Tally>();
  for (const tried of [
    held,
    { ...held, exit: null },
    { ...held, elapsedMs: 9_000, broken: ['a row is missing'] },
  ])
    tally(tallies, tried);
  const card = cardOf(FAULT_KINDS, tallies);
  expect(card).toContain('3 runs, 2 of them held.');
  expect(card).toContain(`| ${first!.name} | ${first!.fault} | 3 | 4 (2), killed (1) | 9 s | 2 |`);
  expect(rowsOf(card)).toHaveLength(FAULT_KINDS.length);
});
