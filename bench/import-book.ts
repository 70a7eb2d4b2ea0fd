/** One import of an own book as a process: the file, its mapping and the database on stdin, figures as a line of JSON. */
import '../src/plugins.ts';
import { keepHeapSmall } from '../src/cli/heap.ts';
import { createCurrencies } from '../src/ledger/money.ts';
import { importBook } from '../src/plugins/books/import/import.ts';
import { readMapping } from '../src/plugins/books/import/mapping.ts';
import { openSource } from '../src/plugins/books/import/sources.ts';
import { openDatabase } from '../src/store/engine/connection.ts';
import { givenInput } from './input.ts';

export interface BookImport {
  readonly path: string;
  readonly mapping: string;
  readonly databaseUrl: string;
}

export interface ImportFigures {
  readonly elapsedMs: number;
  readonly peakMegabytes: number;
  readonly added: number;
  readonly changed: number;
}

keepHeapSmall();
const { path, mapping: text, databaseUrl } = givenInput() as BookImport;
const mapping = readMapping(text, 'mapping');
const { db, close } = await openDatabase({ databaseUrl, dataDir: '' });
const started = performance.now();
const { added, changed } = await importBook(db, {
  ...{ mapping, from: undefined, to: undefined, isDryRun: false, zones: { own: 'UTC', platform: 'UTC' } },
  currencies: createCurrencies({}),
  source: openSource(mapping, { path, env: {}, stdin: process.stdin, isInsecureAllowed: false }),
  auditEvent: { by: 'bench', command: 'books import', subject: mapping.merchant },
  ...{ now: () => new Date(), signal: new AbortController().signal, onProgress: () => undefined },
});
const elapsedMs = performance.now() - started;
await close();
const peakMegabytes = process.resourceUsage().maxRSS / 1_024;
process.stdout.write(
  `${JSON.stringify({ elapsedMs, peakMegabytes, added, changed } satisfies ImportFigures)}\n`,
);
