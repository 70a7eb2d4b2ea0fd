/** What a run says of the breaks it found: those of one cause once, so that a day full of them is one sentence. */
import { counted } from '../../ledger/text.ts';
import { isCauseKnown, storiesOf } from '../../ledger/chain/break-stories.ts';
import { knownBreak, type BreakRow } from '../../store/breaks/breaks.ts';
import { EXIT } from './exit-codes.ts';
import type { Reason } from './judge.ts';

/** A ledger with more is told by `daybook breaks`. */
const CAUSES_TOLD_MAX = 5;

/** One for each cause that the breaks tell together; breaks that may be anything are counted elsewhere. */
export function reasonsOfCauses(opened: readonly BreakRow[]): Reason[] {
  const stories = storiesOf(opened.map(knownBreak).filter(isCauseKnown));
  const reasons = stories.slice(0, CAUSES_TOLD_MAX).map(({ breaks, where, cause }) => ({
    exitCode: EXIT.needsPerson,
    what: `${counted(breaks.length, 'break')} of ${where}: ${cause.replace(/\.$/, '')}`,
    todo: 'send this sentence to the platform',
  }));
  const more = stories.length - reasons.length;
  if (more === 0) return reasons;
  return [
    ...reasons,
    {
      exitCode: EXIT.needsPerson,
      what: `breaks of ${counted(more, 'more cause')}: see \`daybook breaks\``,
      todo: null,
    },
  ];
}
