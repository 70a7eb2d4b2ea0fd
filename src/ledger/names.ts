/** Display names and own references that people give to merchants and accounts: what they may hold, and what is an IBAN. */

/** `reference` is of a merchant alone, `iban` and `ledgerAccount` are of an account. */
export type NameField = 'name' | 'reference' | 'iban' | 'ledgerAccount';
export const MERCHANT_FIELDS = ['name', 'reference'] as const satisfies readonly NameField[];
export const ACCOUNT_FIELDS = ['name', 'iban', 'ledgerAccount'] as const satisfies readonly NameField[];

/** Those that are given. */
export type OwnNames = Readonly<Partial<Record<NameField, string>>>;

export interface MerchantNames {
  /** Of the merchant itself. */
  readonly own: OwnNames;
  /** Of its accounts, by currency. */
  readonly accounts: ReadonlyMap<string, OwnNames>;
}

/** Names of some merchants, by number; those without any are not there. */
export type Names = ReadonlyMap<string, MerchantNames>;

/** What is to be given to a merchant, or with a currency to its account. An empty text removes what is there. */
export interface NamesGiven {
  readonly merchantNo: string;
  readonly currency: string | null;
  readonly fields: OwnNames;
}

/** How they are called in sentences and records. */
export const FIELD_WORDS: Readonly<Record<NameField, string>> = {
  name: 'name',
  reference: 'reference',
  iban: 'IBAN',
  ledgerAccount: 'ledger account',
};

/** In characters. camt.053 holds them all but the end of a long name of an account. */
export const NAME_CHARACTERS_MAX: Readonly<Record<NameField, number>> = {
  ...{ name: 140, reference: 35, iban: 34, ledgerAccount: 35 },
};

/** Controls, line ends, marks of the direction of writing, and what cannot be seen. */
const NOT_PRINTABLE = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

/** As it is stored: without blanks around it, of an IBAN without any, and in capitals. */
export function storedName(field: NameField, given: string): string {
  const text = given.trim().normalize('NFC');
  return field === 'iban' ? text.replaceAll(/\s/g, '').toUpperCase() : text;
}

/** What is wrong with a stored form, as a sentence that goes on from its field; null if nothing is. */
export function nameProblem(field: NameField, text: string): string | null {
  if (NOT_PRINTABLE.test(text)) return 'holds a line break or a character that does not show; leave it out';
  const [length, max] = [Array.from(text).length, NAME_CHARACTERS_MAX[field]];
  return length > max ? `has ${length} characters; it may have ${max}` : null;
}

/** The fields that cannot be stored as they are, each with what is wrong (`nameProblem`). */
export const nameProblems = (fields: OwnNames): { readonly field: NameField; readonly problem: string }[] =>
  (Object.keys(fields) as NameField[]).flatMap((field) => {
    const problem = nameProblem(field, fields[field]!);
    return problem === null ? [] : [{ field, problem }];
  });

const IBAN = /^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/;
/** No check digits are these, though their remainder may hold. */
const NO_CHECK_DIGITS = /^..(?:00|01|99)/;

/** Whether it has the form of an IBAN, and its check digits hold (ISO 13616, remainder by 97). */
export function isIban(text: string): boolean {
  if (!IBAN.test(text) || NO_CHECK_DIGITS.test(text)) return false;
  const turned = text.slice(4) + text.slice(0, 4);
  return BigInt(Array.from(turned, (sign) => Number.parseInt(sign, 36)).join('')) % 97n === 1n;
}

/** Whether it has the form of an IBAN and is none: most likely a character of it is wrong. */
export const isMistypedIban = (text: string): boolean => IBAN.test(text) && !isIban(text);

/** `Settlement, IBAN DE89370400440532013000, ledger account 1210`; empty where there is none. */
export const describedText = ({ name, reference, iban, ledgerAccount }: OwnNames = {}): string =>
  [
    name,
    reference && `reference ${reference}`,
    iban && `${isIban(iban) ? 'IBAN' : 'identifier'} ${iban}`,
    ledgerAccount && `ledger account ${ledgerAccount}`,
  ]
    .filter((text) => text !== undefined)
    .join(', ');

/** The names of a merchant and of its account, the merchant's first; empty where there is none. */
export const namesOfAccount = (names: MerchantNames | undefined, currency: string): string =>
  [names?.own.name, names?.accounts.get(currency)?.name].filter((name) => name !== undefined).join(', ');
