/** What looks like a mistake in an application though the document leaves it open: told, and sent all the same. */
import { isFields, type Fields } from '../forms/fields.ts';
import type { Problem } from '../forms/problem.ts';
import { ID_CARD, seemSwapped } from './file-paths.ts';

const PEOPLE = ['customerId', 'shareholder', 'director', 'legalPerson'];

const listIn = (fields: Fields, name: string): readonly unknown[] => {
  const value = fields[name];
  return Array.isArray(value) ? value : [];
};

/** Names of files are nobody's rule, so what they say of front and back is only told. */
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
 * `OTHER` is the catalog's prompt to enter a name (docs/platform.md 2.2). Whether the appendix has it as well is not
 * shown: the settings' list decides, and without one it is told.
 */
function otherNature({ businessNature }: Fields, list: readonly string[] | null): Problem[] {
  const at = isFields(businessNature) ? listIn(businessNature, 'natures').indexOf('OTHER') : -1;
  if (at === -1 || list !== null) return [];
  const problem = 'is the catalog’s prompt to enter a nature; the platform may ask which one is meant';
  return [{ path: `businessNature.natures[${at}]`, problem }];
}

/** In the document's order. `natures`: the settings' list of codes, or null. */
export const odditiesIn = (file: Fields, natures: readonly string[] | null): Problem[] => [
  ...swappedImages(file),
  ...otherNature(file, natures),
];
