/** Guesses which known name a misspelled one was meant to be. */
import { distance } from 'fastest-levenshtein';

const plain = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');

/** The most similar known name with at most a third of its letters different, or null. */
export function didYouMean(name: string, known: readonly string[]): string | null {
  const asked = plain(name);
  const near = known
    .map((candidate) => ({ candidate, wrong: distance(asked, plain(candidate)) }))
    .filter(({ candidate, wrong }) => wrong <= Math.floor(plain(candidate).length / 3))
    .sort((a, b) => a.wrong - b.wrong);
  return near[0]?.candidate ?? null;
}
