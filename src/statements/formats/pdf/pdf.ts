/** Statements as PDF, to read, sign and file: docs/decisions/formats.md. The same day gives the same bytes. */
import { entriesIn } from '../../../ledger/chain/figures.ts';
import type { RowCells, StatementDay, StatementFormat } from '../format.ts';
import { changesSection, earlierSection, entriesSection } from './day-tables.ts';
import { aboutDay, figuresSection, proofSection } from './day-figures.ts';
import { createSheet } from './sheet.ts';

/** Entries that are listed; the CSV has all. */
export const ENTRIES_SHOWN_MAX = 1_000;

async function* write(day: StatementDay): AsyncGenerator<Uint8Array> {
  const { account, published } = day;
  const changes = await day.changes();
  const shown: RowCells[] = [];
  // All are read, as only their end proves that they are those published.
  for await (const rows of day.rows)
    if (shown.length < ENTRIES_SHOWN_MAX) shown.push(...rows.slice(0, ENTRIES_SHOWN_MAX - shown.length));
  const name = `${account.merchantNo} · ${account.currency} · ${day.day} · revision ${published.revision}`;
  const sheet = await createSheet({
    ...{ title: `Account statement ${name}`, foot: `Account statement ${name}`, at: published.publishedAt },
  });
  aboutDay(sheet, day);
  figuresSection(sheet, day);
  proofSection(sheet, published);
  sheet.signOff();
  earlierSection(sheet, day.earlier);
  if (day.earlier.length > 0) changesSection(sheet, day, changes);
  entriesSection(sheet, day, { shown, inAll: entriesIn(published.figures) });
  yield* sheet.end();
}

export const PDF: StatementFormat = {
  name: 'pdf',
  extension: 'pdf',
  contentType: 'application/pdf',
  canBePublished: true,
  holdsEveryDay: true,
  write,
};
