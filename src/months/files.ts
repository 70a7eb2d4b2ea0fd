/** The files of closes in the object store: what they hold, and making the store hold them again. */
import { readText } from '../objects/object-store.ts';
import type { ClosesOfMonth, StoredClose } from './closes.ts';
import { SIGNATURE_EXTENSION } from '../verify/names.ts';
import { leaseFence } from '../statements/publish-options.ts';
import { putReplacing } from '../statements/put-revision.ts';
import type { RepairedFile, RepairOptions } from '../statements/repair-files.ts';
import { MANIFEST_CONTENT_TYPE, SIGNATURE_CONTENT_TYPE } from '../statements/write-manifest.ts';
import type { Db } from '../store/engine/database.ts';
import { parseClose, type CloseFile } from '../verify/close-file.ts';
import { adjustmentsOf, closesOf, closesOfMonth, firstDay } from './stored.ts';

/** The text of the file. The order of its keys is the one in which a person reads it. */
export const closeText = (close: CloseFile): string => `${JSON.stringify(close, null, 2)}\n`;

/** The signature first, so that no one finds the file without. */
export function filesOfClose(close: Pick<StoredClose, 'objectKey' | 'content' | 'signature'>) {
  const { objectKey: key, content, signature } = close;
  const file = { key, text: content, contentType: MANIFEST_CONTENT_TYPE };
  if (signature === null) return [file];
  return [{ key: key + SIGNATURE_EXTENSION, text: signature, contentType: SIGNATURE_CONTENT_TYPE }, file];
}

/** What a close froze; null if there is no such close. */
export async function frozenBy(db: Db, merchantNo: string, month: string, number: number) {
  const close = (await closesOfMonth(db, merchantNo, month)).find((one) => one.number === number);
  return (close && parseClose(close.content)?.statements) ?? null;
}

/** What changed since is only asked for where the month is closed. */
export async function closesWithFiles(db: Db, merchantNo: string, month: string): Promise<ClosesOfMonth> {
  const closes = await closesOfMonth(db, merchantNo, month);
  return {
    closes,
    adjustments: closes.length === 0 ? [] : await adjustmentsOf(db, { merchants: [merchantNo], month }),
    files: closes.flatMap((close) =>
      filesOfClose(close)
        .toReversed()
        .map(({ key, text }) => ({ key, text, closedAt: close.closedAt })),
    ),
  };
}

/** Of the merchant's months in [fromDay, toDay]. Throws what `repairFiles` throws. */
export async function repairCloses(options: RepairOptions): Promise<RepairedFile[]> {
  const { db, objects, merchantNo, fromDay, toDay, signal } = options;
  const months = { from: fromDay.slice(0, 'YYYY-MM'.length), to: toDay.slice(0, 'YYYY-MM'.length) };
  const repaired: RepairedFile[] = [];
  for (const close of await closesOf(db, merchantNo, months)) {
    for (const { key, text, contentType } of filesOfClose(close)) {
      signal.throwIfAborted();
      const found = await readText(objects, key);
      if (found === text) continue;
      await putReplacing(objects, key, Buffer.from(text), { fence: leaseFence(options), contentType });
      const damage = found === null ? 'missing' : 'altered';
      repaired.push({ merchantNo, day: firstDay(close.month), key, damage });
    }
  }
  return repaired;
}
