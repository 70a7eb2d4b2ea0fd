/** What an application's state means, and what a person does next. */
import type { ApplicationRow } from '../store/onboarding/applications.ts';

const RESULT_ELSEWHERE =
  'Its result goes to the callbackUrl its file gave, and not to daybook: add the merchant with `daybook merchants add` ' +
  'when it comes.';

/** One or more sentences. `isReplaced`: a later application was submitted in its place. */
export function adviceOf(
  { id, merOrderNo, state, bizFlow, merchantNo, isNotified, isReceived }: ApplicationRow,
  isReplaced = false,
): string {
  switch (state) {
    case 'submitting':
      return 'It is being sent to the platform; check again in a moment.';
    case 'accepted':
      return (
        'The platform has received it and reviews it; that is no approval yet. ' +
        (isNotified ? 'Keep `daybook serve` running: the result comes to it.' : RESULT_ELSEWHERE)
      );
    case 'refused':
      return (
        'The platform refused it. Correct the problem and submit the file again. If a result arrives all the same, ' +
        '`daybook notifications` shows it, and `daybook notifications apply NUMBER` applies it.'
      );
    case 'unknown':
      if (isReplaced)
        return 'Another one was submitted in its place; a result that arrives all the same is still applied.';
      return isReceived
        ? 'The platform has received it, but did not say under which bizFlow. Do not submit it again: ask the platform ' +
            `for the bizFlow of merOrderNo ${merOrderNo}, then \`daybook onboard settle ${id} --biz-flow FLOW\`. A ` +
            'result that comes meanwhile is taken.'
        : 'It is unknown whether the platform has it, and daybook never sends it again by itself. Ask the platform ' +
            `whether it has merOrderNo ${merOrderNo}. If it has: \`daybook onboard settle ${id} --biz-flow FLOW\` with ` +
            `the bizFlow it names. If it has not: \`daybook onboard submit FILE --replaces ${id}\`. A result that ` +
            'comes meanwhile is taken.';
    case 'supplement':
      return isReplaced
        ? 'Another one was submitted in its place.'
        : `The platform wants documents supplemented; that is no rejection. It takes them for bizFlow ${bizFlow ?? '?'} ` +
            'by its operation sp1102 (addMaterial 1, reMaterial), whose request its document does not show; or as a ' +
            `new application: \`daybook onboard submit FILE --replaces ${id}\`, which carries the process version on.`;
    case 'approved':
      return `Merchant ${merchantNo ?? '?'} is known; its ledger joins the daily run once a first call with its token succeeds.`;
    case 'rejected':
      return (
        'The platform rejected it, or could not process it. A corrected file can be submitted as a new application; an ' +
        'approval that arrives all the same is still applied.'
      );
  }
}
