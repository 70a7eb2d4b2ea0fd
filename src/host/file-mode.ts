/** Checks the mode of files and folders that hold secrets, personal data or statements: who may open them. */

const ANYBODY_ELSE = 0o077;
const GROUP_MAY_READ = 0o050;

/** `owner`: no other user has any access. `group`: the group may read too, as PostgreSQL allows. */
export type Audience = 'owner' | 'group';

/** Whether the mode gives others more access than the audience allows. */
export const isTooOpen = (mode: number, audience: Audience): boolean =>
  (mode & ANYBODY_ELSE & (audience === 'group' ? ~GROUP_MAY_READ : ~0)) !== 0;

/** The mode as chmod takes it: `0755`. */
export const modeText = (mode: number): string => (mode & 0o777).toString(8).padStart(4, '0');

/** The command that a person types to take the access away. */
export const chmodText = (path: string, audience: Audience): string =>
  `chmod -R ${audience === 'group' ? 'g-w,o=' : 'go='} ${quoted(path)}`;

const quoted = (path: string): string =>
  /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
