/** Names of what is published and downloaded, next to those that whoever checks files knows: promised in docs/reference/files.md. */
import type { Account, BusinessDay } from '../ledger/entry.ts';
import { dayPrefix, encoded, manifestKey, SIGNATURE_EXTENSION } from '../verify/names.ts';
import type { StatementFormat } from './formats/format.ts';

export const statementKey = ({ merchantNo, currency }: Account, day: BusinessDay, revision: number): string =>
  `${dayPrefix(merchantNo, day)}${encoded(merchantNo)}_${encoded(currency)}_${day}.r${revision}.csv`;

export const summaryKey = (merchantNo: string, day: BusinessDay, revision: number): string =>
  `${dayPrefix(merchantNo, day)}summary.r${revision}.csv`;

export const signatureKey = (merchantNo: string, day: BusinessDay): string =>
  manifestKey(merchantNo, day) + SIGNATURE_EXTENSION;

/** The file name of a merchant's overview of a month. */
export const overviewName = (
  { extension }: Pick<StatementFormat, 'extension'>,
  month: string,
  merchantNo: string,
): string => `month-${month}-${encoded(merchantNo)}.${extension}`;

/** The file name of an account's month as one file. */
export const accountMonthName = (
  { extension }: Pick<StatementFormat, 'extension'>,
  month: string,
  { merchantNo, currency }: Account,
): string => `month-${month}-${encoded(merchantNo)}_${encoded(currency)}.${extension}`;

/** The file name of a month's download, which names its merchant if it is of one. `ending`: what it says behind that. */
export const monthZipName = (month: string, merchants: readonly string[], ending = ''): string =>
  `statements-${month}${merchants.length === 1 ? `-${encoded(merchants[0]!)}` : ''}${ending}.zip`;

export const nameIn = ({ extension }: Pick<StatementFormat, 'extension'>, statement: string): string =>
  statement.replace(/\.csv$/, `.${extension}`);

/** The file name of what changed in a statement since an earlier revision of it: `10001_USD_2026-03-31.r1-r3.csv`. */
export const changesName = (
  { extension }: Pick<StatementFormat, 'extension'>,
  statement: string,
  since: number,
): string => statement.replace(/\.r(\d+)\.csv$/, `.r${since}-r$1.${extension}`);
