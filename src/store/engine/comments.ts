/**
 * What a script of SQL says about its tables, views and columns becomes comments of the database, so that each meaning stands once: above
 * `CREATE TABLE name (` that of the table, behind a column or above it that of the column. A column without a meaning of its own has
 * the one that the list `-- Columns of many tables:` gives its name.
 */

const COMMON = /^-- Columns of many tables:\n((?:--   \w+: .*\n)+)/m;
const CREATED = /^((?:--.*\n)*)CREATE (TABLE|VIEW) (\w+)(?: AS SELECT| \()\n([\s\S]*?)\n(?:\)|FROM )/gm;
const ALTERED = /^ALTER TABLE (\w+) ADD COLUMN (.*)$/gm;
/** Words that begin a line of a table and name no column. */
const NO_COLUMN = /^(?:PRIMARY|UNIQUE|CHECK|CONSTRAINT|FOREIGN|EXCLUDE)\b/;

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
const joined = (lines: string): string =>
  lines
    .replaceAll(/^\s*-- ?/gm, '')
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ');

/** By the names of columns. */
export const commonMeaningsIn = (script: string): ReadonlyMap<string, string> =>
  new Map(
    [...(COMMON.exec(script)?.[1] ?? '').matchAll(/^--   (\w+): (.*)$/gm)].map(([, name, meaning]) => [
      name!,
      meaning!,
    ]),
  );

/** `COMMENT ON` statements for what the script creates, and for columns that it adds. Empty where it says nothing. */
export function commentsIn(script: string, common: ReadonlyMap<string, string>): string {
  const found: string[] = [];
  const add = (kind: string, name: string, meaning: string | undefined): void => {
    if (meaning !== undefined && meaning !== '')
      found.push(`COMMENT ON ${kind} ${name} IS ${quoted(meaning)};`);
  };
  for (const [, above, kind, name, body] of script.replace(/^-- runs with: .*\n/, '').matchAll(CREATED)) {
    add(kind!, name!, joined(above!));
    for (const [column, meaning] of columnsIn(body!, kind === 'VIEW'))
      add('COLUMN', `${name!}.${column}`, meaning ?? common.get(column));
  }
  for (const [, table, added] of script.matchAll(ALTERED))
    for (const [column, meaning] of columnsIn(`  ${added!}`, false))
      add('COLUMN', `${table!}.${column}`, meaning ?? common.get(column));
  return found.join('\n');
}

/** The columns in the lines of a table or view, each with what stands behind it or above it. */
function* columnsIn(body: string, isView: boolean): Generator<[column: string, meaning: string | undefined]> {
  let above: string[] = [];
  for (const line of body.split('\n')) {
    const [, code = '', behind] = /^\s*(.*?)(?:\s*-- (.*))?$/.exec(line)!;
    if (code === '') {
      if (behind !== undefined) above.push(behind);
      continue;
    }
    const meaning = behind ?? (above.length > 0 ? above.join(' ') : undefined);
    above = [];
    const columns = NO_COLUMN.test(code) ? [] : partsOf(code);
    for (const part of columns) {
      const name = isView ? /(\w+)\s*$/.exec(part)?.[1] : /^\s*(\w+)/.exec(part)?.[1];
      if (name !== undefined) yield [name, columns.length === 1 ? meaning : undefined];
    }
  }
}

/** The parts of a line between commas that stand in no parentheses. */
function partsOf(code: string): string[] {
  const parts: string[] = [''];
  let depth = 0;
  for (const sign of code.replace(/[,;]\s*$/, '')) {
    if (sign === '(') depth += 1;
    if (sign === ')') depth -= 1;
    if (sign === ',' && depth === 0) parts.push('');
    else parts.push(`${parts.pop()!}${sign}`);
  }
  return parts;
}
