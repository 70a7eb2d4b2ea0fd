/**
 * sp2404 as the document has it (docs/platform.md 4.1): checks the request and answers with a page, or with wrong
 * rows.
 */
import { CURRENCY_CODE } from '../../ledger/money.ts';
import { tzOffset } from '@date-fns/tz';
import { z } from 'zod';
import { PAGE_SIZE_MAX } from '../../platform/wire.ts';
import { type SandboxEntry, permutation, unitsOf } from './ledger.ts';
import type { MerchantLedger } from './merchant-ledger.ts';
import { type Striker } from './behaviour.ts';
import { LATITUDE_DEFAULTS, type Latitude } from './latitude.ts';
import { minorUnitsOf } from './scenario.ts';

const millis = z
  .int()
  .refine((ms) => String(ms).length === 13, { error: 'must be Unix time in milliseconds, 13 digits' });

export const ledgerRequestSchema = z.strictObject({
  beginDate: millis.optional(),
  endDate: millis.optional(),
  batchNo: z.string().optional(),
  currency: z.string().regex(CURRENCY_CODE).optional(),
  flowType: z.enum(['1', '2']).optional(),
  busiType: z.string().optional(),
  pageNum: z.int().min(1).optional(),
  pageSize: z.int().min(1).max(PAGE_SIZE_MAX).optional(),
});
export type LedgerRequest = z.output<typeof ledgerRequestSchema>;

export interface PageContext {
  readonly ledger: MerchantLedger;
  readonly striker: Striker;
  readonly timeZone: string;
  readonly latitude?: Latitude;
}

/** The JSON text of the reply. It is not made by a JSON library, as none keeps numbers like `1E+3` or `0.10`. */
export function ledgerPage(
  request: LedgerRequest,
  { ledger, striker, timeZone, latitude = LATITUDE_DEFAULTS }: PageContext,
): string {
  const beginMs = request.beginDate ?? 0;
  const endMs = request.endDate ?? 9_999_999_999_999;
  const { hostility } = striker;
  const asked = request.pageNum ?? 1;
  const pageSize = Math.min(request.pageSize ?? PAGE_SIZE_MAX, hostility.pageSizeMax);

  if (striker.strikes('liveInsertsEvery')) {
    const held = ledger.heldBack(beginMs, endMs);
    if (held !== undefined) ledger.change(held.batchNo, { visibleFromMs: Number.NEGATIVE_INFINITY });
  }
  const found = ledger.matching({
    ...request,
    batchNo: ownBatchNo(request.batchNo, latitude),
    beginMs,
    endMs,
  });
  const last = Math.max(1, Math.ceil(found.total / pageSize));
  const pageNum = latitude.pageBeyond === 'last' ? Math.min(asked, last) : asked;
  const place = placer(hostility.order, found.total, `${beginMs} ${endMs}`, striker.requests);
  const rows: SandboxEntry[] = [];
  const until = Math.min(found.total, pageNum * pageSize);
  for (let index = (pageNum - 1) * pageSize; index < until; index += 1) rows.push(found.at(place(index)));

  let total = found.total;
  if (striker.strikes('wrongTotalsEvery')) total += 1;
  if (rows.length > 1 && striker.strikes('duplicateRowsEvery')) rows[rows.length - 1] = rows[0]!;
  if (rows.length > 0 && striker.strikes('missingRowsEvery')) rows.pop();
  const shiftMs = hostility.timeZoneOffsetHours * 3_600_000;
  const list = rows.map((entry) => entryText(entry, timeZone, shiftMs, latitude)).join(',');
  const isBare = rows.length === 0 && latitude.emptyPage !== 'asked';
  const statedSize = latitude.pageSizeEcho === 'entries' ? rows.length : pageSize;
  return objectText(
    [
      ...(isBare ? ['"pageNum":0', '"pageSize":0'] : [`"pageNum":${pageNum}`, `"pageSize":${statedSize}`]),
      `"total":${total}`,
      isBare && latitude.emptyPage === 'null' && total === 0 ? '"list":null' : `"list":[${list}]`,
    ],
    latitude,
  );
}

function placer(
  order: Striker['hostility']['order'],
  total: number,
  windowSeed: string,
  requests: number,
): (index: number) => number {
  switch (order) {
    case 'ascending':
      return (index) => index;
    case 'descending':
      return (index) => total - 1 - index;
    case 'window-shuffled':
      return permutation(total, windowSeed);
    case 'request-shuffled':
      return permutation(total, `${windowSeed} ${requests}`);
  }
}

function entryText(entry: SandboxEntry, timeZone: string, shiftMs = 0, latitude = LATITUDE_DEFAULTS): string {
  const { currency } = entry;
  return objectText(
    [
      `"batchNo":${batchNoText(entry.batchNo, latitude)}`,
      `"currency":"${latitude.currencyCase === 'lower' ? currency.toLowerCase() : currency}"`,
      `"busiType":${JSON.stringify(entry.busiType)}`,
      ...amountField('inAmount', entry.inAmount, currency, latitude),
      ...amountField('outAmount', entry.outAmount, currency, latitude),
      ...amountField('vailAmount', entry.vailAmount, currency, latitude),
      `"busiDate":"${wallTime(entry.bookedMs + shiftMs, timeZone)}${partsOf(entry.batchNo, latitude)}"`,
    ],
    latitude,
  );
}

/** What stands for the letters of a batchNo that has none. */
const LETTERS = 'SBX';
const DIGIT = '7';

function batchNoText(batchNo: string, { batchNo: form }: Latitude): string {
  const digits = batchNo.replace(LETTERS, DIGIT);
  return form === 'number' ? digits : JSON.stringify(form === 'digits' ? digits : batchNo);
}

/** The batchNo that the ledger has it under. */
const ownBatchNo = (asked: string | undefined, { batchNo: form }: Latitude): string | undefined =>
  form === 'letters' ? asked : asked?.replace(DIGIT, LETTERS);

const NO_AMOUNT = { null: 'null', empty: '""', zero: '0' } as const;

/** The field's JSON text; none where it is left out. */
function amountField(name: string, amount: string | null, currency: string, latitude: Latitude): string[] {
  const { amounts, noAmount } = latitude;
  if (amount === null) return noAmount === 'left-out' ? [] : [`"${name}":${NO_AMOUNT[noAmount]}`];
  if (amounts === 'numbers') return [`"${name}":${amount}`];
  return [`"${name}":"${amounts === 'text' ? amount : grouped(amount, minorUnitsOf(currency))}"`];
}

/** `-1234567.5` with two decimals as `-1,234,567.50`. */
function grouped(amount: string, decimals: number): string {
  const units = unitsOf(amount, decimals);
  const digits = String(units < 0n ? -units : units).padStart(decimals + 1, '0');
  const at = digits.length - decimals;
  const left = digits.slice(0, at).replace(/\B(?=(?:\d{3})+$)/g, ',');
  return `${units < 0n ? '-' : ''}${left}${decimals === 0 ? '' : `.${digits.slice(at)}`}`;
}

function partsOf(batchNo: string, { secondParts }: Latitude): string {
  if (secondParts === 'none') return '';
  return secondParts === 'zeros' ? '.000' : `.${batchNo.slice(-3)}`;
}

/** A JSON object from fields that are JSON text already, in the order that the scenario asks for. */
function objectText(fields: readonly string[], { fieldOrder, moreFields }: Latitude): string {
  const all = moreFields ? [...fields, '"traceId":"7f3a"'] : fields;
  return `{${(fieldOrder === 'document' ? all : all.toReversed()).join(',')}}`;
}

/** An instant as `YYYY-MM-DD HH:mm:ss` in the zone. */
export function wallTime(ms: number, timeZone: string): string {
  const offsetMs = tzOffset(timeZone, new Date(ms)) * 60_000;
  return new Date(ms + offsetMs).toISOString().slice(0, 19).replace('T', ' ');
}
