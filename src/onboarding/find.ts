/** Finds an application by the number a person has given. */
import type { Kysely } from 'kysely';
import { applicationById, type ApplicationRow } from '../store/onboarding/applications.ts';
import type { DB } from '../store/engine/schema.ts';
import { ApplicationStands } from './errors.ts';

/** Throws `ApplicationStands` if there is no application of that number. */
export async function findApplication(db: Kysely<DB>, id: number): Promise<ApplicationRow> {
  const application = await applicationById(db, id);
  if (application !== null) return application;
  throw new ApplicationStands(
    `there is no application ${id}; \`daybook onboard list\` shows those there are.`,
  );
}
