/**
 * What a book calls a debit, and with which sign it writes it. A column of debits may hold them above zero or below; where most are below
 * and the mapping does not say what that means, it is asked and not guessed.
 */
import type { Mapping } from './mapping.ts';
import type { SourceRow } from './sources.ts';
import { negated } from './values.ts';

export type Side = 'credit' | 'debit';
const SIDES = ['debit', 'credit'] as const;

/** Words of a column that says the direction, as banks and programs write them. */
const WORDS: Readonly<Record<Side, readonly string[]>> = {
  debit: ['debit', 'debits', 'dbit', 'dr', 'dr.', 'db', 'd', 'debet', 'soll', 's', 'af'],
  credit: ['credit', 'credits', 'crdt', 'cr', 'cr.', 'c', 'kredit', 'k', 'haben', 'h', 'bij'],
};
/** A word that nothing else is abbreviated to. */
const CLEAR = ['debit', 'debits', 'dbit', 'debet', 'soll'];

const wordIn = (cell: string): string => cell.trim().toLowerCase();

/** Takes the amounts of a side, and knows in the end whether it may. */
export function createSides(mapping: Mapping) {
  const counts = { debit: { above: 0, below: 0 }, credit: { above: 0, below: 0 } };
  /** The amount as it moves the account: a credit above zero. `written` is as the column of the side has it. */
  const moved = (side: Side, written: string): string => {
    if (/[1-9]/.test(written)) counts[side][written.startsWith('-') ? 'below' : 'above'] += 1;
    const usual = mapping[`${side}s`] === 'below-zero' ? negated(written) : written;
    return side === 'credit' ? usual : negated(usual);
  };
  /** What has to be said in the mapping; null if nothing is. */
  const doubt = (): string | null => {
    const unsaid = SIDES.find(
      (side) => mapping[`${side}s`] === undefined && counts[side].below > counts[side].above,
    );
    if (unsaid === undefined) return null;
    return (
      `most ${unsaid}s of the file are below zero. Add \`${unsaid}s: below-zero\` to the mapping where a ${unsaid} is written so, ` +
      `or \`${unsaid}s: above-zero\` where these are reversals.`
    );
  };
  return { moved, doubt };
}

/** The side that the words of the mapping give to a cell; null for any other word. */
export const sideOf = (cell: string, direction: Mapping['direction']): Side | null =>
  SIDES.find((side) => direction?.[side]?.includes(wordIn(cell))) ?? null;

interface Candidate {
  readonly place: number;
  readonly seen: Set<Side>;
  isClear: boolean;
  /** Rows of debits with an amount above zero, and below. */
  above: number;
  below: number;
}

/**
 * Searches for a column that says the direction though the mapping does not name it: all its cells are words for debit and credit, and
 * amounts of debits are above zero.
 */
export function createDirectionSearch(mapping: Mapping, heads: readonly string[]) {
  let candidates: Candidate[] = [];
  if (mapping.direction === undefined && mapping.columns.amount !== undefined)
    candidates = heads.map((_, place) => ({ place, seen: new Set(), isClear: false, above: 0, below: 0 }));
  const see = ({ cells }: SourceRow, amount: string): void => {
    if (candidates.length === 0) return;
    candidates = candidates.filter((candidate) => {
      const word = wordIn(cells[candidate.place] ?? '');
      if (word === '') return true;
      const side = SIDES.find((one) => WORDS[one].includes(word));
      if (side === undefined) return false;
      candidate.seen.add(side);
      candidate.isClear ||= CLEAR.includes(word);
      if (side === 'debit' && /[1-9]/.test(amount))
        candidate[amount.startsWith('-') ? 'below' : 'above'] += 1;
      return true;
    });
  };
  const doubt = (): string | null => {
    const found = candidates.find(
      ({ seen, isClear, above, below }) => above > below && (isClear || seen.size === SIDES.length),
    );
    if (found === undefined) return null;
    return (
      `the column ${heads[found.place]!.trim()} says debit or credit, and amounts of debits are above zero. Name it in the mapping: ` +
      '`columns.direction`, and its words as `direction: {debit: …, credit: …}`.'
    );
  };
  return { see, doubt };
}
