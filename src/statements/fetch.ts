/** Hands out a published statement's bytes, proving on the way that they are the ones published. */
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import { metered, type ObjectStore } from '../objects/object-store.ts';
import type { StatementRow } from '../store/statements/statements.ts';
import { forSpreadsheet } from './spreadsheet.ts';

/** The object is missing, or holds other bytes than were published. */
export class StatementDamaged extends ExpectedError {
  override readonly name = 'StatementDamaged';
  readonly exitCode = EXIT.incomplete;
}

/**
 * A statement's bytes, or its spreadsheet variant. Throws `StatementDamaged` at the end of a stream that was not what
 * was published, so a reader must not trust it before its end; `ObjectStoreUnreachable` when cut short.
 */
export async function* fetchStatement(
  objects: ObjectStore,
  statement: Pick<StatementRow, 'object_key' | 'sha256'>,
  options: { readonly forSpreadsheet?: boolean } = {},
): AsyncGenerator<Uint8Array> {
  const { object_key: key, sha256 } = statement;
  const bytes = await objects.get(key);
  if (bytes === null) {
    throw new StatementDamaged(`${objects.location}: ${key} is missing; it was published. ${TODO}`);
  }
  const source = metered(() => bytes);
  yield* options.forSpreadsheet === true ? forSpreadsheet(source.stream) : source.stream;
  if (source.digest().sha256 !== sha256) {
    throw new StatementDamaged(alteredText(objects, key));
  }
}

const TODO = '`daybook publish --repair` writes it again where it still can, and says where it cannot.';

export const alteredText = ({ location }: ObjectStore, key: string): string =>
  `${location}: ${key} holds other bytes than were published. ${TODO}`;
