/** The addresses of the pages. A merchant, currency or entry number is always one part of the path. */
import type { Account, BusinessDay } from '../../../ledger/entry.ts';
import { CSV } from '../../../statements/formats/csv.ts';

const path = (...parts: readonly string[]): string => `/${parts.map(encodeURIComponent).join('/')}`;

/** Browsers take a part that is one or two dots for a step in the path, so such a number has a `~` in front. */
const partOf = (merchantNo: string): string =>
  /^~*\.{1,2}$/.test(merchantNo) ? `~${merchantNo}` : merchantNo;

/** The merchant of a decoded part of a path. */
export const merchantOfPart = (part: string): string => (/^~+\.{1,2}$/.test(part) ? part.slice(1) : part);

export const monthAddress = (merchantNo: string, month: string): string =>
  path('m', partOf(merchantNo), month);

export const dayAddress = (account: Account, day: BusinessDay): string => dayAddresses(account)(day);

/** The addresses of an account's days, where there are many of them. */
export function dayAddresses({ merchantNo, currency }: Account): (day: BusinessDay) => string {
  const account = path('m', partOf(merchantNo), currency);
  return (day) => `${account}/${day}`;
}

/** An entry's number of one or two dots goes into the query. */
export const entryAddress = (merchantNo: string, batchNo: string): string =>
  /^\.{0,2}$/.test(batchNo)
    ? `/entry?${String(new URLSearchParams({ merchant: merchantNo, number: batchNo }))}`
    : path('entry', partOf(merchantNo), batchNo);

export const booksAddress = ({ merchantNo, currency }: Account): string =>
  path('books', partOf(merchantNo), currency);
export const namesAddress = (merchantNo: string): string => path('names', partOf(merchantNo));

export const workAddress = (id: number): string => `/work/${id}`;

export const unreadableAddress = (id: number): string => `/unreadable/${id}`;

export const breakAddress = (id: number): string => `/breaks/${id}`;

export const monthDownloadAddress = (merchantNo: string, month: string): string =>
  path('download', partOf(merchantNo), `${month}.zip`);

/** The month's overview, to read and sign. */
export const monthOverviewAddress = (merchantNo: string, month: string, extension: string): string =>
  path('download', partOf(merchantNo), `${month}.${extension}`);

export const dayDownloadAddress = (
  { merchantNo, currency }: Account,
  day: BusinessDay,
  revision: number,
  format: string = CSV.name,
): string =>
  addressWith(path('download', partOf(merchantNo), currency, day), {
    revision,
    format: format === CSV.name ? null : format,
  });

/** The same address with other values in its query; null takes one away. The order of the others stays. */
export function addressWith(
  address: string,
  change: Readonly<Record<string, string | number | null>>,
): string {
  const [base = '', query = ''] = address.split('?', 2);
  const values = new URLSearchParams(query);
  for (const [name, value] of Object.entries(change)) {
    if (value === null) values.delete(name);
    else values.set(name, String(value));
  }
  const text = String(values);
  return text === '' ? base : `${base}?${text}`;
}
