/** Times that the data folder remembers, each in a file of its own: for when there is no database to ask. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Null where none is remembered. */
export async function rememberedTime(dataDir: string, file: string): Promise<Date | null> {
  const at = Date.parse(await readFile(join(dataDir, file), 'utf8').catch(() => ''));
  return Number.isNaN(at) ? null : new Date(at);
}

/** Throws what writing the file throws. */
export async function rememberTime(dataDir: string, file: string, at: Date): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await writeFile(join(dataDir, file), at.toISOString());
}
