/** The formats that statements can be published in. `DAYBOOK_STATEMENT_FORMATS` chooses among them. */

/** Each day is published as CSV, whatever else is chosen: it is the file that is proven. */
export const ALWAYS_PUBLISHED = 'csv';

/**
 * - `csv`: the canonical file
 * - `xlsx`: a workbook for spreadsheets
 * - `camt053`: ISO 20022 camt.053.001.08, for ERPs
 * - `mt940`: SWIFT MT940, for older ERPs
 * - `pdf`: pages of A4, to read, sign and file
 */
export const PUBLISHABLE_FORMATS = [ALWAYS_PUBLISHED, 'xlsx', 'camt053', 'mt940', 'pdf'] as const;

export type PublishableFormat = (typeof PUBLISHABLE_FORMATS)[number];
