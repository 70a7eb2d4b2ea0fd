/** Files of a statement in the formats that are published next to its CSV, made from the CSV in the store. */
import type { Account, BusinessDay } from '../ledger/entry.ts';
import type { Fence, ObjectStore } from '../objects/object-store.ts';
import type { StatementRow } from '../store/statements/statements.ts';
import type { StoredRow } from '../store/statements/stored-files.ts';
import { fetchInFormat } from './fetch-in-format.ts';
import type { StatementColumn } from './formats/columns.ts';
import { type StatementFormat, FormatTooSmall } from './formats/format.ts';
import { fileOf, nameIn } from './keys.ts';
import type { OtherFormat } from './manifest.ts';
import { putReplacing } from './put-revision.ts';
import { storedRow } from './write-manifest.ts';

/** A file as the manifest lists it, and what was read back of it. */
export interface WrittenFormat {
  readonly listed: OtherFormat;
  readonly stored: StoredRow;
}

/** A format that cannot hold the day, so that it is published without. */
export interface LeftOutFormat {
  readonly account: Account;
  readonly day: BusinessDay;
  readonly format: string;
  /** A sentence for a person. */
  readonly why: string;
}

/**
 * Writes a new revision in each format published next to the CSV. No manifest names the revision yet, so anything found
 * under these names was left by an attempt that was aborted. Throws what `fetchInFormat` and `putReplacing` throw, but
 * for `FormatTooSmall`.
 */
export async function putOtherFormats(
  statement: StatementRow,
  options: {
    readonly objects: ObjectStore;
    readonly fence: Fence;
    readonly formats: readonly StatementFormat[];
    /** The revisions before it, oldest first. */
    readonly earlier: readonly StatementRow[];
    readonly zone: string;
    readonly columns: readonly StatementColumn[];
  },
): Promise<{ readonly written: readonly WrittenFormat[]; readonly leftOut: readonly LeftOutFormat[] }> {
  const { objects, fence, formats, earlier, zone, columns } = options;
  const written: WrittenFormat[] = [];
  const leftOut: LeftOutFormat[] = [];
  for (const format of formats) {
    const key = nameIn(format, statement.object_key);
    const content = () => fetchInFormat(objects, statement, format, { earlier, zone, known: columns });
    const put = { fence, contentType: format.contentType };
    try {
      const stored = storedRow(key, await putReplacing(objects, key, content, put));
      const { sha256, byte_count: bytes } = stored;
      written.push({ listed: { format: format.name, file: fileOf(key), sha256, bytes }, stored });
    } catch (error) {
      if (!(error instanceof FormatTooSmall)) throw error;
      const { merchant_no: merchantNo, currency, day } = statement;
      leftOut.push({ account: { merchantNo, currency }, day, format: format.name, why: error.message });
    }
  }
  return { written, leftOut };
}
