/** Replies of sp2404 as text, and what the client reads of them over a real socket. */
import type { Window } from '../../src/ledger/entry.ts';
import { createCurrencies } from '../../src/ledger/money.ts';
import { createLedgerReader } from '../../src/platform/ledger-history.ts';
import type { LedgerPageQuery } from '../../src/platform/ledger-reader.ts';
import type { Transport } from '../../src/platform/transport.ts';
import { MERCHANT, answer, outOfScope, transportTo } from './stranger.ts';

export const at = (text: string): number => Date.parse(text);
export const MARCH_31: Window = {
  beginMs: at('2026-03-31T00:00:00+08:00'),
  endMs: at('2026-03-31T23:59:59.999+08:00'),
};

const CREDIT = {
  batchNo: '"B1"',
  currency: '"USD"',
  busiType: '"T01"',
  inAmount: '12.5',
  outAmount: 'null',
  vailAmount: '112.50',
  busiDate: '"2026-03-31 12:00:00"',
};
/** An entry's JSON from the JSON of its fields. A field that is undefined is left out. */
export const entryText = (fields: Partial<Record<keyof typeof CREDIT, string | undefined>> = {}): string =>
  `{${Object.entries({ ...CREDIT, ...fields })
    .filter(([, json]) => json !== undefined)
    .map(([name, json]) => `"${name}": ${json ?? ''}`)
    .join(', ')}}`;
export const pageText = (entries: readonly string[], envelope: Record<string, unknown> = {}): string =>
  `{${Object.entries({ pageNum: 1, pageSize: 100, total: entries.length, ...envelope })
    .map(([name, value]) => `"${name}":${JSON.stringify(value)},`)
    .join('')}"list":[${entries.join(' , ')}]}`;

export const readerOver = (transport: Transport, zone = 'Asia/Shanghai', pageSize = 100) =>
  createLedgerReader(transport, { zone, currencies: createCurrencies({ CNH: 2 }), pageSize });

/** Reads one page from the platform's reply. */
export async function read(reply: string, query: Partial<LedgerPageQuery> = {}, zone?: string) {
  const { url } = await outOfScope(answer(reply));
  const { transport } = transportTo(url, { retriesMax: 0 });
  return readerOver(transport, zone).page({ merchant: MERCHANT, window: MARCH_31, pageNum: 1, ...query });
}
export const readEntry = async (fields: Parameters<typeof entryText>[0], zone?: string, window = MARCH_31) =>
  read(pageText([entryText(fields)]), { window }, zone);
