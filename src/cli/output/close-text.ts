/** Texts of closing a month, and of closed months. */
import type { CloseResult } from '../../statements/close.ts';
import { stretches, type Month } from '../../statements/month.ts';
import { openGroups, type OpenDay } from '../../statements/open-days.ts';
import type { MonthClose } from '../../store/month-close.ts';
import { adjustmentText } from '../../run/status-lists.ts';
import { counted, lines, LIST_SHOWN_MAX, longTable } from './text.ts';
import type { Times } from './times.ts';

const CAUSES: Readonly<Record<OpenDay['cause'], string>> = {
  'not-over': 'not over',
  uncertified: 'not proven',
  'not-reconciled': 'changed, and figures not made anew',
  'not-published': 'not published',
  broken: 'broken',
  unexplained: 'with a difference that no break explains',
  unreadable: 'not all readable',
};

export function closeResultText(merchantNo: string, { name }: Month, result: CloseResult): string {
  const what = `${name} of ${merchantNo}`;
  if (result.kind === 'empty') return `${what} is not closed: nothing was published of it`;
  if (result.kind === 'open') {
    return lines(
      `${what} is not closed: ${daysAreOpen(result.openDays)}`,
      ...openGroups(result.openDays).map(openText),
      'close it once they are done, or say why not with `--despite-open-days WHY`',
    );
  }
  const { number, statements, by, openDays, objectKey } = result.close;
  if (result.kind === 'already') {
    const closed = `${what} was closed before (close ${number}, by ${by}), and `;
    if (result.openDays.length === 0) return `${closed}nothing changed since`;
    return lines(
      `${closed}no statement changed since, but ${daysAreOpen(result.openDays)}`,
      ...openGroups(result.openDays).map(openText),
    );
  }
  return lines(
    `${what} is closed: close ${number} freezes ${counted(statements, 'statement')}` +
      (openDays === 0 ? '' : `, despite ${counted(openDays, 'open day')}`),
    objectKey,
    ...result.adjustments.map((one) => `  ${adjustmentText(one)}`),
  );
}

const daysAreOpen = ({ length }: readonly OpenDay[]): string =>
  `${counted(length, 'day')} of its accounts ${length === 1 ? 'is' : 'are'} open`;

/** One of `openGroups`. */
function openText(days: readonly OpenDay[]): string {
  const { currency, cause, why, todo } = days[0]!;
  const named = stretches(days.map(({ day }) => day)).join(' ');
  if (cause === 'broken') return `  ${currency} ${named}: ${why}: ${todo}`;
  const more = days.length === 1 ? '' : ', and so on';
  return `  ${currency} ${named}: ${CAUSES[cause]}: ${why}: ${todo}${more}`;
}

export function closesText(closes: readonly MonthClose[], times: Times): string {
  if (closes.length === 0) return 'no month is closed yet';
  const shown = closes.slice(0, LIST_SHOWN_MAX);
  return lines(
    longTable(
      ['month', 'merchant', '>close', 'at', 'by', '>statements', '>open days', '~note'],
      shown.map((one) => [
        one.month,
        one.merchantNo,
        String(one.number),
        times.at(one.closedAt),
        one.by,
        String(one.statements),
        String(one.openDays),
        [one.note, one.despite].filter((text) => text !== null).join('; '),
      ]),
    ),
    times.note,
    closes.length > shown.length && `and ${closes.length - shown.length} more: \`--merchant NO\` shows one’s`,
  );
}
