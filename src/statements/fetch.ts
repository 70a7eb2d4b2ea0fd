/** Streams a published statement's bytes, and checks on the way that they are those published. */
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import { metered, type ObjectStore } from '../objects/object-store.ts';
import type { StatementRow } from '../store/statements/statements.ts';

/** The object is missing, or holds other bytes than were published. */
export class StatementDamaged extends ExpectedError {
  override readonly name = 'StatementDamaged';
  readonly exitCode = EXIT.incomplete;
}

/**
 * A published file's bytes. Throws `StatementDamaged` at the end of a stream that was not what
 * was published, so a reader must not trust it before its end; `ObjectStoreUnreachable` when cut short.
 */
export async function* fetchStatement(
  objects: ObjectStore,
  { object_key: key, sha256 }: Pick<StatementRow, 'object_key' | 'sha256'>,
): AsyncGenerator<Uint8Array> {
  const bytes = await objects.get(key);
  if (bytes === null) {
    throw new StatementDamaged(`${objects.location}: ${key} is missing; it was published. ${TODO}`);
  }
  const source = metered(() => bytes);
  yield* source.stream;
  if (source.digest().sha256 !== sha256) {
    throw new StatementDamaged(alteredText(objects, key));
  }
}

const TODO = '`daybook publish --repair` writes it again if it can, and says why if it cannot.';

export const alteredText = ({ location }: ObjectStore, key: string): string =>
  `${location}: ${key} does not hold the bytes that were published. ${TODO}`;
