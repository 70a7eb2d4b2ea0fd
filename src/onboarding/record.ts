/** Records an application before it is sent, unless there is one for the same merchant already. */
import type { Kysely } from 'kysely';
import {
  lockApplications,
  recordApplication,
  type NewApplication,
} from '../store/onboarding/application-calls.ts';
import {
  applicationByMerOrderNo,
  openPayloads,
  replacementOf,
  type ApplicationRow,
} from '../store/onboarding/applications.ts';
import type { DB } from '../store/engine/schema.ts';
import type { ApplicationPayload } from './check.ts';
import { ApplicationStands } from './errors.ts';
import { findApplication } from './find.ts';

const NOTHING_SENT = 'Nothing was sent';

/** The application that a new one replaces. Throws `ApplicationStands` if it must not be replaced. */
export async function replaceable(db: Kysely<DB>, id: number): Promise<ApplicationRow> {
  const earlier = await findApplication(db, id);
  if (earlier.state === 'approved') {
    throw new ApplicationStands(
      `application ${id} is approved: there is nothing to replace. ${NOTHING_SENT}.`,
    );
  }
  if (earlier.state === 'submitting') {
    throw new ApplicationStands(`application ${id} is being submitted right now. ${NOTHING_SENT}.`);
  }
  const later = await replacementOf(db, id);
  if (later !== null) {
    throw new ApplicationStands(
      `application ${id} is replaced already, by ${later.id}; name that one instead. ${NOTHING_SENT}.`,
    );
  }
  return earlier;
}

/** The same for every way to write a registration number: with or without dashes, in capital or small letters. */
const companyOf = ({ countryCode, certificateNo }: ApplicationPayload): string =>
  `${countryCode} ${certificateNo.toUpperCase().replaceAll(/[^\p{L}\p{N}]/gu, '')}`;

/**
 * Only one process records at a time. Throws `ApplicationStands` if the order number is taken, or if another
 * application for the same registration number is undecided and is not the one to be replaced.
 */
export function recordNewApplication(
  db: Kysely<DB>,
  application: NewApplication & { readonly payload: ApplicationPayload },
): Promise<ApplicationRow> {
  const { merOrderNo, payload, replaces, secretKeys } = application;
  return db.transaction().execute(async (trx) => {
    await lockApplications(trx);
    if (replaces !== null) await replaceable(trx, replaces);
    const namesake = await applicationByMerOrderNo(trx, merOrderNo);
    if (namesake !== null) {
      throw new ApplicationStands(
        `merOrderNo is that of application ${namesake.id} already (${namesake.state}): see \`daybook onboard status ` +
          `${namesake.id}\`; a new application takes another, or leaves it out. ${NOTHING_SENT}.`,
      );
    }
    const company = companyOf(payload);
    const open = await openPayloads(trx, secretKeys);
    const twin = open.find(
      (one) => one.application.id !== replaces && companyOf(one.payload as ApplicationPayload) === company,
    );
    if (twin !== undefined) {
      const { id, state } = twin.application;
      throw new ApplicationStands(
        `application ${id} is for the same registration number and stands as ${state}: \`daybook onboard status ${id}\` ` +
          `says what to do; --replaces ${id} submits this one in its place. ${NOTHING_SENT}.`,
      );
    }
    return recordApplication(trx, application);
  });
}
