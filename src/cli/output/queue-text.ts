/** The queue for workers in a few lines, for `status`. */
import type { QueueGlance } from '../../queue/glance.ts';
import { counted, lines } from './text.ts';

export function queueText(glance: QueueGlance | null): string {
  if (glance === null) return 'queue: its tables are missing; run `daybook migrate`';
  const lanes = glance.lanes.map(
    ({ lane, waiting, active }) => `${lane} ${waiting.toLocaleString('en')} waiting, ${active} at work`,
  );
  const more = glance.givenUpCount - glance.givenUp.length;
  return lines(
    `queue: ${lanes.join('; ')}`,
    glance.givenUpCount > 0 &&
      `${counted(glance.givenUpCount, 'job was', 'jobs were')} given up: ` +
        glance.givenUp.map(({ merchantNo, runId }) => `${merchantNo} of run ${runId}`).join(', ') +
        `${more > 0 ? ` and ${more} more` : ''}; \`daybook jobs list\` says why, \`daybook jobs redrive\` sends them back`,
  );
}
