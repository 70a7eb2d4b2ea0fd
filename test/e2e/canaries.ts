/** Made-up secrets and personal data that can be recognized anywhere, and the search for them where they may not be. */
import { randomBytes, randomInt } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql, type Kysely } from 'kysely';
import type { DB } from '../../src/store/engine/schema.ts';

export interface Canaries {
  /** A new word of letters and digits. `name` says where it is planted. */
  readonly word: (name: string) => string;
  /** That many new digits. */
  readonly digits: (name: string, count: number) => string;
  /** A date long ago. */
  readonly day: (name: string) => string;
  /** Any other text that must not be found. */
  readonly planted: (name: string, text: string) => string;
  /** The names of those found in a text, in any form. */
  readonly foundIn: (text: string) => string[];
}

export function createCanaries(): Canaries {
  const names = new Map<string, string>();
  const spellings = new Map<string, string>();
  const planted = (name: string, text: string): string => {
    names.set(text, name);
    for (const spelling of spellingsOf(text)) spellings.set(spelling.toLowerCase(), text);
    return text;
  };
  return {
    planted,
    word: (name) => planted(name, `Cnry${randomBytes(5).toString('hex')}`),
    digits: (name, count) =>
      planted(name, `9${Array.from({ length: count - 1 }, () => randomInt(10)).join('')}`),
    day: (name) =>
      planted(
        name,
        `19${randomInt(20, 50)}-${String(randomInt(1, 13)).padStart(2, '0')}-${String(randomInt(1, 29)).padStart(2, '0')}`,
      ),
    foundIn: (text) => {
      const searched = text.toLowerCase();
      const found = [...spellings].filter(([spelling]) => searched.includes(spelling));
      return [...new Set(found.map(([, canary]) => names.get(canary)!))];
    },
  };
}

/** The text itself, within a URL, in hexadecimal, and in the middle of base64. */
function spellingsOf(text: string): string[] {
  const bytes = Buffer.from(text);
  const middles = [0, 1, 2].map((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replaceAll('=', '');
    return encoded.slice(offset === 0 ? 0 : offset + 1, -1);
  });
  return [text, encodeURIComponent(text), bytes.toString('hex'), ...middles];
}

/** All columns of all rows, as text. */
export async function allRows(db: Kysely<DB>): Promise<string> {
  const tables = await db.introspection.getTables();
  const texts: string[] = [];
  for (const { name } of tables.filter(({ isView }) => !isView)) {
    const { rows } = await sql<{
      text: string;
    }>`SELECT t::text AS text FROM ${sql.table(name)} AS t`.execute(db);
    texts.push(...rows.map(({ text }) => `${name}: ${text}`));
  }
  return texts.join('\n');
}

/** All files below a folder, with their names. */
export async function allFiles(folder: string): Promise<string> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const texts = found.map(async (file) => {
    const path = join(file.parentPath, file.name);
    return file.isFile() ? `${path}\n${await readFile(path, 'latin1')}` : path;
  });
  return (await Promise.all(texts)).join('\n');
}
