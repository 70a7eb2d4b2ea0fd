/** Who may be an operator of a merchant, as the settings give roles. Pure. */
import type { AccessSettings } from '../settings/settings.ts';
import { isPersonName } from '../settings/values/credentials.ts';

type Roles = AccessSettings['roles'];

/** What a key of the roles begins with that is not a name but a group's. */
export const GROUP = 'group:';
/** The key of the role of everybody. */
export const EVERYBODY = '*';

/** Whether a name is a person's own: one that reads like a group or like everybody is no one's. */
export const isOwnName = (name: string): boolean => name !== EVERYBODY && !name.startsWith(GROUP);

/**
 * The operators of the merchant, where the settings name each of them. Null where others may be operators, too: members of a
 * group, everybody, or whoever is at this machine.
 */
export function namedOperators(merchantNo: string, roles: Roles): readonly string[] | null {
  const keys = [...roles.keys()].filter((key) => {
    const { role, merchants } = roles.get(key)!;
    return role === 'operator' && (merchants === null || merchants.includes(merchantNo));
  });
  return roles.size > 0 && keys.every(isOwnName) ? keys : null;
}

/** Whether this can be the name of an operator of the merchant. A role of the name's own counts before those of groups. */
export function mayBeOperator(name: string, merchantNo: string, roles: Roles): boolean {
  if (!isPersonName(name) || !isOwnName(name)) return false;
  const own = roles.get(name);
  const decisive = own === undefined ? roles : new Map([[name, own]]);
  return namedOperators(merchantNo, decisive)?.includes(name) ?? true;
}
