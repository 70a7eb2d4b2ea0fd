/**
 * The mutants that a test is known to notice, in `test/support/known-mutants.jsonl`: trying some of them again shows that
 * the tests still do. They are found by their lines, wherever these are; one whose lines are gone is passed over.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mutantsOf, type Mutant } from './mutants.ts';
import { randomOf } from '../../test/support/random.ts';

export interface Known extends Pick<Mutant, 'file' | 'before' | 'after'> {
  /** The test file that noticed it. */
  readonly test: string;
}

export interface KnownMutant extends Mutant {
  readonly noticedBy: string;
}

/** `count` of them, drawn from the seed: those of `changed` files first. */
export function drawKnown(
  root: string,
  known: readonly Known[],
  { seed, count }: { readonly seed: number; readonly count: number },
  changed: ReadonlySet<string>,
): KnownMutant[] {
  const random = randomOf(seed);
  const drawn = known
    .map((one) => ({ one, place: random() - (changed.has(one.file) ? 1 : 0) }))
    .sort((a, b) => a.place - b.place)
    .map(({ one }) => one);
  const found: KnownMutant[] = [];
  const mutants = new Map<string, Mutant[]>();
  for (const { file, before, after, test } of drawn) {
    if (found.length >= count) break;
    const all = mutants.get(file) ?? mutantsIn(root, file);
    mutants.set(file, all);
    const same = all.find((mutant) => mutant.before === before && mutant.after === after);
    if (same !== undefined) found.push({ ...same, noticedBy: test });
  }
  return found;
}

function mutantsIn(root: string, file: string): Mutant[] {
  try {
    return mutantsOf(file, readFileSync(join(root, file), 'utf8'));
  } catch {
    return []; // the file is gone
  }
}
