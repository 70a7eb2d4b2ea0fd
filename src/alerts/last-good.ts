/** The last successful run as the data folder records it, for when another process has the embedded database. */
import { rememberedTime, rememberTime } from './remembered-time.ts';

const FILE = 'last-good-night.txt';

/** Null where none is noted. */
export const lastSuccess = (dataDir: string): Promise<Date | null> => rememberedTime(dataDir, FILE);

/** Throws what writing the file throws. */
export const recordLastSuccess = (dataDir: string, at: Date): Promise<void> =>
  rememberTime(dataDir, FILE, at);
