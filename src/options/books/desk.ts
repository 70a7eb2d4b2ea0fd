/** Own books as the pages work on them. */
import { Readable } from 'node:stream';
import { unknownMerchant } from '../../cli/flags.ts';
import { UsageError } from '../../run/verdict/exit-codes.ts';
import { knownMerchants } from '../../store/merchants.ts';
import type { BookFile, BooksDesk, Deciding } from '../option.ts';
import { proposedOf } from './answers.ts';
import { decide } from './decide.ts';
import { importBook } from './import/import.ts';
import { readMapping } from './import/mapping.ts';
import { openSource } from './import/sources.ts';
import { matchBooks } from './match.ts';
import { listMatches, openEntries } from './open.ts';

export const desk: BooksDesk = {
  ...{ open: openEntries, proposed: proposedOf, matches: listMatches, decide, takeIn },
};

async function takeIn({ db, settings, now, zone, by }: Deciding, file: BookFile): Promise<string> {
  const { isAllowed, name, content } = file;
  const mapping = readMapping(file.mapping, 'the mapping');
  const { merchant: merchantNo } = mapping;
  if (!isAllowed(merchantNo) || (await knownMerchants(db, [merchantNo])).size === 0)
    throw unknownMerchant(merchantNo);
  // A query would read what this server may read.
  if (mapping.format === 'query')
    throw new UsageError('a query is imported by `daybook books import`, not here.');
  const stdin = Readable.from([content]) as AsyncIterable<Uint8Array>;
  const source = openSource(mapping, { path: '-', env: {}, stdin, isInsecureAllowed: false });
  const report = await importBook(db, {
    ...{ mapping, source: { ...source, name }, from: undefined, to: undefined, isDryRun: false },
    ...{ now: () => now, signal: new AbortController().signal, onProgress: () => undefined },
    auditEvent: { by, command: 'books import', subject: `${merchantNo} ${mapping.book}`, note: name },
    zones: { own: mapping.zone ?? zone, platform: zone },
  });
  await matchBooks(db, { merchantNo, rules: settings.books, now });
  const { rowsRead, added, changed, withdrawn, unreadable } = report;
  return `${name}: ${rowsRead} rows, ${added} added, ${changed} changed, ${withdrawn} withdrawn, ${unreadable} unreadable`;
}
