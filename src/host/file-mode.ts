/** Who may open a file or folder, told from its mode: for whatever holds secrets, personal data or statements. */

const ANYBODY_ELSE = 0o077;
const GROUP_MAY_READ = 0o050;

/** `owner`: nobody else may do anything. `group`: the group may read, as PostgreSQL allows it. */
export type Audience = 'owner' | 'group';

/** Whether somebody may open it, or write to it, who should not. */
export const isTooOpen = (mode: number, audience: Audience): boolean =>
  (mode & ANYBODY_ELSE & (audience === 'group' ? ~GROUP_MAY_READ : ~0)) !== 0;

/** `0755`, as chmod takes it. */
export const modeText = (mode: number): string => (mode & 0o777).toString(8).padStart(4, '0');

/** What `chmod` takes away from whom, to be typed. */
export const chmodText = (path: string, audience: Audience): string =>
  `chmod -R ${audience === 'group' ? 'g-w,o=' : 'go='} ${quoted(path)}`;

const quoted = (path: string): string =>
  /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
