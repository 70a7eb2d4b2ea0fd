/** Settles an `unknown` application by hand: a person has asked the platform, and the platform has it. */
import type { Kysely } from 'kysely';
import { markAccepted } from '../store/onboarding/application-calls.ts';
import { applicationByBizFlow, type ApplicationRow } from '../store/onboarding/applications.ts';
import type { DB } from '../store/engine/schema.ts';
import { ApplicationStands } from './errors.ts';
import { findApplication } from './find.ts';

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
