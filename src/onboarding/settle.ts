/** Settles an `unknown` application by hand: a person has asked the platform, and the platform has it. */
import type { Kysely, Transaction } from 'kysely';
import type { DB } from '../store/engine/schema.ts';
import {
  markAccepted,
  applicationByBizFlow,
  type ApplicationRow,
  applicationById,
  replacementOf,
  forgetApplication,
} from '../store/onboarding/applications.ts';
import { ApplicationStands } from './errors.ts';

/** Throws `ApplicationStands` if it is not unknown, or if the bizFlow belongs to another application. */
export async function settleApplication(
  db: Kysely<DB>,
  { id, bizFlow, now }: { readonly id: number; readonly bizFlow: string; readonly now: Date },
): Promise<ApplicationRow> {
  const application = await findApplication(db, id);
  const other = await applicationByBizFlow(db, bizFlow);
  if (other !== null && other.id !== id) {
    throw new ApplicationStands(`bizFlow ${bizFlow} is application ${other.id}’s; nothing was changed.`);
  }
  if (application.state !== 'unknown') {
    throw new ApplicationStands(
      `application ${id} stands as ${application.state}: only an unknown one is settled by hand; nothing was changed.`,
    );
  }
  return markAccepted(db, id, { bizFlow, now });
}

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

/** Throws `ApplicationStands` if there is no application of that number. */
export async function findApplication(db: Kysely<DB>, id: number): Promise<ApplicationRow> {
  const application = await applicationById(db, id);
  if (application !== null) return application;
  throw new ApplicationStands(
    `there is no application ${id}; \`daybook onboard list\` shows those there are.`,
  );
}
