/** Makes a registration from a file: checks it against the document and against stored reference data. */
import type { Kysely } from 'kysely';
import { payoutMethodTypes, referenceCodes } from '../store/reference/reference-lists.ts';
import type { DB } from '../store/engine/schema.ts';
import { bankCountryOf, checkRegistration, type StoredReference } from './check.ts';
import { RegistrationInvalid } from './errors.ts';
import type { Registration } from './registration.ts';
import type { RuleContext } from './rules.ts';

/** Throws `RegistrationInvalid` with all problems. */
export async function prepareRegistration(
  db: Kysely<DB>,
  file: unknown,
  rules: Omit<RuleContext, 'reference'>,
): Promise<Registration> {
  const checked = checkRegistration(file, { ...rules, reference: await storedReference(db, file) });
  if ('problems' in checked) throw new RegistrationInvalid(checked.problems);
  return checked.registration;
}

/** The platform's lists for the bank's country, as last stored (docs/platform.md 4.2). */
async function storedReference(db: Kysely<DB>, file: unknown): Promise<StoredReference> {
  const country = bankCountryOf(file);
  if (country === null) return { payoutMethods: null, banks: null };
  const methodTypes = await payoutMethodTypes(db, country);
  return {
    payoutMethods: methodTypes === null ? null : [...methodTypes.keys()],
    methodTypes,
    banks: await referenceCodes(db, { kind: 'bank', country }),
  };
}
