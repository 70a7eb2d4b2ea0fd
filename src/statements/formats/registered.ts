/** Formats that plugins add to CSV, and what is known of each without its writer, which is loaded with the first day. */
import { register } from '../../host/slot.ts';
import { OTHER_FORMATS } from '../../verify/formats.ts';
import type { MonthFormat, StatementFormat } from './format.ts';

/** In the order of their lists. */
export const addedFormats = register<StatementFormat>('formats of statements');

/** Formats of a merchant's month as one file. */
export const addedMonthFormats = register<MonthFormat>('formats of months');

/** What is known of a format without what writes it. */
type FormatHead = Omit<StatementFormat, 'write' | 'month'>;

export const HEADS = {
  xlsx: {
    ...OTHER_FORMATS.xlsx,
    contentType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    canBePublished: true,
    holdsEveryDay: true,
  },
  camt053: {
    ...OTHER_FORMATS.camt053,
    contentType: 'application/xml',
    canBePublished: true,
    writesIsoCurrency: true,
    holdsChanges: true,
    holdsMonth: true,
  },
  mt940: {
    ...OTHER_FORMATS.mt940,
    contentType: 'text/plain; charset=us-ascii',
    canBePublished: true,
    writesIsoCurrency: true,
    holdsChanges: true,
    holdsMonth: true,
  },
  pdf: {
    ...OTHER_FORMATS.pdf,
    contentType: 'application/pdf',
    canBePublished: true,
    holdsEveryDay: true,
    packages: 'PDF statements',
  },
} as const satisfies Readonly<Record<string, FormatHead>>;
