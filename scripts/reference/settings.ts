/** Makes docs/reference/settings.md, from the settings' schema and the annotated example file. */
import { SECTIONS, SETTING_PLACES, settingsSchema } from '../../src/settings/schema.ts';
import { cell, code, MADE_BY, table } from './markdown.ts';

/** The comment above each key of the example file, by `section.key`. */
export function commentsOf(example: string): ReadonlyMap<string, string> {
  const comments = new Map<string, string>();
  let section = '';
  let lines: string[] = [];
  for (const line of example.split('\n')) {
    const [, name] = /^([a-zA-Z0-9]+):/.exec(line) ?? [];
    const [, key] = /^ {2}([a-zA-Z0-9]+):/.exec(line) ?? [];
    const [, comment] = /^ {2}# ?(?! {2})(.*)$/.exec(line) ?? [];
    if (name !== undefined) section = name;
    if (comment !== undefined) lines.push(comment.trim());
    else {
      if (key !== undefined) comments.set(`${section}.${key}`, lines.join(' '));
      lines = [];
    }
  }
  return comments;
}

const defaultOf = (section: string, key: string): string => {
  const { shape } = settingsSchema.shape[section as keyof typeof settingsSchema.shape];
  const read = (shape as Record<string, { safeParse: (value: unknown) => { data?: unknown } }>)[key]!;
  const { data } = read.safeParse(undefined);
  if (data === undefined || data === null) return '';
  return typeof data === 'string' ? data : JSON.stringify(data);
};

/** docs/reference/settings.md, before it is formatted. `example` is the text of the example file. */
export function settingsPage(example: string): string {
  const comments = commentsOf(example);
  const rowsOf = (section: string) =>
    SETTING_PLACES.filter((place) => place.section === section).map(({ key, environmentName, secret }) => [
      code(environmentName),
      code(`${section}.${key}`),
      code(defaultOf(section, key)),
      cell((comments.get(`${section}.${key}`) ?? '') + (secret ? ' **Secret.**' : '')).trim(),
    ]);
  return [
    '# Settings',
    MADE_BY,
    'From the environment, or from a YAML file (`--config FILE`, `DAYBOOK_CONFIG`), where the environment wins. ' +
      '`NAME_FILE=PATH` reads a secret from a file. `config/daybook.example.yaml` holds them all.',
    ...SECTIONS.flatMap((section) => [
      `## ${section}`,
      table(['environment', 'file', 'default', 'what it is'], rowsOf(section)),
    ]),
  ].join('\n\n');
}
