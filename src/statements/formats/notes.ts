/** Notes in words that bank formats carry, as they have no field for them. */
import type { StatedFigures } from '../../ledger/entry.ts';
import { addAmounts, compareAmounts, subtractAmounts } from '../../ledger/money.ts';
import { counted } from '../../ledger/text.ts';
import type { PublishedRevision } from './format.ts';

/** What opening + credits - debits lacks of the closing; null where they agree. */
export function missingIn({ opening, creditTotal, debitTotal, closing }: StatedFigures): string | null {
  const missing = subtractAmounts(closing, subtractAmounts(addAmounts(opening, creditTotal), debitTotal));
  return compareAmounts(missing, '0') === 0 ? null : missing;
}

/** `2 entries that may be of this day came and could not be read` */
export const unreadableText = (count: number): string =>
  `${counted(count, 'entry', 'entries')} that may be of this day came and could not be read`;

/** The verdict, the breaks, what could not be read, by how much the figures do not add up, and where the opening is from. */
export function notesOf({
  figures,
  unreadable,
}: Pick<PublishedRevision, 'figures' | 'unreadable'>): string[] {
  const { verdict, breakCount, breaksAfter, restarted, otherClosings } = figures;
  const missing = missingIn(figures);
  return [
    ...[verdict, `breaks: ${breakCount}`],
    ...(breaksAfter === 0
      ? []
      : [`${breaksAfter} of them between the last balance of the day and the next entry`]),
    ...(unreadable === 0 ? [] : [`${unreadableText(unreadable)}: the figures lack what they say`]),
    ...(missing === null ? [] : [`a net ${missing} is missing between opening and closing`]),
    ...(restarted ? ['opening derived from the first entry'] : []),
    ...(otherClosings === undefined
      ? []
      : [`may close on ${otherClosings.join(' or ')} as well: nothing decides`]),
  ];
}
