/** Everything about one break for the person who works on it: what is stored, what the platform says now, and a message to its support. */
import type { Kysely } from 'kysely';
import { createChain } from '../ledger/chain/chain.ts';
import type { ContinuityBreak, LedgerEntry, UnreadableEntry, Window } from '../ledger/entry.ts';
import { explaining, isEvidence, quarantinedIn, type QuarantinedReader } from '../ledger/hints/evidence.ts';
import {
  breakById,
  handlingOf,
  stepsOf,
  type CaseStep,
  type Handling,
  type StepKind,
} from '../store/breaks/break-cases.ts';
import { knownBreak, type BreakRow } from '../store/breaks/breaks.ts';
import { changedEntries, type ChangedEntry } from '../store/breaks/changed-entries.ts';
import { entriesAround, entriesByNumber } from '../store/entries.ts';
import { unreadableWithin, type UnreadableWithin } from '../store/quarantine.ts';
import type { Assignment } from '../store/audit.ts';
import type { DB } from '../store/engine/schema.ts';
import { certificatesOf, type CertificateRow } from '../store/certificates.ts';
import { ExpectedError } from '../ledger/ending.ts';
import { compareAmounts, moneyText } from '../ledger/money.ts';
import type { LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import { causeOf, isCauseKnown, netText } from '../ledger/hints/stories.ts';
import { counted } from '../ledger/text.ts';
import { wallSecond } from '../ledger/wall-time.ts';
import { subtractWindows } from '../ledger/window.ts';
import type { Clock } from './coverage.ts';

const ROWS_AROUND = 5;
/** Entries chained on each side: more than are shown, so that those shown come in the order of the statement. */
const CHAINED_AROUND = 60;
const QUARANTINED_MAX = 100;

/**
 * A row next to the break, in the order of the statement. `break` is the break right before this row, if there is one.
 */
export interface AdjacentRow {
  readonly entry: LedgerEntry;
  readonly break: ContinuityBreak | null;
  readonly isHere: boolean;
}

export interface CaseEvent {
  readonly what: 'found' | StepKind | 'healed';
  readonly at: Date;
  /** Null if no one did it, or if the name was not recorded. */
  readonly by: string | null;
  readonly note: string | null;
  readonly assignment: Assignment | null;
}

export interface BreakCase extends Handling {
  readonly row: BreakRow;
  readonly rows: readonly AdjacentRow[];
  readonly changed: readonly (ChangedEntry & { readonly explains: boolean })[];
  /** Quarantined entries that can lie in the span of the break. */
  readonly quarantined: readonly (UnreadableWithin & { readonly explains: boolean })[];
  /** Certificates that overlap the span, by time. */
  readonly certificates: readonly CertificateRow[];
  readonly history: readonly CaseEvent[];
}

export async function breakCase(
  db: Kysely<DB>,
  id: number,
  options: { readonly clockToleranceS: number; readonly readQuarantined: QuarantinedReader },
): Promise<BreakCase | null> {
  const row = await breakById(db, id);
  if (row === undefined) return null;
  const known = knownBreak(row);
  const steps = await stepsOf(db, id);
  const last = steps.findLast(({ kind }) => kind !== 'commented');
  const handling = handlingOf(row, last);
  const around = await entriesAround(db, known.account, known.span, CHAINED_AROUND);
  const found = { ...known, currency: row.currency };
  const quarantined = await unreadableWithin(db, row.merchant_no, known.span, {
    read: options.readQuarantined,
    limit: QUARANTINED_MAX,
  });
  const within = quarantinedIn(found, quarantined);
  const changed = (await changedEntries(db, [id])).get(id) ?? [];
  const explanation =
    handling.state === 'healed'
      ? []
      : explaining<ChangedEntry | UnreadableWithin>(row.missing_net, [...changed, ...within]);
  return {
    row,
    ...handling,
    rows: rowsAround(row, around, options.clockToleranceS),
    changed: changed.map((one) => ({ ...one, explains: explanation.includes(one) })),
    quarantined: within.map((one) => ({ ...one, explains: explanation.includes(one) })),
    certificates: await certificatesOf(db, row.merchant_no, known.span),
    history: historyOf(row, steps),
  };
}

function rowsAround(row: BreakRow, around: readonly LedgerEntry[], clockToleranceS: number): AdjacentRow[] {
  const chain = createChain<LedgerEntry>({ clockToleranceS, start: null });
  const steps = [...chain.push(around), ...chain.end()];
  const at = steps.findIndex(({ entry }) => entry.batchNo === row.before_batch_no);
  // The entry after the break may have vanished since. Then the entry before it marks the place.
  const place = at === -1 ? steps.findIndex(({ entry }) => entry.batchNo === row.after_batch_no) + 1 : at;
  return steps
    .slice(Math.max(0, place - ROWS_AROUND), place + ROWS_AROUND)
    .map(({ entry, break: found }) => ({
      entry,
      break: found,
      isHere: found !== null && entry.batchNo === row.before_batch_no && row.status !== 'healed',
    }));
}

function historyOf(row: BreakRow, steps: readonly CaseStep[]): CaseEvent[] {
  const { status, closed_at: closedAt, note } = row;
  const noOne = { by: null, assignment: null };
  const events: CaseEvent[] = [
    { what: 'found', at: row.found_at, ...noOne, note: null },
    ...steps.map(({ kind: what, ...step }) => ({ what, ...step })),
  ];
  const isKept = steps.some(({ kind }) => kind === 'resolved');
  if (status === 'resolved' && !isKept) events.push({ what: 'resolved', at: closedAt!, ...noOne, note });
  if (status === 'healed') events.push({ what: 'healed', at: closedAt!, ...noOne, note: null });
  return events.toSorted((a, b) => a.at.getTime() - b.at.getTime());
}

const ANSWER_WITHIN_MS = 20_000;

export interface BreakAnswer {
  readonly window: Window;
  /** How many entries of the account the platform says it has in the span. */
  readonly total: number;
  readonly shown: number;
  readonly notStored: readonly LedgerEntry[];
  readonly changed: readonly LedgerEntry[];
  readonly unreadable: readonly UnreadableEntry[];
}

export type Asked = { readonly answer: BreakAnswer } | { readonly failure: string };

/**
 * Asks once. If the platform does not answer, or the token cannot be read, this is returned as a sentence and not
 * thrown.
 */
export async function askAboutBreak(
  from: Readonly<{ db: Kysely<DB>; reader: LedgerReader; access: () => Promise<MerchantAccess> }>,
  row: BreakRow,
): Promise<Asked> {
  const { span: window, account } = knownBreak(row);
  const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
  try {
    const merchant = await from.access();
    const query = { merchant, window, currency: account.currency, pageNum: 1 };
    const { total, entries, unreadable } = await from.reader.page(query, signal);
    const batchNos = entries.map(({ batchNo }) => batchNo);
    const stored = await entriesByNumber(from.db, account.merchantNo, batchNos);
    const notStored = entries.filter(({ batchNo }) => !stored.has(batchNo));
    const changed = entries.filter((entry) => !isSame(stored.get(entry.batchNo) ?? entry, entry));
    const shown = entries.length + unreadable.length;
    return { answer: { window, total, shown, notStored, changed, unreadable } };
  } catch (error) {
    if (signal.aborted) return { failure: `it did not answer within ${ANSWER_WITHIN_MS / 1_000} seconds` };
    if (error instanceof ExpectedError) return { failure: error.message };
    throw error;
  }
}

const isSame = (a: LedgerEntry, b: LedgerEntry): boolean =>
  a.currency === b.currency &&
  a.transactionType === b.transactionType &&
  a.bookedAt === b.bookedAt &&
  sameAmount(a.credit, b.credit) &&
  sameAmount(a.debit, b.debit) &&
  sameAmount(a.balance, b.balance);

const sameAmount = (a: string | null, b: string | null): boolean =>
  a === null || b === null ? a === b : compareAmounts(a, b) === 0;

/** Null if there is nothing left to ask: the break healed, or a person resolved it. */
export function messageToPlatform(
  found: BreakCase,
  answer: BreakAnswer | null,
  { zone, now }: Clock,
): string | null {
  if (found.state === 'healed' || found.state === 'resolved') return null;
  const known = knownBreak(found.row);
  const { account, span, afterBatchNo, beforeBatchNo } = known;
  const money = (amount: string): string => moneyText(amount, account.currency);
  const at = (ms: number): string => wallSecond(ms, zone);
  const bookingOf = (batchNo: string | null): string => {
    const background = found.rows.find(({ entry }) => entry.batchNo === batchNo);
    return background === undefined ? '' : `, booked at ${background.entry.bookedAt},`;
  };
  const readAt = completeReadingAt(span, found.certificates);
  return [
    `Subject: Merchant ${account.merchantNo}, ${account.currency}: unexplained difference between ledger orders ` +
      `${afterBatchNo ?? '(none)'} and ${beforeBatchNo}`,
    '',
    `In the transaction history of merchant ${account.merchantNo} in ${account.currency} (all times are in ${zone}):`,
    `- After ledger order ${afterBatchNo ?? '(none)'}${bookingOf(afterBatchNo)} the balance is ` +
      `${money(known.expectedBalance)}.`,
    `- The next one is ledger order ${beforeBatchNo}${trimmed(bookingOf(beforeBatchNo))}. Its own amount and balance imply ` +
      `${money(known.foundBalance)} before it.`,
    `- So ${netText(known)} is unexplained, between ${at(span.beginMs)} and ${at(span.endMs)}.`,
    // Entries that are known as a cause have a line of their own.
    isCauseKnown(known) && !isEvidence(known.hint) ? `By our figures: ${causeOf(known)}` : null,
    readAt === null
      ? null
      : `We retrieved all entries of this period; our last retrieval was on ${dateAndTime(at(readAt))}.`,
    answer === null
      ? null
      : `On ${dateAndTime(at(now.getTime()))} we retrieved this period again: you show ${counted(answer.total, 'entry', 'entries')}.`,
    ...found.changed.map((one) => changeText(one, at(one.at.getTime()))),
    ...found.quarantined.map(
      ({ batchNo, reason, explains }) =>
        `Between the two, your system returns ${batchNo === null ? 'an entry without a ledger order number' : `ledger order ${batchNo}`}, ` +
        `which does not follow your interface document: ${reason}.` +
        (explains ? ' Its amount equals the unexplained difference.' : ''),
    ),
    '',
    requestText(found),
    `Our reference: break ${known.id}`,
  ]
    .filter((line) => line !== null)
    .join('\n');
}

function changeText(
  { batchNo, before, now, explains }: BreakCase['changed'][number],
  foundAt: string,
): string {
  const own = explains ? ' Its amount equals the unexplained difference.' : '';
  return now === null
    ? `You showed us ledger order ${batchNo} there, ${contentText(before)}. On ${dateAndTime(foundAt)} you no longer showed it.${own}`
    : `On ${dateAndTime(foundAt)} you showed ledger order ${batchNo} with another content: before, ${contentText(before)}; now, ` +
        `${contentText(now)}.${explains ? ' With the content before, your balances agree.' : ''}`;
}

/** `2026-03-31 at 22:00:00` of `2026-03-31 22:00:00`. */
const dateAndTime = (wall: string): string => wall.replace(' ', ' at ');

const trimmed = (clause: string): string => clause.replace(/,$/, '');

const contentText = ({ credit, debit, currency, balance, bookedAt }: LedgerEntry): string =>
  `a ${credit === null ? 'debit' : 'credit'} of ${moneyText(credit ?? debit!, currency)} with balance ${moneyText(balance, currency)}, booked at ${bookedAt}`;

function requestText({ changed, quarantined }: BreakCase): string {
  const known = changed.filter(({ explains }) => explains);
  if (known.some(({ kind }) => kind === 'vanished'))
    return 'Please tell us why you no longer show what was booked, or show it again.';
  if (known.length > 0) return 'Please tell us which content is right, and correct the other figures.';
  return quarantined.some(({ explains }) => explains)
    ? 'Please correct that entry, or tell us how to read it.'
    : 'Please tell us which entries belong there, or which amount, balance or time is wrong.';
}

type Reading = Pick<CertificateRow, 'begin_ms' | 'through_ms' | 'read_at'>;

/**
 * When all of the span had been read, in ms; null if a part was not. Where all of it was read again, that counts. Readings of
 * parts at different times complete it only with the last of them.
 */
function completeReadingAt(span: Window, certificates: readonly Reading[]): number | null {
  const inOrder = certificates.toSorted((a, b) => a.read_at.getTime() - b.read_at.getTime());
  const first = coveredAt(span, inOrder);
  const again = coveredAt(span, inOrder.toReversed());
  return first === null || again === null ? null : Math.max(first, again);
}

/** When the reading was made with which these readings, in their order, cover the span. */
function coveredAt(span: Window, readings: readonly Reading[]): number | null {
  let open: readonly Window[] = [span];
  for (const { begin_ms: beginMs, through_ms: endMs, read_at: at } of readings) {
    open = subtractWindows(open, [{ beginMs, endMs }]);
    if (open.length === 0) return at.getTime();
  }
  return null;
}
