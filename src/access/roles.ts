/** The role of a person. Pure. */
import type { AccessSettings } from '../settings/settings.ts';
import type { Person } from './access.ts';

const GROUP = 'group:';
const EVERYBODY = '*';

/** Those of the groups that the settings give a role. */
export const groupsWithRole = (
  groups: readonly string[],
  roles: AccessSettings['roles'],
): readonly string[] => [...new Set(groups)].filter((group) => roles.has(GROUP + group));

/** A person, as the way of logging in names them. */
export interface Identity {
  readonly name: string;
  readonly groups: readonly string[];
}

/**
 * The person with their role: that of the name, else that of the first group in the order of the settings, else that of
 * everybody. Null for who has none. A name that reads like a group or like everybody is no one's.
 */
export function personWithRole({ name, groups }: Identity, roles: AccessSettings['roles']): Person | null {
  if (name === EVERYBODY || name.startsWith(GROUP)) return null;
  const keys = [...roles.keys()];
  const ofGroup = keys.find((key) => key.startsWith(GROUP) && groups.includes(key.slice(GROUP.length)));
  const grant =
    roles.get(name) ?? (ofGroup === undefined ? undefined : roles.get(ofGroup)) ?? roles.get(EVERYBODY);
  return grant === undefined ? null : { name, ...grant };
}
