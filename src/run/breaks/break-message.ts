/** Writes a message to the platform's support about a break: plain text to copy, without anything secret. Pure. */
import { causeOf, isCauseKnown, netText } from '../../ledger/chain/break-stories.ts';
import { counted } from '../../ledger/text.ts';
import { knownBreak } from '../../store/breaks/breaks.ts';
import type { BreakAnswer } from './break-answer.ts';
import type { BreakCase } from './break-case.ts';
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
  const at = (ms: number): string => `${wallSecond(ms, zone)} (${zone})`;
  const bookingOf = (batchNo: string | null): string => {
    const beside = found.rows.find(({ entry }) => entry.batchNo === batchNo);
    return beside === undefined ? '' : `, booked at ${beside.entry.bookedAt},`;
  };
  const certificate = found.certificates.at(-1);
  // Quarantined entries have a paragraph of their own.
  const isOfQuarantine = known.hint === 'quarantined-entry' || known.hint === 'quarantined-in-span';
  const explaining = found.quarantined.filter(({ explains }) => explains);
  return [
    `Subject: merchant ${account.merchantNo}, ${account.currency}: the balance does not follow from ` +
      `${afterBatchNo ?? 'the start'} to ${beforeBatchNo}`,
    '',
    `In the transaction history of merchant ${account.merchantNo} in ${account.currency}:`,
    `- After ledger order ${afterBatchNo ?? '(none)'}${bookingOf(afterBatchNo)} the balance is ` +
      `${known.expectedBalance} ${account.currency}.`,
    `- The next ledger order ${beforeBatchNo}${bookingOf(beforeBatchNo)} starts from ` +
      `${known.foundBalance} ${account.currency}, by its own amount and balance.`,
    `- So ${netText(known)} ${account.currency} is not accounted for, between ${at(span.beginMs)} and ${at(span.endMs)}.`,
    isCauseKnown(known) && !isOfQuarantine ? `By our figures: ${causeOf(known)}` : null,
    certificate === undefined
      ? null
      : `We last read that time whole at ${at(certificate.certified_at.getTime())}.`,
    answer === null
      ? null
      : `Asked again at ${at(now.getTime())}, you show ${counted(answer.total, 'entry', 'entries')} there.`,
    ...found.quarantined.map(
      ({ batchNo, reason, explains }) =>
        `You send an entry there that does not keep to your interface document: ` +
        `${batchNo === null ? 'one without a ledger order number' : `ledger order ${batchNo}`}: ${reason}.` +
        (explains ? ' Its amount is the one that is not accounted for.' : ''),
    ),
    '',
    explaining.length > 0
      ? 'Please correct that entry, or tell us how it is to be read.'
      : 'Please tell us which entries belong there, or which amount, balance or time is wrong.',
    `Our reference: break ${known.id}`,
  ]
    .filter((line) => line !== null)
    .join('\n');
}
