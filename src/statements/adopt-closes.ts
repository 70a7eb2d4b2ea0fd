/** Takes over the closes of months that lie in a store: after their statements, each with its number, its signature and who made it. */
import type { Kysely } from 'kysely';
import { readText, type ObjectStore } from '../objects/object-store.ts';
import type { SigningKey } from '../signing/keys.ts';
import { readSignature } from '../signing/signatures.ts';
import { recordAuditEvent } from '../store/audit.ts';
import type { DB } from '../store/engine/schema.ts';
import type { Lease } from '../store/engine/lease.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';
import { closesOfMonth, storeClose } from '../store/month-close.ts';
import { noteLateOf } from '../store/statements/revisions.ts';
import { listStatements } from '../store/statements/statements.ts';
import { parseClose, type CloseFile } from './close-file.ts';
import { problemsInClose } from './close-problems.ts';
import { sha256Of } from '../host/sha256.ts';
import { SIGNATURE_EXTENSION } from './keys.ts';
import { monthOf } from './month.ts';
import { contradicts } from './sign-manifest.ts';

/** Whether a key is that of a close's file. */
export const isCloseKey = (key: string): boolean => /\/close=[^/]*\/[^/]*\.json$/.test(key);

export interface AdoptClosesOptions {
  readonly db: Kysely<DB>;
  readonly leaseOf: (merchantNo: string) => Promise<Lease>;
  readonly objects: ObjectStore;
  readonly signal: AbortSignal;
  readonly signingKey?: SigningKey | null;
}

interface Found {
  readonly key: string;
  readonly text: string;
  readonly close: CloseFile;
}

/** What was taken over, and what was not, each with the reason. */
export interface AdoptedCloses {
  readonly closes: number;
  readonly left: readonly { readonly key: string; readonly why: string }[];
}

/** Of the files under these keys, takes over the closes that the database does not know. Throws what `adoptStore` throws. */
export async function adoptCloses(
  keys: readonly string[],
  options: AdoptClosesOptions,
): Promise<AdoptedCloses> {
  const left: { key: string; why: string }[] = [];
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

/** Null if it was taken over; else why not. */
async function adoptClose({ key, text, close }: Found, options: AdoptClosesOptions): Promise<string | null> {
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
  const background = await readText(objects, key + SIGNATURE_EXTENSION);
  const signature = background !== null && readSignature(background) !== null ? background : null;
  if (signingKey !== null && contradicts(signingKey, text, signature))
    return 'its signature is of this daybook’s key, and of another text: somebody changed it';
  const { from, to } = monthOf(month)!;
  const revisions = await listStatements(db, {
    merchants: [merchantNo],
    currencies: null,
    fromDay: from,
    toDay: to,
  });
  const published = new Set(
    revisions.map((row) => `${row.currency} ${row.day} ${row.revision} ${row.sha256}`),
  );
  const absent = statements.find(
    (one) => !published.has(`${one.currency} ${one.day} ${one.revision} ${one.sha256}`),
  );
  if (absent !== undefined)
    return `revision ${absent.revision} of ${absent.currency} ${absent.day}, which it froze, is not known here`;
  await writeTransaction(db, await leaseOf(merchantNo), async (trx) => {
    const auditEvent = { by, command: 'close', subject: `${merchantNo} ${month}`, note: note ?? undefined };
    const auditEventId = await recordAuditEvent(trx, auditEvent, new Date(close.closedAt));
    const row = { merchantNo, month, number, despite, openDays: close.openDays.length, objectKey: key };
    await storeClose(trx, { ...row, sha256, content: text, signature, auditEventId }, statements);
    await noteLateOf(trx, { merchantNo, month: from, number });
  });
  return null;
}
