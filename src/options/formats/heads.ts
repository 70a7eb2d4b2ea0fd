/** What is known of each format without what writes it. */
import type { StatementFormat } from '../../statements/formats/format.ts';

type FormatHead = Omit<StatementFormat, 'write' | 'month'>;

export const HEADS = {
  xlsx: {
    name: 'xlsx',
    extension: 'xlsx',
    contentType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    canBePublished: true,
    holdsEveryDay: true,
  },
  camt053: {
    name: 'camt053',
    extension: 'camt053.xml',
    contentType: 'application/xml',
    canBePublished: true,
    writesIsoCurrency: true,
    holdsChanges: true,
    holdsMonth: true,
  },
  mt940: {
    name: 'mt940',
    extension: 'mt940',
    contentType: 'text/plain; charset=us-ascii',
    canBePublished: true,
    writesIsoCurrency: true,
    holdsChanges: true,
    holdsMonth: true,
  },
  pdf: {
    name: 'pdf',
    extension: 'pdf',
    contentType: 'application/pdf',
    canBePublished: true,
    holdsEveryDay: true,
    packages: 'PDF statements',
  },
} as const satisfies Readonly<Record<string, FormatHead>>;
