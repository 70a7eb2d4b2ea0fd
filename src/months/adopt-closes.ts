/** Takes over the closes that lie in a store which another database published to. */
import { sha256Of } from '../host/sha256.ts';
import type { Kysely } from 'kysely';
import type { SigningKey } from '../ledger/signature.ts';
import type { Lease } from '../store/engine/lease.ts';
import type { DB } from '../store/engine/schema.ts';
import { readText, type ObjectStore } from '../objects/object-store.ts';
import { countDays, parseClose, type CloseFile } from '../verify/close-file.ts';
import { SIGNATURE_EXTENSION } from '../verify/names.ts';
import { monthOf } from './month.ts';
import { contradicts, signatureIn } from '../statements/write-manifest.ts';
import { recordAuditEvent } from '../store/audit.ts';
import type { Trx } from '../store/engine/database.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';
import { listStatements } from '../store/statements/statements.ts';
import { closesOfMonth, noteLateOf, storeClose, storeReopening, type FrozenStatement } from './stored.ts';
import { problemsInClose } from '../verify/closes.ts';

interface Found {
  readonly key: string;
  readonly text: string;
  readonly close: CloseFile;
}

export interface AdoptingCloses {
  readonly db: Kysely<DB>;
  /** Takes the merchant's lease when its first day or close comes, and keeps it. */
  readonly leaseOf: (merchantNo: string) => Promise<Lease>;
  readonly objects: ObjectStore;
  readonly now: () => Date;
  readonly signal: AbortSignal;
  /** With a key, a manifest with a signature of that key has to be what was signed. */
  readonly signingKey?: SigningKey | null;
}

/** What could not be taken over completely, with the reason. No revision that its manifest names is overwritten later. */
export interface LeftOut {
  readonly key: string;
  readonly why: string;
}

/** Of the files under these keys, takes over the closes that the database does not know. Throws what `adoptStore` throws. */
export async function adoptCloses(
  keys: readonly string[],
  options: AdoptingCloses,
): Promise<{ readonly closes: number; readonly left: readonly LeftOut[] }> {
  const left: LeftOut[] = [];
  const found: Found[] = [];
  for (const key of keys) {
    const text = (await readText(options.objects, key)) ?? '';
    const close = parseClose(text);
    const [problem] = close === null ? ['it cannot be read as a close'] : problemsInClose(key, close);
    if (close === null || problem !== undefined) left.push({ key, why: problem! });
    else found.push({ key, text, close });
  }
  let closes = 0;
  for (const one of found.sort((a, b) => a.close.number - b.close.number)) {
    options.signal.throwIfAborted();
    const why = await adoptClose(one, options);
    if (why === null) closes += 1;
    else if (why !== KNOWN) left.push({ key: one.key, why });
  }
  return { closes, left };
}

const KNOWN = 'known';

async function adoptClose({ key, text, close }: Found, options: AdoptingCloses): Promise<string | null> {
  const { db, objects, leaseOf, signingKey = null } = options;
  const { merchantNo, month, number, previous, by, note, despite, statements } = close;
  const known = await closesOfMonth(db, merchantNo, month);
  const own = known.find((one) => one.number === number);
  const sha256 = sha256Of(text);
  if (own !== undefined)
    return own.sha256 === sha256 ? KNOWN : `close ${number} in the store and in this database differ`;
  const before = known.at(-1);
  if ((before?.number ?? 0) !== number - 1 || (previous !== null && before?.sha256 !== previous.sha256))
    return `this database does not know the close that it names as the one before`;
  const signature = signatureIn(await readText(objects, key + SIGNATURE_EXTENSION));
  if (signingKey !== null && contradicts(signingKey, text, signature))
    return 'its signature is of this daybook’s key, and of another text: somebody changed it';
  const { from, to } = monthOf(month)!;
  const filter = { merchants: [merchantNo], currencies: null, fromDay: from, toDay: to };
  const nameOf = (one: FrozenStatement): string => `${one.currency} ${one.day} ${one.revision} ${one.sha256}`;
  const published = new Set((await listStatements(db, filter)).map(nameOf));
  const absent = statements.find((one) => !published.has(nameOf(one)));
  if (absent !== undefined)
    return `revision ${absent.revision} of ${absent.currency} ${absent.day}, which it froze, is not known here`;
  await writeTransaction(db, await leaseOf(merchantNo), async (trx) => {
    const auditEvent = { by, command: 'close', subject: `${merchantNo} ${month}`, note: note ?? undefined };
    const auditEventId = await recordAuditEvent(trx, auditEvent, new Date(close.closedAt));
    const preparedEventId =
      close.prepared === undefined ? null : await recordAction(trx, close, 'close --prepare', close.prepared);
    const row = { merchantNo, month, number, despite, openDays: countDays(close.openDays), objectKey: key };
    const events = { auditEventId, preparedEventId };
    await storeClose(trx, { ...row, ...events, sha256, content: text, signature }, statements);
    if (close.reopened !== undefined) {
      const reopenedId = await recordAction(trx, close, 'close --reopen', close.reopened);
      await storeReopening(trx, { merchantNo, month, number: number - 1 }, reopenedId);
    }
    await noteLateOf(trx, { merchantNo, month, number });
  });
  return null;
}

const recordAction = (
  trx: Trx,
  { merchantNo, month }: CloseFile,
  command: string,
  { by, at, note }: NonNullable<CloseFile['prepared']>,
): Promise<number> =>
  recordAuditEvent(
    trx,
    { by, command, subject: `${merchantNo} ${month}`, note: note ?? undefined },
    new Date(at),
  );
