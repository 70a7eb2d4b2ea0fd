/** Whether the published files of the last days lie in the store as published. */
import { addDays, dayOf } from '../ledger/business-day.ts';
import type { MerchantAccess } from '../platform/ledger-reader.ts';
import { compareFiles, type DamagedFile } from '../statements/compare-files.ts';
import { StatementDamaged } from '../statements/fetch.ts';
import type { PlatformHouse } from './house.ts';

const FILES_NAMED_MAX = 5;

/** Compares the days a nightly run compares, and writes nothing. Throws `StatementDamaged`. */
export async function publishedFilesCheck(
  { database, objects, settings, now }: Pick<PlatformHouse, 'database' | 'objects' | 'settings' | 'now'>,
  merchants: readonly MerchantAccess[],
): Promise<string> {
  const toDay = dayOf(now().getTime(), settings.platform.timeZone);
  const fromDay = addDays(toDay, -settings.resweepDays - 1);
  let files = 0;
  const damaged: DamagedFile[] = [];
  for (const { merchantNo } of merchants) {
    const compared = compareFiles({ db: database.db, objects, merchantNo, fromDay, toDay });
    for await (const one of compared) {
      files += one.files;
      damaged.push(...one.damaged);
    }
  }
  if (damaged.length === 0) {
    return files === 0 ? `none since ${fromDay}` : `${files} since ${fromDay}, all there as published`;
  }
  const named = damaged.slice(0, FILES_NAMED_MAX).map(({ file, damage }) => `${file.key} is ${damage}`);
  const more = damaged.length > FILES_NAMED_MAX ? `, and ${damaged.length - FILES_NAMED_MAX} more` : '';
  throw new StatementDamaged(
    `${named.join(', ')}${more}; \`daybook run --from ${fromDay}\` writes again what can be made again`,
  );
}
