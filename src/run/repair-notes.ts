/** What a run says of published files that were missing or altered. */
import type { RepairReport } from '../statements/repair-files.ts';

/** A whole bucket may be gone; the count covers all of them, the first ones are named. */
const FILES_NAMED_MAX = 20;

/** A sentence for each file that cannot be repaired, and one for all that were. */
export function repairNotes({ repaired, unrepaired }: RepairReport): string[] {
  const notes = unrepaired
    .slice(0, FILES_NAMED_MAX)
    .map(({ key, damage, why }) => `${key} is ${damage} in the store: ${why}.`);
  if (unrepaired.length > FILES_NAMED_MAX) {
    notes.push(
      `${unrepaired.length - FILES_NAMED_MAX} more files are missing or altered and cannot be made again.`,
    );
  }
  if (repaired.length > 0) {
    const named = repaired.slice(0, FILES_NAMED_MAX).map(({ key, damage }) => `${key} (${damage})`);
    const more = repaired.length > FILES_NAMED_MAX ? `, and ${repaired.length - FILES_NAMED_MAX} more` : '';
    notes.push(
      `repaired: ${repaired.length} published ${repaired.length === 1 ? 'file was' : 'files were'} missing or altered ` +
        `in the store, and ${repaired.length === 1 ? 'lies' : 'lie'} there again as published: ` +
        `${named.join(', ')}${more}. See what else writes or deletes there.`,
    );
  }
  return notes;
}
