/** When a night was good last, as the data folder knows it: for when another process keeps the embedded database. */
import { rememberedTime, rememberTime } from './remembered-time.ts';

const FILE = 'last-good-night.txt';

/** Null where none is noted. */
export const lastGoodNight = (dataDir: string): Promise<Date | null> => rememberedTime(dataDir, FILE);

/** Throws what writing the file throws. */
export const noteGoodNight = (dataDir: string, at: Date): Promise<void> => rememberTime(dataDir, FILE, at);
