/** Closes a month: freezes the list of its statements as rows, and as a file in the object store that `verify` can check. */
import { unmatchedCounts } from './own-books.ts';
import type { Transaction } from 'kysely';
import { sha256Of } from '../host/sha256.ts';
import { countedInText as counted } from '../ledger/text.ts';
import type { SigningKey } from '../ledger/signature.ts';
import {
  ObjectExists,
  ObjectStoreUnreachable,
  ObjectStoreRefused,
  readText,
  type ObjectStore,
} from '../objects/object-store.ts';
import {
  countDays,
  CLOSE_FORMAT,
  parseClose,
  type ClosedStatement,
  type CloseFile,
  closedAccount,
} from '../verify/close-file.ts';
import { closeText, filesOfClose } from './files.ts';
import { StatementDamaged } from '../statements/fetch.ts';
import { closeKey, fileOf } from '../verify/names.ts';
import { accountMonths, type AccountMonth, type Month } from './month.ts';
import { openDaysOf, type Clock, type OpenDay } from './open-days.ts';
import { explainedOfEach } from '../statements/summary.ts';
import { figuresOf } from '../store/account-days.ts';
import { recordAuditEvent } from '../store/audit.ts';
import type { DB } from '../store/engine/schema.ts';
import type { Action, CloseOptions, CloseRequest, CloseResult, Obstacle, StoredClose } from './closes.ts';
import {
  approvalObstacles,
  deletePreparation,
  preparationOf,
  reopen,
  storePreparation,
  withdraw,
  wordsOf,
  type Draft,
} from './approval.ts';
import { adjustmentsOf, claimClose, closesOfMonth, storeClose, storeCloseSignature } from './stored.ts';

const TRIES_MAX = 3;
const UNIQUE_VIOLATION = '23505';
const SERIALIZATION_FAILURE = '40001';

/**
 * Closes a merchant's month, or does another step about it. Closing it again changes nothing while its statements are the frozen ones, but makes sure
 * that its files are in the store and signed, those of earlier closes too. After a revision it makes the next close, which names the one before. Throws
 * `StatementDamaged` if the store holds another file in its place, and what database and store throw.
 */
export async function closeMonth(request: CloseRequest, options: CloseOptions): Promise<CloseResult> {
  const result = await frozen(request, options);
  const isKept = result.kind === 'closed' || result.kind === 'already';
  if (!isKept || request.step === 'check') return result;
  const { db, objects, signingKey, now } = options;
  const { merchantNo, month } = request;
  for (const close of await closesOfMonth(db, merchantNo, month.name))
    if (close.signature === null && signingKey !== null)
      await storeCloseSignature(db, close, signatureOf(close, now(), signingKey));
  const closes = await closesOfMonth(db, merchantNo, month.name);
  for (const file of closes.flatMap(filesOfClose)) await putOnce(objects, file);
  return { ...result, close: closes.find(({ number }) => number === result.close.number)! };
}

async function frozen(request: CloseRequest, options: CloseOptions): Promise<CloseResult> {
  for (let tries = 1; ; tries += 1) {
    try {
      const result = await options.db
        .transaction()
        .setIsolationLevel('repeatable read')
        .execute((trx) => taken(trx, request, options));
      const isOvertaken = 'others' in result && result.others.some(({ cause }) => cause === 'store');
      if (!isOvertaken || tries === TRIES_MAX) return result;
    } catch (error) {
      const { code } = error as { readonly code?: unknown };
      // Another process may have closed it after this transaction began.
      const isOvertaken =
        code === UNIQUE_VIOLATION || code === SERIALIZATION_FAILURE || error instanceof CloseUnknown;
      if (!isOvertaken || tries === TRIES_MAX) throw error;
    }
  }
}

const taken = (trx: Transaction<DB>, request: CloseRequest, options: CloseOptions): Promise<CloseResult> =>
  request.step === 'withdraw'
    ? withdraw(trx, request, options.now())
    : request.step === 'reopen'
      ? reopen(trx, request, options.now())
      : freeze(trx, request, options);

/** All that it reads is of one moment: a statement published later is an adjustment. */
async function freeze(
  trx: Transaction<DB>,
  request: CloseRequest,
  options: CloseOptions,
): Promise<CloseResult> {
  const { merchantNo, month, despite, step = 'close', seen: shown = null } = request;
  const { objects, zone, now, needsApproval = false, needsMatch = false, logins = {} } = options;
  const at = now();
  const { before, accounts, adjustments, openDays } = await known(trx, request, { zone, now: at });
  if (before?.reopened === null && adjustments.length === 0)
    return { kind: 'already', close: before, openDays: openedSince(before, openDays) };
  if (accounts.every(({ statements }) => statements.length === 0)) return { kind: 'empty', openDays };
  const draft = await draftOf(trx, request, zone, { before, accounts, adjustments, openDays });
  const text = JSON.stringify(draft);
  const preparation = await preparationOf(trx, merchantNo, month.name);
  const seen = seenOf(text, preparation);
  const stored = await unknownClose(objects, closeKey(merchantNo, month.name, draft.number));
  const others: Obstacle[] = [
    ...approvalObstacles(request, { needsApproval, logins }, preparation, draft),
    ...(shown === null || shown === seen ? [] : [NOT_SEEN]),
    ...(needsMatch ? await unmatchedObstacles(trx, merchantNo, month) : []),
  ];
  const isOfTwo = step === 'approve' || step === 'check';
  // Who approves takes the words of the preparation, and gives no other ones.
  const given = step === 'approve' ? null : despite;
  const reason = openDays.length === 0 ? null : (given ?? (isOfTwo ? preparation?.despite : null) ?? null);
  const withStore = stored === null ? others : [...others, storeObstacle(stored)];
  if (openDays.length > 0 && reason === null) return { kind: 'open', openDays, others: withStore, seen };
  if (others.length > 0 || (step === 'check' && stored !== null))
    return { kind: 'refused', others: withStore, seen };
  if (stored !== null) throw stored;
  if (step === 'check') return { kind: 'ready', seen, preparation: preparation && wordsOf(preparation) };
  if (step === 'prepare')
    return {
      kind: 'prepared',
      preparation: await storePreparation(trx, { ...request, despite: reason }, text, at),
    };
  const close = await storedClose(trx, request, options, {
    ...{ draft, at, before, despite: reason, preparation: step === 'approve' ? preparation : null },
  });
  return { kind: 'closed', close, adjustments };
}

/** Names what a person saw: the month, and the preparation with its words. */
const seenOf = (text: string, preparation: ToClose['preparation']): string => {
  if (preparation === null) return sha256Of(text);
  const { auditEventId, by, note, despite } = preparation;
  return sha256Of(JSON.stringify([text, auditEventId, by, note, despite]));
};

/** Entries of the month or before it that only the ledger or only an own book has. */
async function unmatchedObstacles(
  trx: Transaction<DB>,
  merchantNo: string,
  { to }: Month,
): Promise<Obstacle[]> {
  const counts = await unmatchedCounts(trx, [merchantNo], to);
  return counts.flatMap(({ currency, ledger, book, isChanged }): Obstacle[] => {
    const account = `--merchant ${merchantNo} --currency ${currency}`;
    if (isChanged)
      return [
        {
          ...{ cause: 'unmatched', why: `own books in ${currency} changed since they were matched` },
          ...{ todo: `\`daybook books match --merchant ${merchantNo}\``, who: 'command line' },
        },
      ];
    const open = ledger + book;
    if (open === 0) return [];
    const why = `${counted(open, 'entry', 'entries')} in ${currency} up to ${to} ${open === 1 ? 'is' : 'are'} unmatched`;
    const todo = `match or write off what \`daybook books unmatched ${account} --to ${to}\` lists`;
    return [{ cause: 'unmatched', why, todo, who: 'operator' }];
  });
}

const NOT_SEEN: Obstacle = {
  cause: 'not-seen',
  why: 'the month or its preparation is not what was shown to you',
  todo: 'check what it shows now, and confirm again',
  who: 'operator',
};

const storeObstacle = ({ message }: CloseUnknown): Obstacle => ({
  ...{ cause: 'store', why: message, todo: '`daybook statements adopt`', who: 'command line' },
});

/** What is known of the month at one moment. */
async function known(trx: Transaction<DB>, { merchantNo, month }: CloseRequest, clock: Clock) {
  const before = (await closesOfMonth(trx, merchantNo, month.name)).at(-1);
  const filter = { merchants: [merchantNo], month: month.name, withReopened: true } as const;
  const adjustments = before === undefined ? [] : await adjustmentsOf(trx, filter);
  const { accounts } = await accountMonths(trx, merchantNo, month, null);
  return { before, adjustments, accounts, openDays: await openDaysOf(trx, month, accounts, clock) };
}

async function draftOf(
  trx: Transaction<DB>,
  { merchantNo, month }: CloseRequest,
  zone: string,
  { before, accounts, adjustments, openDays }: Awaited<ReturnType<typeof known>>,
): Promise<Draft> {
  const frozen = await frozenStatements(trx, merchantNo, zone, accounts);
  return {
    ...{ merchantNo, month: month.name, number: (before?.number ?? 0) + 1 },
    previous: before === undefined ? null : { number: before.number, sha256: before.sha256 },
    accounts: accounts.map(({ currency }) => {
      const own = frozen.filter((one) => one.currency === currency);
      return closedAccount(currency, own);
    }),
    statements: frozen,
    adjustments: adjustments.map(({ currency, day, frozenRevision, revision, reason }) => ({
      ...{ currency, day, frozenRevision, revision, reason },
    })),
    openDays: openDays.map(({ currency, day, cause }) => ({ currency, day, cause })),
  };
}

/** Stores the close of what was drafted, in place of its preparation. */
async function storedClose(
  trx: Transaction<DB>,
  { auditEvent }: CloseRequest,
  { signingKey }: CloseOptions,
  { draft, at, before, despite, preparation }: ToClose,
): Promise<StoredClose> {
  const { merchantNo, month, number, ...content } = draft;
  const reopened = before?.reopened ?? null;
  const file: CloseFile = {
    format: CLOSE_FORMAT,
    ...{ merchantNo, month, number },
    closedAt: at.toISOString(),
    ...{ by: auditEvent.by, note: auditEvent.note ?? null, despite },
    ...(preparation !== null && { prepared: actionInFile(preparation) }),
    ...(reopened !== null && { reopened: actionInFile(reopened) }),
    ...content,
  };
  const text = closeText(file);
  const objectKey = closeKey(merchantNo, month, number);
  const close: StoredClose = {
    ...{ merchantNo, month, number, closedAt: at },
    ...{ by: file.by, note: file.note, despite, openDays: countDays(file.openDays) },
    prepared: preparation && { by: preparation.by, at: preparation.at, note: preparation.note },
    ...{ reopened: null, statements: file.statements.length },
    ...{ objectKey, sha256: sha256Of(text), content: text },
    signature: signingKey === null ? null : signatureOf({ objectKey, content: text }, at, signingKey),
  };
  await deletePreparation(trx, merchantNo, month);
  if (before !== undefined) await claimClose(trx, before);
  const auditEventId = await recordAuditEvent(trx, auditEvent, at);
  const preparedEventId = preparation?.auditEventId ?? null;
  await storeClose(trx, { ...close, auditEventId, preparedEventId }, file.statements);
  return close;
}

const actionInFile = ({ by, at, note }: Action) => ({ by, at: at.toISOString(), note });

interface ToClose {
  readonly draft: Draft;
  readonly at: Date;
  readonly before: StoredClose | undefined;
  readonly despite: string | null;
  readonly preparation: Awaited<ReturnType<typeof preparationOf>>;
}

/** The store has a close of this number that this database does not know: it was restored, or another one wrote it. */
class CloseUnknown extends StatementDamaged {}

/** A store that does not answer now refuses the file later, which says the same. */
async function unknownClose(objects: ObjectStore, key: string): Promise<CloseUnknown | null> {
  let found: string | null;
  try {
    found = await readText(objects, key);
  } catch (error) {
    if (error instanceof ObjectStoreUnreachable || error instanceof ObjectStoreRefused) return null;
    throw error;
  }
  if (found === null) return null;
  return new CloseUnknown(
    `${objects.location}: ${key} is not what this database closed: another database closed the month, or this one was ` +
      'restored from before that. Nothing was closed now. `daybook statements adopt` takes that close over; if the file is ' +
      'no close of daybook, move it away.',
  );
}

const signatureOf = (
  { objectKey, content }: Pick<StoredClose, 'objectKey' | 'content'>,
  at: Date,
  key: SigningKey,
): string => key.sign(Buffer.from(content), `${objectKey}, signed ${at.toISOString()}`);

/** Open days that the close does not name: a break that was reopened, for one. */
function openedSince({ content }: StoredClose, openDays: readonly OpenDay[]): OpenDay[] {
  const nameOf = ({ currency, day, cause }: CloseFile['openDays'][number]): string =>
    `${currency} ${day} ${cause}`;
  const named = new Set(parseClose(content)?.openDays.map(nameOf));
  return openDays.filter((one) => !named.has(nameOf(one)));
}

async function frozenStatements(
  trx: Transaction<DB>,
  merchantNo: string,
  zone: string,
  accounts: readonly AccountMonth[],
): Promise<ClosedStatement[]> {
  const current = accounts.flatMap(({ statements }) => statements);
  const explained = await explainedOfEach(trx, merchantNo, zone, current);
  return current.map((row) => {
    const { currency, day, revision, sha256, object_key } = row;
    const { breakCount: breaks, ...figures } = figuresOf(row);
    const { opening, creditTotal, creditCount, debitTotal, debitCount, closing, verdict } = figures;
    return {
      ...{ currency, day, revision, file: fileOf(object_key), sha256 },
      ...{ opening, creditTotal, creditCount, debitTotal, debitCount, closing, verdict, breaks },
      explained: explained.get(row)?.map(({ id }) => id) ?? [],
    };
  });
}

async function putOnce(
  objects: ObjectStore,
  { key, text, contentType }: ReturnType<typeof filesOfClose>[number],
): Promise<void> {
  if ((await readText(objects, key)) === text) return;
  try {
    await objects.put(key, Buffer.from(text), { ifAbsent: true, contentType });
  } catch (error) {
    if (!(error instanceof ObjectExists)) throw error;
    throw new StatementDamaged(
      `${objects.location}: ${key} is not what this database closed: it was altered, or another database wrote it. The ` +
        'close is on record; move that file away, and close the month again to have it written.',
    );
  }
}
