/** Words the reasons of breaks that a run found. Breaks of one cause get one sentence, however many there are. */
import { counted } from '../../ledger/text.ts';
import { isCauseKnown, storiesOf } from '../../ledger/chain/break-stories.ts';
import { knownBreak, type BreakRow } from '../../store/breaks/breaks.ts';
import { EXIT } from './exit-codes.ts';
import type { Reason } from './reason.ts';

/** Most causes that get a sentence; `daybook breaks` lists all. */
const CAUSES_NAMED_MAX = 5;

/** One reason for each common cause of breaks. Breaks whose cause is not known are counted elsewhere. */
export function reasonsOfCauses(opened: readonly BreakRow[]): Reason[] {
  const stories = storiesOf(opened.map(knownBreak).filter(isCauseKnown));
  const reasons = stories.slice(0, CAUSES_NAMED_MAX).map(({ breaks, where, cause }) => ({
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
