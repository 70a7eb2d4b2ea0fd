/** When a night was good last, as the data folder knows it: for when another process keeps the embedded database. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const FILE = 'last-good-night.txt';

/** Null where none is noted. */
export async function lastGoodNight(dataDir: string): Promise<Date | null> {
  const at = Date.parse(await readFile(join(dataDir, FILE), 'utf8').catch(() => ''));
  return Number.isNaN(at) ? null : new Date(at);
}

/** Throws what writing the file throws. */
export async function noteGoodNight(dataDir: string, at: Date): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await writeFile(join(dataDir, FILE), at.toISOString());
}
