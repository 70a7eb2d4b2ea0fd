/** Stores the display names and own references of merchants and accounts (table `account_name`). Each change is an audit event. */
import { sql } from 'kysely';
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import {
  FIELD_WORDS,
  type MerchantNames,
  type NameField,
  type Names,
  type NamesGiven,
  type OwnNames,
} from '../ledger/names.ts';
import { ofMerchants, storedCurrency } from './account-filter.ts';
import { recordAuditEvents, type AuditEvent } from './audit.ts';
import { arrayLiteral, type Db, rowsOf, type Trx } from './engine/database.ts';
import type { Chosen } from '../ledger/account-filter.ts';

/** Another account of the currency has this IBAN already. */
export class IbanTaken extends ExpectedError {
  override readonly name = 'IbanTaken';
  readonly exitCode = EXIT.usage;
}

type Row = { readonly merchantNo: string; readonly currency: string } & Readonly<
  Record<NameField, string | null>
>;

const FIELDS = Object.keys(FIELD_WORDS) as NameField[];

/** Of these merchants, or of all. */
export async function namesOf(db: Db, merchants: Chosen): Promise<Names> {
  const rows = await rowsOf(db)<Row>`
    SELECT merchant_no AS "merchantNo", currency, name, reference, iban, ledger_account AS "ledgerAccount"
    FROM account_name WHERE ${ofMerchants(merchants)} ORDER BY merchant_no, currency`;
  const given = rows.map((row) => ({ ...row, names: namesIn(row) })).filter(({ names }) => hasAny(names));
  return new Map(
    [...Map.groupBy(given, ({ merchantNo }) => merchantNo)].map(
      ([merchantNo, own]): [string, MerchantNames] => {
        const byCurrency = new Map(own.map(({ currency, names }) => [currency, names]));
        const ofMerchant = byCurrency.get(storedCurrency(null)) ?? {};
        byCurrency.delete(storedCurrency(null));
        return [merchantNo, { own: ofMerchant, accounts: byCurrency }];
      },
    ),
  );
}

/** Undefined where it has none. */
export const namesOfMerchant = async (db: Db, merchantNo: string): Promise<MerchantNames | undefined> =>
  (await namesOf(db, [merchantNo])).get(merchantNo);

const namesIn = (row: Row): OwnNames =>
  Object.fromEntries(FIELDS.flatMap((field) => (row[field] === null ? [] : [[field, row[field]]])));

const hasAny = (names: OwnNames): boolean => Object.keys(names).length > 0;

/** The names of a merchant or of one of its accounts. */
export const namesAt = (names: Names, { merchantNo, currency }: Omit<NamesGiven, 'fields'>): OwnNames =>
  (currency === null ? names.get(merchantNo)?.own : names.get(merchantNo)?.accounts.get(currency)) ?? {};

export interface Renamed {
  readonly merchantNo: string;
  readonly currency: string | null;
  readonly after: OwnNames;
  /** `name: Acme (before: none)`, for the record. */
  readonly note: string;
}

/** What giving these would change. Throws `IbanTaken`. */
export async function planNames(db: Db, given: readonly NamesGiven[]): Promise<Renamed[]> {
  const names = await namesOf(db, [...new Set(given.map(({ merchantNo }) => merchantNo))]);
  const renamed = given.flatMap((one): Renamed[] => {
    const before = namesAt(names, one);
    const changed = FIELDS.filter(
      (field) => (one.fields[field] ?? before[field] ?? '') !== (before[field] ?? ''),
    );
    if (changed.length === 0) return [];
    const all = Object.entries({ ...before, ...one.fields }).filter(([, text]) => text !== '');
    const note = changed.map(
      (field) => `${FIELD_WORDS[field]}: ${one.fields[field] || 'none'} (before: ${before[field] ?? 'none'})`,
    );
    const { merchantNo, currency } = one;
    return [{ merchantNo, currency, after: Object.fromEntries(all), note: note.join('; ') }];
  });
  await assertIbansFree(db, renamed);
  return renamed;
}

/** An importer that goes by IBAN and currency would book two accounts as one. */
async function assertIbansFree(db: Db, renamed: readonly Renamed[]): Promise<void> {
  const wanted = renamed.filter(({ after }) => after.iban !== undefined);
  if (wanted.length === 0) return;
  const ibans = arrayLiteral(wanted.map(({ after }) => after.iban!));
  const rows = await rowsOf(db)<{ merchantNo: string; currency: string; iban: string }>`
    SELECT merchant_no AS "merchantNo", currency, iban FROM account_name WHERE iban = ANY (${ibans}::text[])`;
  const changing = new Set(renamed.map(({ merchantNo, currency }) => `${currency!} ${merchantNo}`));
  const holders = new Map(
    rows
      .filter(({ merchantNo, currency }) => !changing.has(`${currency} ${merchantNo}`))
      .map(({ merchantNo, currency, iban }) => [`${currency} ${iban}`, merchantNo]),
  );
  for (const { merchantNo, currency, after } of wanted) {
    const holder = holders.get(`${currency!} ${after.iban!}`);
    if (holder !== undefined)
      throw new IbanTaken(
        `${after.iban!} is the IBAN of account ${holder} ${currency!} already, and nothing was stored: give each account of a currency its own.`,
      );
    holders.set(`${currency!} ${after.iban!}`, merchantNo);
  }
}

/** Gives names and records who did it, an audit event for each merchant and account that changes. Throws `IbanTaken`. */
export async function storeNames(
  trx: Trx,
  given: readonly NamesGiven[],
  { event, now }: { readonly event: Pick<AuditEvent, 'by' | 'command'>; readonly now: Date },
): Promise<Renamed[]> {
  // One at a time: what is there before goes into the record, and no IBAN is given twice.
  await sql`LOCK TABLE account_name IN SHARE ROW EXCLUSIVE MODE`.execute(trx);
  const renamed = await planNames(trx, given);
  if (renamed.length === 0) return renamed;
  const column = (of: (one: Renamed) => string | null) => sql`${arrayLiteral(renamed.map(of))}::text[]`;
  await sql`
    INSERT INTO account_name (merchant_no, currency, name, reference, iban, ledger_account)
    SELECT * FROM unnest(${column(({ merchantNo }) => merchantNo)}, ${column((one) => storedCurrency(one.currency))},
      ${column(({ after }) => after.name ?? null)}, ${column(({ after }) => after.reference ?? null)},
      ${column(({ after }) => after.iban ?? null)}, ${column(({ after }) => after.ledgerAccount ?? null)})
    ON CONFLICT (merchant_no, currency) DO UPDATE SET name = excluded.name, reference = excluded.reference,
      iban = excluded.iban, ledger_account = excluded.ledger_account`.execute(trx);
  const events = renamed.map(({ merchantNo, currency, note }) => ({
    ...{ ...event, note },
    subject: currency === null ? merchantNo : `${merchantNo} ${currency}`,
  }));
  await recordAuditEvents(trx, events, now);
  return renamed;
}
