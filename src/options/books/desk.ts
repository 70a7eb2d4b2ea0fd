/** Own books as the pages work on them. */
import { Readable } from 'node:stream';
import { unknownMerchant } from '../../cli/flags.ts';
import { knownMerchants } from '../../store/merchants.ts';
import { UsageError } from '../../run/verdict/exit-codes.ts';
import type { BooksDesk, Deciding, BookFile } from '../option.ts';
import { acceptAnswer, proposedOf } from './answers.ts';
import {
  approveMatch,
  assignEntries,
  decideMatch,
  listMatches,
  merchantOfMatch,
  undoMatch,
  DecisionRefused,
} from './decide.ts';
import { importBook } from './import/import.ts';
import { readMapping } from './import/mapping.ts';
import { openSource } from './import/sources.ts';
import { matchBooks } from './match.ts';
import { openEntries } from './open.ts';

const ofMerchant =
  (act: (deciding: Deciding, id: number) => Promise<unknown>) =>
  async (deciding: Deciding, id: number, merchantNo: string): Promise<unknown> => {
    if ((await merchantOfMatch(deciding.db, id)) !== merchantNo)
      throw new DecisionRefused(`there is no match ${id} of ${merchantNo}.`);
    return act(deciding, id);
  };

export const desk: BooksDesk = {
  open: openEntries,
  proposed: proposedOf,
  matches: listMatches,
  match: decideMatch,
  accept: acceptAnswer,
  assign: assignEntries,
  undo: ofMerchant(undoMatch),
  approve: ofMerchant(approveMatch),
  takeIn,
};

async function takeIn({ db, rules, now, event }: Deciding, file: BookFile): Promise<string> {
  const { isAllowed, name, content, zone } = file;
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
    auditEvent: { ...event, subject: `${merchantNo} ${mapping.book}`, note: name },
    zones: { own: mapping.zone ?? zone, platform: zone },
  });
  await matchBooks(db, { merchantNo, rules, now });
  const { rowsRead, added, changed, withdrawn, unreadable } = report;
  return `${name}: ${rowsRead} rows, ${added} added, ${changed} changed, ${withdrawn} withdrawn, ${unreadable} unreadable`;
}
