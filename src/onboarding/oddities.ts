/** Suspicious values in an application that the document allows: warnings, sent all the same. */
import { isFields, type Fields } from '../forms/fields.ts';
import type { Problem } from '../forms/problem.ts';
import { ID_CARD, seemSwapped } from './file-paths.ts';

const PEOPLE = ['customerId', 'shareholder', 'director', 'legalPerson'];

const listIn = (fields: Fields, name: string): readonly unknown[] => {
  const value = fields[name];
  return Array.isArray(value) ? value : [];
};

/** No rule says how files are named, so a name that says front or back only leads to a warning. */
const swappedImages = (file: Fields): Problem[] =>
  PEOPLE.flatMap((name) =>
    listIn(file, name).flatMap((person, index) =>
      isFields(person) && person['type'] === ID_CARD && seemSwapped(listIn(person, 'certificates'))
        ? [
            {
              path: `${name}[${index}].certificates`,
              problem:
                'seem to be in the wrong order by their names: an ID card’s front goes first, then its back',
            },
          ]
        : [],
    ),
  );

/**
 * `OTHER` is the catalog's prompt to enter a name (docs/platform.md 2.2). It is not known whether the appendix has it
 * as a code. The list in the settings decides. Without a list there is a warning.
 */
function otherNature({ businessNature }: Fields, list: readonly string[] | null): Problem[] {
  const at = isFields(businessNature) ? listIn(businessNature, 'natures').indexOf('OTHER') : -1;
  if (at === -1 || list !== null) return [];
  const problem = 'is the catalog’s prompt to enter a nature; the platform may ask which one is meant';
  return [{ path: `businessNature.natures[${at}]`, problem }];
}

/** Warnings in the document's order. `natures` is the list of codes in the settings, or null. */
export const odditiesIn = (file: Fields, natures: readonly string[] | null): Problem[] => [
  ...swappedImages(file),
  ...otherNature(file, natures),
];
