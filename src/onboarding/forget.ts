/** A person asks for an application's personal data to be gone, as nothing needs it any more. */
import type { Kysely, Transaction } from 'kysely';
import { applicationById, replacementOf, type ApplicationRow } from '../store/onboarding/applications.ts';
import { forgetApplication } from '../store/onboarding/forget-application.ts';
import type { DB } from '../store/engine/schema.ts';
import { ApplicationStands } from './errors.ts';

const CLOSED: readonly ApplicationRow['state'][] = ['approved', 'rejected', 'refused'];

/**
 * Forgets one that is closed: decided, refused, or replaced by another. Doing it again changes nothing. Throws
 * `ApplicationStands` where it is open or unknown to us.
 */
export async function forget(trx: Transaction<DB>, id: number, now: Date): Promise<ApplicationRow> {
  const application = await applicationById(trx, id);
  if (application === null) {
    throw new ApplicationStands(
      `there is no application ${id}; \`daybook onboard list\` shows those there are.`,
    );
  }
  if (application.forgottenAt !== null) return application;
  if (!CLOSED.includes(application.state) && (await isOpen(trx, id))) {
    throw new ApplicationStands(
      `application ${id} stands as ${application.state}: what was sent is needed until it is decided; nothing was ` +
        'changed.',
    );
  }
  await forgetApplication(trx, id, now);
  return (await applicationById(trx, id))!;
}

const isOpen = async (db: Kysely<DB>, id: number): Promise<boolean> => (await replacementOf(db, id)) === null;
