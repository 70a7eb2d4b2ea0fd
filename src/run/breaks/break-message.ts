/** Writes a message to the platform's support about a break: plain text to copy, without anything secret. Pure. */
import { moneyText } from '../../ledger/money.ts';
import { isEvidence } from '../../ledger/chain/break-evidence.ts';
import { causeOf, isCauseKnown, netText } from '../../ledger/chain/break-stories.ts';
import type { LedgerEntry } from '../../ledger/entry.ts';
import { counted } from '../../ledger/text.ts';
import { knownBreak } from '../../store/breaks/breaks.ts';
import type { BreakAnswer } from './break-answer.ts';
import type { BreakCase } from './break-case.ts';
import { completeReadingAt } from './read-whole-at.ts';
import { wallSecond } from '../../ledger/wall-time.ts';

/** Null if there is nothing left to ask: the break healed, or a person resolved it. */
export function messageToPlatform(
  found: BreakCase,
  answer: BreakAnswer | null,
  { zone, now }: { readonly zone: string; readonly now: Date },
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
