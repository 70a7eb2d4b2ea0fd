/** Makes the object store hold the files of closes and their signatures again: the database has the text of both. */
import { readText } from '../objects/object-store.ts';
import { closesOf } from '../store/month-close.ts';
import { SIGNATURE_EXTENSION } from './keys.ts';
import { leaseFence } from './publish-options.ts';
import { putReplacing } from './put-revision.ts';
import type { RepairedFile, RepairOptions } from './repair-files.ts';
import { SIGNATURE_CONTENT_TYPE } from './sign-manifest.ts';
import { MANIFEST_CONTENT_TYPE } from './write-manifest.ts';

/**
 * Reads every close of the merchant's months in [fromDay, toDay], writes again what is missing or altered, and returns
 * it. Throws what `repairFiles` throws.
 */
export async function repairCloses(options: RepairOptions): Promise<RepairedFile[]> {
  const { db, objects, merchantNo, fromDay, toDay, signal } = options;
  const months = { from: fromDay.slice(0, 'YYYY-MM'.length), to: toDay.slice(0, 'YYYY-MM'.length) };
  const repaired: RepairedFile[] = [];
  for (const { month, objectKey, content, signature } of await closesOf(db, merchantNo, months)) {
    const files = [
      // The signature first, as it was when the close was made.
      ...(signature === null
        ? []
        : [
            {
              key: objectKey + SIGNATURE_EXTENSION,
              text: signature,
              contentType: SIGNATURE_CONTENT_TYPE,
            },
          ]),
      { key: objectKey, text: content, contentType: MANIFEST_CONTENT_TYPE },
    ];
    for (const { key, text, contentType } of files) {
      signal.throwIfAborted();
      const found = await readText(objects, key);
      if (found === text) continue;
      await putReplacing(objects, key, Buffer.from(text), { fence: leaseFence(options), contentType });
      const damage = found === null ? 'missing' : 'altered';
      repaired.push({ merchantNo, day: `${month}-01`, key, damage });
    }
  }
  return repaired;
}
