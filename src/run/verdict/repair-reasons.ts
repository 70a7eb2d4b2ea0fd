/** Words which published files were missing, altered or not ours, and which could not be written in a format. */
import type { LeftOutFormat } from '../../statements/other-formats.ts';
import type { RepairReport } from '../../statements/repair-files.ts';
import type { PublishOutcome } from '../report.ts';
import { EXIT } from './exit-codes.ts';
import type { Reason } from './reason.ts';

/** Most files that get a sentence. A whole bucket may be gone; the count covers all files. */
const FILES_NAMED_MAX = 20;

/**
 * One reason for each file that cannot be repaired, which needs a person, and one reason for all that were repaired.
 */
export function reasonsOfRepair({ repaired, unrepaired }: RepairReport): Reason[] {
  const lost = unrepaired
    .slice(0, FILES_NAMED_MAX)
    .map(({ key, damage, why }) => `${key} is ${damage} in the store: ${why}.`);
  if (unrepaired.length > FILES_NAMED_MAX) {
    lost.push(
      `${unrepaired.length - FILES_NAMED_MAX} more files are missing or altered and cannot be made again.`,
    );
  }
  return [
    ...lost.map((what) => ({ exitCode: EXIT.needsPerson, what, todo: null })),
    ...(repaired.length > 0
      ? [
          {
            exitCode: EXIT.done,
            what: repairedSentence(repaired),
            todo: 'see what else writes or deletes in the store',
          },
        ]
      : []),
  ];
}

/** One reason for all manifests that are not ours. */
export function reasonsOfForeign({ foreign }: Pick<PublishOutcome, 'foreign'>): Reason[] {
  if (foreign.length === 0) return [];
  const named = foreign
    .slice(0, FILES_NAMED_MAX)
    .map(({ key, revision, sha256 }) => `${key} (revision ${revision}, SHA-256 ${sha256})`);
  const more = foreign.length > FILES_NAMED_MAX ? `, and ${foreign.length - FILES_NAMED_MAX} more` : '';
  return [
    {
      exitCode: EXIT.needsPerson,
      what:
        `${foreign.length === 1 ? 'a manifest' : `${foreign.length} manifests`} lay in the store that this database does ` +
        `not know and our key did not sign; ours took the place: ${named.join(', ')}${more}`,
      todo:
        'see who else writes to the store, and look at the earlier version there; after a restore, or with a new key, it may ' +
        'be our own',
    },
  ];
}

function repairedSentence(repaired: RepairReport['repaired']): string {
  const one = repaired.length === 1;
  const named = repaired.slice(0, FILES_NAMED_MAX).map(({ key, damage }) => `${key} (${damage})`);
  const more = repaired.length > FILES_NAMED_MAX ? `, and ${repaired.length - FILES_NAMED_MAX} more` : '';
  return (
    `repaired: ${repaired.length} published ${one ? 'file was' : 'files were'} missing or altered in the store, and ` +
    `${one ? 'lies' : 'lie'} there again as published: ${named.join(', ')}${more}`
  );
}

/** One reason for each file that its format cannot hold; the CSV of the day is published all the same. */
export function reasonsOfLeftOut(leftOut: readonly LeftOutFormat[]): Reason[] {
  const told = leftOut.slice(0, FILES_NAMED_MAX).map(({ why }) => why);
  if (leftOut.length > FILES_NAMED_MAX)
    told.push(`${leftOut.length - FILES_NAMED_MAX} more files cannot be written in their formats.`);
  return told.map((what) => ({
    exitCode: EXIT.needsPerson,
    what,
    todo: 'the day is published without this file; DAYBOOK_STATEMENT_FORMATS says which are made',
  }));
}
