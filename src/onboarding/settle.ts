/** A person has asked the platform about an application that stood as `unknown`, and the platform has it. */
import type { Kysely } from 'kysely';
import {
  applicationByBizFlow,
  applicationById,
  markAccepted,
  type ApplicationRow,
} from '../store/onboarding/applications.ts';
import type { DB } from '../store/engine/schema.ts';
import { ApplicationStands } from './errors.ts';

/** Throws `ApplicationStands` where it is not unknown, or where the number is another application's. */
export async function settleApplication(
  db: Kysely<DB>,
  { id, bizFlow, now }: { readonly id: number; readonly bizFlow: string; readonly now: Date },
): Promise<ApplicationRow> {
  const application = await applicationById(db, id);
  if (application === null) {
    throw new ApplicationStands(
      `there is no application ${id}; \`daybook onboard list\` shows those there are.`,
    );
  }
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
