/** Checks the balance chain against the laws of order and of breaks. An exact search gives the right answer. */
import { createChain, type Chain } from '../../src/ledger/chain/chain.ts';
import type { ChainEntry, ChainStep } from '../../src/ledger/chain/chain-link.ts';
import { chainCases, type ChainCase } from './chain-cases.ts';
import { fewestBreaks, type Move } from './chain-search.ts';
import type { Oracle } from './oracle.ts';

const DAY_MS = Date.UTC(2026, 2, 9);
const START = { batchNo: 'START', second: 0 };

const entryOf = ({ batchNo, net, balance, second }: Move): ChainEntry => ({
  batchNo,
  credit: net > 0 ? String(net) : null,
  debit: net > 0 ? null : String(-net),
  balance: String(balance),
  bookedAt: new Date(DAY_MS + second * 1_000).toISOString().slice(0, 19).replace('T', ' '),
  bookedMs: DAY_MS + second * 1_000,
});

/** The steps that come out if the case is pushed in these pieces. */
function chained({ toleranceS, opening, moves }: ChainCase, cuts: readonly number[]): ChainStep[] {
  const chain: Chain = createChain({
    clockToleranceS: toleranceS,
    start:
      opening === null
        ? null
        : { balance: String(opening), batchNo: START.batchNo, bookedMs: DAY_MS + START.second * 1_000 },
  });
  const entries = moves
    .map(entryOf)
    .sort((a, b) => a.bookedMs - b.bookedMs || (a.batchNo < b.batchNo ? -1 : 1));
  const edges = [
    0,
    ...cuts.map((cut) => Math.min(cut, entries.length)).sort((a, b) => a - b),
    entries.length,
  ];
  const steps = edges.slice(1).flatMap((end, at) => chain.push(entries.slice(edges[at], end)));
  return [...steps, ...chain.end()];
}

const reported = (steps: readonly ChainStep[]): string =>
  steps.map((step) => `${step.break === null ? '' : '! '}${step.entry.batchNo}`).join(' ');

/** Breaks that should not be there, that are missing, or that have wrong figures. */
function wrongBreaks({ opening, moves }: ChainCase, steps: readonly ChainStep[]): string[] {
  const byBatchNo = new Map(moves.map((move) => [move.batchNo, move]));
  let reached = opening;
  let after: string | null = opening === null ? null : START.batchNo;
  return steps.flatMap(({ entry, break: named }) => {
    const move = byBatchNo.get(entry.batchNo)!;
    const expected = reached ?? move.balance - move.net;
    const found = move.balance - move.net;
    const previous = after;
    reached = move.balance;
    after = move.batchNo;
    if (expected === found)
      return named === null ? [] : [`a break is named where none is: before ${move.batchNo}`];
    if (named === null)
      return [`a break is not named: before ${move.batchNo}, ${expected} does not lead to ${found}`];
    const says = [
      named.afterBatchNo,
      named.beforeBatchNo,
      Number(named.expectedBalance),
      Number(named.foundBalance),
      Number(named.missingNet),
    ].join(' ');
    const holds = [previous, move.batchNo, expected, found, found - expected].join(' ');
    return says === holds
      ? []
      : [`a break's figures are wrong: before ${move.batchNo} it says ${says}, true is ${holds}`];
  });
}

/** Entries that come before another one that is older by more than the tolerance. */
function forbidden({ toleranceS }: ChainCase, steps: readonly ChainStep[]): string[] {
  let latestMs = Number.NEGATIVE_INFINITY;
  return steps.flatMap(({ entry, moved }) => {
    const late = latestMs - entry.bookedMs;
    latestMs = Math.max(latestMs, entry.bookedMs);
    const said = moved === late > 0 ? [] : [`an entry is wrongly called moved or not: ${entry.batchNo}`];
    return late > toleranceS * 1_000
      ? [
          ...said,
          `an order that is not allowed: ${entry.batchNo} after an entry ${late / 1_000} s younger, tolerance ${toleranceS} s`,
        ]
      : said;
  });
}

/** Whether two entries of different seconds are within the tolerance, so that there is a choice of order. */
const crossesSeconds = ({ toleranceS, moves }: ChainCase): boolean =>
  moves.some((a) => moves.some((b) => a.second !== b.second && Math.abs(a.second - b.second) <= toleranceS));

/** Breaks beyond the number that an allowed order needs, where the fewest are promised. */
function needlessBreaks(drawn: ChainCase, steps: readonly ChainStep[]): string[] {
  const fewest = fewestBreaks(drawn.moves, drawn.toleranceS, drawn.opening);
  const named = steps.filter((step) => step.break !== null).length;
  if (fewest === null || named === fewest) return [];
  if (named < fewest) return [`fewer breaks than any allowed order has: ${named}, not ${fewest}`];
  if (fewest === 0) return [`breaks where an allowed order without any exists: ${named}`];
  return crossesSeconds(drawn) ? [] : [`more breaks than an allowed order has: ${named}, not ${fewest}`];
}

function check(drawn: ChainCase): readonly string[] {
  const steps = chained(drawn, []);
  const came = steps.map(({ entry }) => entry.batchNo).sort();
  if (
    came.join() !==
    drawn.moves
      .map(({ batchNo }) => batchNo)
      .sort()
      .join()
  )
    return [`not every entry comes out once: ${reported(steps)}`];
  const inPieces = chained(drawn, drawn.cuts);
  return [
    ...forbidden(drawn, steps),
    ...wrongBreaks(drawn, steps),
    ...needlessBreaks(drawn, steps),
    ...(reported(inPieces) === reported(steps) ? [] : ['cut into other pushes, something else comes out']),
  ].map((finding) => `${finding} (${reported(steps)})`);
}

export const chainOracle = (): Oracle<ChainCase> => ({
  kind: 'chains',
  cases: chainCases,
  check: (drawn) => Promise.resolve(check(drawn)),
  close: () => Promise.resolve(),
});
