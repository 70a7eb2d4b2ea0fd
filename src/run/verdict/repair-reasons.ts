/** Words which published files were missing, altered or not ours, and which could not be written in a format. */
import type { LeftOutFormat } from '../../statements/new-revisions.ts';
import type { RepairReport, UnrepairedFile } from '../../statements/repair-files.ts';
import type { PublishOutcome } from '../report.ts';
import { EXIT } from './exit-codes.ts';
import type { Reason } from './reason.ts';

/** Most files that get a sentence. A complete bucket may be gone; the count covers all files. */
const FILES_NAMED_MAX = 20;

/**
 * One reason for each file that cannot be repaired, which needs a person, and one reason for all that were repaired.
 */
export function reasonsOfRepair({ repaired, unrepaired }: RepairReport): Reason[] {
  const isAhead = ({ ahead }: UnrepairedFile): boolean => ahead !== undefined;
  const own = unrepaired.filter((one) => !isAhead(one));
  const lost = own
    .slice(0, FILES_NAMED_MAX)
    .map(({ key, damage, why }) => `${key} is ${damage} in the store: ${why}.`);
  if (own.length > FILES_NAMED_MAX) {
    lost.push(`${own.length - FILES_NAMED_MAX} more files are missing or altered and cannot be made again.`);
  }
  return [
    ...reasonsOfAhead(unrepaired.filter(isAhead)),
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

const DAYS_AHEAD_NAMED_MAX = 3;

/** One reason for all days whose manifests in the store are later than this database; their signatures go with them. */
function reasonsOfAhead(files: readonly UnrepairedFile[]): Reason[] {
  const days = new Map(files.map((one) => [`${one.merchantNo} ${one.day}`, one.ahead!]));
  if (days.size === 0) return [];
  const named = [...days]
    .slice(0, DAYS_AHEAD_NAMED_MAX)
    .map(([day, { revision, known }]) => `${day} (revision ${revision}, here ${known})`);
  const more = days.size > named.length ? `, and ${days.size - named.length} more` : '';
  const what =
    days.size === 1
      ? '1 day’s manifest in the store has a higher revision than this database knows'
      : `the manifests of ${days.size} days in the store have higher revisions than this database knows`;
  return [
    {
      exitCode: EXIT.needsPerson,
      what: `${what}: another database wrote there, or this one was restored from a backup: ${named.join(', ')}${more}`,
      todo:
        'bring back the newer database, take the store over with `daybook statements adopt`, or publish under another prefix of ' +
        'STATEMENTS_URL; until then they stay as they are',
    },
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
        'see who else writes to the store, and compare the earlier version there; after a restore, or with a new key, it may ' +
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
  const reported = leftOut.slice(0, FILES_NAMED_MAX).map(({ why }) => why);
  if (leftOut.length > FILES_NAMED_MAX)
    reported.push(`${leftOut.length - FILES_NAMED_MAX} more files cannot be written in their formats.`);
  return reported.map((what) => ({
    exitCode: EXIT.needsPerson,
    what,
    todo: 'the day is published without this file; DAYBOOK_STATEMENT_FORMATS says which are made',
  }));
}
