/** Removes the personal data of an application that is closed, because a person asks for it. */
import type { Kysely, Transaction } from 'kysely';
import { applicationById, replacementOf, type ApplicationRow } from '../store/onboarding/applications.ts';
import { forgetApplication } from '../store/onboarding/forget-application.ts';
import type { DB } from '../store/engine/schema.ts';
import { ApplicationStands } from './errors.ts';
import { findApplication } from './find.ts';

const CLOSED: readonly ApplicationRow['state'][] = ['approved', 'rejected', 'refused'];

/**
 * The application must be closed: decided, refused or replaced by another one. A second call changes nothing. Throws
 * `ApplicationStands` if it is open or does not exist.
 */
export async function forget(trx: Transaction<DB>, id: number, now: Date): Promise<ApplicationRow> {
  const application = await findApplication(trx, id);
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
