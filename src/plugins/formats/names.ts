/** Names that people gave, as workbooks and PDFs have them. Where there is none, nothing of it is there. */
import anyAscii from 'any-ascii';
import { describedText, type MerchantNames, type NameField, type OwnNames } from '../../ledger/names.ts';
import { drawable } from './pdf-sheet.ts';
import { text } from './xlsx-sheets.ts';
import type { Value } from './xlsx-xml.ts';

/** What a workbook calls them. */
export const ACCOUNT_NAMES = {
  ...{ account_name: 'name', iban: 'iban', ledger_account: 'ledgerAccount' },
} as const satisfies Readonly<Record<string, NameField>>;
const MERCHANT_NAMES = {
  ...{ merchant_name: 'name', merchant_reference: 'reference' },
} as const satisfies Readonly<Record<string, NameField>>;

const rowsOf = (heads: Readonly<Record<string, NameField>>, given: OwnNames = {}): Value[][] =>
  Object.entries(heads).flatMap(([head, field]) => {
    const name = given[field];
    return name === undefined ? [] : [[text(head), text(name)]];
  });

export const merchantNameRows = (names: MerchantNames | undefined): Value[][] =>
  rowsOf(MERCHANT_NAMES, names?.own);

export const accountNameRows = (names: MerchantNames | undefined, currency: string): Value[][] =>
  rowsOf(ACCOUNT_NAMES, names?.accounts.get(currency));

type Fact = readonly [label: string, text: string];

const fact = (label: string, given: string | undefined): Fact[] =>
  given === undefined || given === '' ? [] : [[label, Array.from(given, legible).join('')]];

/** A character that the fonts do not have is spelled in Latin letters: ZhiFu, where other texts have its code. */
const legible = (character: string): string =>
  character === ' ' || drawable(character) === character ? character : anyAscii(character) || character;

export const merchantFacts = (names: MerchantNames | undefined): Fact[] => [
  ...fact('Name', names?.own.name),
  ...fact('Reference', names?.own.reference),
];

export const accountFact = (names: MerchantNames | undefined, currency: string, label = 'Account'): Fact[] =>
  fact(label, describedText(names?.accounts.get(currency)));
