/** Own books as the pages work on them. */
import { Readable } from 'node:stream';
import { unknownMerchant } from '../../cli/flags.ts';
import { createCurrencies } from '../../ledger/money.ts';
import { knownMerchants } from '../../store/merchants.ts';
import type { BookFile, Deciding } from '../../months/own-books.ts';
import { importBook } from './import/import.ts';
import { readMapping } from './import/mapping.ts';
import { openSource } from './import/sources.ts';
import { PAGES_LIMITS } from './import/workbook.ts';
import { matchBooks } from './match.ts';

export { decide } from './decide.ts';
export { listMatches as matches, openEntries as open } from './open.ts';
export { proposedOf as proposed } from './proposals.ts';

/** Imports the file of a book, as the mapping says, and matches it. Returns what to say of it. */
export async function takeIn(
  { db, settings, now, zone, by, lockMs }: Deciding,
  file: BookFile,
): Promise<string> {
  const { isAllowed, name, content, signal } = file;
  const mapping = readMapping(file.mapping, 'the mapping');
  const { merchant: merchantNo } = mapping;
  if (!isAllowed(merchantNo) || (await knownMerchants(db, [merchantNo])).size === 0)
    throw unknownMerchant(merchantNo);
  // A query, which would read what this server may read, has no file: it is refused.
  const stdin = Readable.from([content]) as AsyncIterable<Uint8Array>;
  const how = { limits: PAGES_LIMITS, signal };
  const source = openSource(mapping, { path: '-', env: {}, stdin, isInsecureAllowed: false, ...how });
  const { rowsRead, added, changed, withdrawn, unreadable, moved } = await importBook(db, {
    ...{ mapping, source: { ...source, name }, now: () => now, signal, lockMs },
    auditEvent: { by, command: 'books import', subject: `${merchantNo} ${mapping.book}`, note: name },
    zones: { own: mapping.zone ?? zone, platform: zone },
    ...{ approvalAbove: settings.books.approvalAbove, logins: settings.access },
    currencies: createCurrencies(settings.currencies),
  });
  await matchBooks(db, { merchantNo, rules: settings.books, now, lockMs });
  return `${name}: ${rowsRead} rows, ${added} added, ${changed} changed, ${withdrawn} withdrawn, ${unreadable} unreadable${moved === null ? '' : `; ${moved}`}`;
}
