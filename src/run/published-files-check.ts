/**
 * Checks that published files are in the store as they were published: those of the last days, and a sample of older
 * ones.
 */
import { addDays, dayOf, daysFromTo } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import type { MerchantAccess } from '../platform/ledger-reader.ts';
import { compareFiles, type DamagedFile } from '../statements/compare-files.ts';
import { StatementDamaged } from '../statements/fetch.ts';
import { ObjectStoreUnreachable } from '../objects/object-store.ts';
import { storeOwner } from '../statements/store-owner.ts';
import { publishedSpan } from '../store/statements/stored-files.ts';
import type { PlatformApp } from './app.ts';

const FILES_NAMED_MAX = 5;
/** Older days that are checked, of all merchants together. Each takes one listing of the store. */
const HISTORICAL_FILES_SAMPLED = 20;

/** The days that a nightly run compares, and a sample of those before. Throws `StoreOwnedByAnother` and `StatementDamaged`. */
export async function publishedFilesCheck(
  { database, objects, settings, now }: Pick<PlatformApp, 'database' | 'objects' | 'settings' | 'now'>,
  merchants: readonly MerchantAccess[],
): Promise<string> {
  await storeOwner({ db: database.db, objects }).catch((error: unknown) => {
    // The check of the store itself reports a store that cannot be reached.
    if (!(error instanceof ObjectStoreUnreachable)) throw error;
  });
  const today = dayOf(now().getTime(), settings.platform.timeZone);
  const fromDay = addDays(today, -settings.resweepDays - 1);
  const lately = merchants.map(({ merchantNo }) => ({ merchantNo, fromDay, toDay: today }));
  const older: typeof lately = [];
  const ofEach = Math.ceil(HISTORICAL_FILES_SAMPLED / Math.max(1, merchants.length));
  for (const { merchantNo } of merchants.slice(0, HISTORICAL_FILES_SAMPLED)) {
    const span = await publishedSpan(database.db, merchantNo, null);
    if (span === null || span.from >= fromDay) continue;
    for (const day of sampled(daysFromTo(span.from, addDays(fromDay, -1)), ofEach, now()))
      older.push({ merchantNo, fromDay: day, toDay: day });
  }
  let [files, olderFiles] = [0, 0];
  const damaged: DamagedFile[] = [];
  for (const days of [...lately, ...older]) {
    for await (const one of compareFiles({ db: database.db, objects, ...days })) {
      if (days.toDay === today) files += one.files;
      else olderFiles += one.files;
      damaged.push(...one.damaged);
    }
  }
  if (damaged.length > 0) throw new StatementDamaged(damageText(damaged));
  const sample =
    olderFiles === 0 ? '' : `; ${olderFiles} sampled from earlier days, all present and unaltered`;
  return files === 0
    ? `none of business days from ${fromDay} on${sample}`
    : `${files} files of business days from ${fromDay} on, all present and unaltered${sample}`;
}

/** Chooses evenly spread days. The choice changes with every minute, so that repeated calls check other days. */
function sampled(days: readonly BusinessDay[], count: number, now: Date): BusinessDay[] {
  if (days.length <= count) return [...days];
  const step = days.length / count;
  const turn = (Math.floor(now.getTime() / 60_000) % Math.ceil(step)) / step;
  return Array.from({ length: count }, (_, at) => days[Math.floor((at + turn) * step) % days.length]!);
}

function damageText(damaged: readonly DamagedFile[]): string {
  const named = damaged.slice(0, FILES_NAMED_MAX).map(({ file, damage }) => `${file.key} is ${damage}`);
  const more = damaged.length > FILES_NAMED_MAX ? `, and ${damaged.length - FILES_NAMED_MAX} more` : '';
  return `${named.join(', ')}${more}; \`daybook publish --repair\` writes again what can be made again`;
}
