/** How alerts name the first few of many. Pure. */
import { counted } from '../ledger/text.ts';

/** The most merchants, days or reasons that an alert names. The rest is counted. */
export const NAMED_MAX = 5;

/** `A1, A2 and 398 more`. */
export function firstOf(names: readonly string[], count = names.length): string {
  const named = names.slice(0, NAMED_MAX);
  return named.join(', ') + (count > named.length ? ` and ${count - named.length} more` : '');
}

/** The first few sentences, then a count of the rest. */
export function firstSentences(sentences: readonly string[], where: string): string[] {
  const more = sentences.length - NAMED_MAX;
  return more <= 0
    ? [...sentences]
    : [...sentences.slice(0, NAMED_MAX), `and ${counted(more, 'more', 'more')}: ${where}`];
}
