/** Who may be an operator of a merchant, as the settings give roles. Pure. */
import { isDay } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { showableText } from '../ledger/text.ts';
import { isPersonName } from '../ledger/people.ts';
import type { AskedOfPlugins } from '../settings/asked-of-plugins.ts';

type Roles = AskedOfPlugins['access']['roles'];

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

/** Why a person cannot be made responsible in this way for something of the merchant; null if they can. `to`: null for who asks. */
export function assignmentProblem(
  { to, due }: { readonly to: string | null; readonly due: string | null },
  {
    merchantNo,
    roles,
    today,
  }: { readonly merchantNo: string; readonly roles: Roles; readonly today: BusinessDay },
): { readonly field: 'to' | 'due'; readonly problem: string } | null {
  if (due !== null && !isDay(due))
    return { field: 'due', problem: `${due} is no day; write it as YYYY-MM-DD, like ${today}.` };
  if (due !== null && due < today)
    return { field: 'due', problem: `${due} is over; name ${today} or a later day.` };
  if (to === null || mayBeOperator(to, merchantNo, roles)) return null;
  const names = namedOperators(merchantNo, roles) ?? [];
  const who = names.length === 0 ? 'says who is' : `names ${names.map(showableText).join(', ')}`;
  const problem = `${showableText(to)} is no operator of merchant ${merchantNo}; DAYBOOK_ACCESS_ROLES ${who}.`;
  return { field: 'to', problem };
}

/** Whether this can be the name of an operator of the merchant. A role of the name's own counts before those of groups. */
export function mayBeOperator(name: string, merchantNo: string, roles: Roles): boolean {
  if (!isPersonName(name) || !isOwnName(name)) return false;
  const own = roles.get(name);
  const decisive = own === undefined ? roles : new Map([[name, own]]);
  return namedOperators(merchantNo, decisive)?.includes(name) ?? true;
}
