/** Files of a statement in the formats that are published beside its CSV, made from the CSV in the store. */
import type { Fence, ObjectStore } from '../objects/object-store.ts';
import type { StatementRow } from '../store/statements/statements.ts';
import type { StoredRow } from '../store/statements/stored-files.ts';
import { fetchInFormat } from './fetch.ts';
import type { StatementColumn } from './formats/columns.ts';
import { CSV } from './formats/csv.ts';
import type { StatementFormat } from './formats/format.ts';
import { fileOf, nameIn } from './keys.ts';
import type { OtherFormat } from './manifest.ts';
import { putReplacing } from './put-revision.ts';
import { storedRow } from './write-manifest.ts';

/** Formats that are published beside the CSV. */
const publishedBeside = (formats: readonly StatementFormat[]): readonly StatementFormat[] =>
  formats.filter(({ name, isPublished }) => isPublished && name !== CSV.name);

/** A file as the manifest lists it, and what was read back of it. */
export interface WrittenFormat {
  readonly listed: OtherFormat;
  readonly stored: StoredRow;
}

/**
 * Writes a new revision in each format published beside the CSV. No manifest names the revision yet, so anything found
 * under these names was left by an attempt that was aborted. Throws what `fetchInFormat` and `putReplacing` throw.
 */
export async function putOtherFormats(
  statement: StatementRow,
  options: {
    readonly objects: ObjectStore;
    readonly fence: Fence;
    readonly formats: readonly StatementFormat[];
    readonly columns: readonly StatementColumn[];
  },
): Promise<WrittenFormat[]> {
  const { objects, fence, formats, columns } = options;
  const written: WrittenFormat[] = [];
  for (const format of publishedBeside(formats)) {
    const key = nameIn(format, statement.object_key);
    const content = () => fetchInFormat(objects, statement, format, columns);
    const put = { fence, contentType: format.contentType };
    const stored = storedRow(key, await putReplacing(objects, key, content, put));
    const { sha256, byte_count: bytes } = stored;
    written.push({ listed: { format: format.name, file: fileOf(key), sha256, bytes }, stored });
  }
  return written;
}
