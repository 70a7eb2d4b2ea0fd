/** `/names/MERCHANT`: the display names and own references of a merchant and its accounts, which an operator changes. */
import { sha256Of } from '../../../host/sha256.ts';
import {
  ACCOUNT_FIELDS,
  MERCHANT_FIELDS,
  nameProblems,
  type NameField,
  type Names,
  type NamesGiven,
  storedName,
} from '../../../ledger/names.ts';
import { ownMerchants } from '../../../run/chosen-merchants.ts';
import { accountsPage } from '../../../store/day-facts.ts';
import { knownMerchants } from '../../../store/merchants.ts';
import { IbanTaken, namesAt, namesOf, storeNames } from '../../../store/names.ts';
import { namesAddress } from '../html/addresses.ts';
import { inputName, namesPage } from '../html/names.ts';
import type { Said } from '../html/view.ts';
import {
  merchantIn,
  PageRefusal,
  type Asked,
  type DoForm,
  type MakePage,
  type PagesContext,
} from './context.ts';

export const showNames: MakePage = async (context, asked) => {
  const stored = await storedNames(context, asked);
  const said = asked.query('done') === null ? null : { text: asked.view.texts.names.done, isWrong: false };
  return shownNames(asked, stored, stored.names, said);
};

export const doNames: DoForm = async (context, asked) => {
  const stored = await storedNames(context, asked);
  const given = givenIn(asked, stored);
  const text =
    asked.field('seen') === seenOf(stored)
      ? (problemOf(asked, given) ?? ibanProblem(asked, stored, given) ?? (await store(context, asked, given)))
      : asked.view.texts.names.changedMeanwhile;
  if (text === null) return { doneAt: `${namesAddress(stored.merchantNo)}?done=yes` };
  const typed: Names = new Map([
    [
      stored.merchantNo,
      {
        own: given[0]!.fields,
        accounts: new Map(given.slice(1).map(({ currency, fields }) => [currency!, fields])),
      },
    ],
  ]);
  return { refusedPage: shownNames(asked, stored, typed, { text, isWrong: true }) };
};

interface StoredNames {
  readonly merchantNo: string;
  readonly names: Names;
  readonly currencies: readonly string[];
}

/** More than any merchant has. */
const ACCOUNTS_MAX = 200;

/** Throws `PageRefusal` for a merchant that is not known. */
async function storedNames({ db, settings }: PagesContext, asked: Asked): Promise<StoredNames> {
  const merchantNo = merchantIn(asked);
  const [known, names, accounts] = await Promise.all([
    knownMerchants(db, [merchantNo]),
    namesOf(db, [merchantNo]),
    accountsPage(db, { merchants: [merchantNo], contains: '', after: null, limit: ACCOUNTS_MAX }),
  ]);
  if (!known.has(merchantNo) && !ownMerchants(settings).includes(merchantNo)) throw new PageRefusal(404);
  const named = [...(names.get(merchantNo)?.accounts.keys() ?? [])];
  const currencies = new Set([...accounts.map(({ currency }) => currency), ...named]);
  return { merchantNo, names, currencies: [...currencies].sort() };
}

const shownNames = ({ view }: Asked, stored: StoredNames, typed: Names, said: Said | null): string =>
  namesPage({ ...view, names: stored.names }, { ...stored, typed, seen: seenOf(stored), said });

/** Every field of the form, of the merchant first. */
function fieldsOf<Value>(
  { merchantNo, currencies }: StoredNames,
  valueOf: (at: Omit<NamesGiven, 'fields'>, field: NameField) => Value,
): (Omit<NamesGiven, 'fields'> & { readonly fields: Readonly<Partial<Record<NameField, Value>>> })[] {
  const of = (currency: string | null, own: readonly NameField[]) => {
    const at = { merchantNo, currency };
    return { ...at, fields: Object.fromEntries(own.map((field) => [field, valueOf(at, field)])) };
  };
  return [of(null, MERCHANT_FIELDS), ...currencies.map((currency) => of(currency, ACCOUNT_FIELDS))];
}

const seenOf = (stored: StoredNames): string =>
  sha256Of(JSON.stringify(fieldsOf(stored, (at, field) => namesAt(stored.names, at)[field] ?? '')));

const givenIn = ({ field: typed }: Asked, stored: StoredNames): NamesGiven[] =>
  fieldsOf(stored, ({ currency }, field) => storedName(field, typed(inputName(field, currency)) ?? ''));

/** Of the first field that cannot be stored. */
function problemOf({ view: { texts } }: Asked, given: readonly NamesGiven[]): string | null {
  const [first] = given.flatMap(({ merchantNo, currency, fields }) => {
    const of = currency === null ? merchantNo : `${merchantNo} ${currency}`;
    return nameProblems(fields).map(({ field, problem }) =>
      texts.names.wrong(of, texts.names[field], problem),
    );
  });
  return first ?? null;
}

/**
 * Whether an IBAN is free says whether an account has it, of whatever merchant. So who may not see all merchants changes none, and gets the
 * same answer for each.
 */
function ibanProblem(
  { person, view: { texts } }: Asked,
  stored: StoredNames,
  given: readonly NamesGiven[],
): string | null {
  const isChanged = given.some((one) => {
    const { iban } = one.fields;
    return iban !== undefined && iban !== (namesAt(stored.names, one).iban ?? '');
  });
  return person.merchants !== null && isChanged ? texts.names.ibanOfAll : null;
}

/** Stores them as `daybook merchants name` does; returns what to say where it cannot be done. */
async function store(
  { db, now }: PagesContext,
  { person, view: { texts } }: Asked,
  given: readonly NamesGiven[],
): Promise<string | null> {
  const event = { by: person.name, command: 'merchants name' };
  try {
    await db.transaction().execute((trx) => storeNames(trx, given, { event, now: now() }));
    return null;
  } catch (error) {
    // Its message may name a merchant that this person may not see.
    if (error instanceof IbanTaken) return texts.names.ibanTaken;
    throw error;
  }
}
