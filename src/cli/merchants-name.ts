/** `merchants name`: display names and own references of a merchant and its accounts. */
import { Option, type Command } from 'commander';
import {
  ACCOUNT_FIELDS,
  describedText,
  FIELD_WORDS,
  isMistypedIban,
  MERCHANT_FIELDS,
  type MerchantNames,
  NAME_CHARACTERS_MAX,
  type NameField,
  nameProblem,
  type Names,
  type OwnNames,
  storedName,
} from '../ledger/names.ts';
import { ownMerchants } from '../run/chosen-merchants.ts';
import { UsageError } from '../run/verdict/exit-codes.ts';
import { addedMerchants, knownMerchants } from '../store/merchants.ts';
import { namesOf, storeNames } from '../store/names.ts';
import { answer, auditEventOf, withBy, type StoreWork } from './context.ts';
import { currencyFlag, merchantNoFlag, unknownMerchant } from './flags.ts';
import { lines } from './output/text.ts';

type NameFlags = OwnNames & { readonly currency?: string; readonly clear?: boolean };

const upTo = (field: NameField): string => `up to ${NAME_CHARACTERS_MAX[field]} characters`;

export function addNameCommand(merchants: Command): void {
  withBy(merchants.command('name'))
    .argument('<no>', 'merchant number')
    .description(
      'give a merchant or an account a display name and own references; without any, show those that it has',
    )
    .option('--currency <code>', 'the account in this currency, and not the merchant itself')
    .option('--name <text>', `display name, ${upTo('name')}`)
    .option(
      '--reference <text>',
      `own reference of the merchant, like its customer number, ${upTo('reference')}`,
    )
    .option('--iban <text>', `IBAN of the account, or another identifier, ${upTo('iban')}`)
    .option('--ledger-account <text>', `number in the general ledger, ${upTo('ledgerAccount')}`)
    .addOption(
      new Option(
        '--clear',
        'remove all names and references of the merchant itself, or with --currency of the account',
      ).conflicts([...['name', 'reference', 'iban', 'ledgerAccount']]),
    )
    .addHelpText(
      'after',
      '\nAn empty text removes what is there: --name "".\n' +
        'Pages and files that are made for a download show names from then on; what is published stays as it is.\n' +
        'camt.053 then names the account by --iban. Tell the ERP that imports it.\n' +
        '\nExamples:\n  daybook merchants name 10001 --name "Acme Ltd" --reference K-20017\n' +
        '  daybook merchants name 10001 --currency USD --name Settlement --iban DE89370400440532013000 --ledger-account 1210',
    )
    .action((no: string, flags: NameFlags, self: Command) =>
      answer(self, async (work) => {
        const merchantNo = merchantNoFlag('merchant', no);
        const currency = flags.currency === undefined ? null : currencyFlag(flags.currency);
        const fields = fieldsOf(flags, currency);
        await assertKnown(work, [merchantNo]);
        const given = [{ merchantNo, currency, fields }];
        const { db, now } = work;
        const event = auditEventOf(self, merchantNo);
        const renamed =
          Object.keys(fields).length === 0
            ? null
            : await db.transaction().execute((trx) => storeNames(trx, given, { event, now: now() }));
        const names = await namesOf(db, [merchantNo]);
        return {
          document: { ...namesDocument(names, merchantNo), ...(renamed && { changed: renamed.length > 0 }) },
          text: lines(
            renamed?.length === 0 && 'nothing changed',
            namesText(merchantNo, names.get(merchantNo)),
            mistypedLine(fields),
          ),
        };
      }),
    );
}

/** What the flags give and remove. Throws `UsageError`. */
function fieldsOf(flags: NameFlags, currency: string | null): OwnNames {
  const own: readonly NameField[] = currency === null ? MERCHANT_FIELDS : ACCOUNT_FIELDS;
  if (flags.clear === true) return Object.fromEntries(own.map((field) => [field, '']));
  const all = Object.keys(FIELD_WORDS) as NameField[];
  return Object.fromEntries(
    all.flatMap((field) => {
      const given = flags[field];
      if (given === undefined) return [];
      const flag = `--${field.replace(/[A-Z]/, (letter) => `-${letter.toLowerCase()}`)}`;
      if (!own.includes(field))
        throw new UsageError(
          currency === null
            ? `${flag} is of an account: say which with --currency CCC.`
            : `${flag} is of the merchant itself: leave --currency out.`,
        );
      const text = storedName(field, given);
      const problem = nameProblem(field, text);
      if (problem !== null) throw new UsageError(`${flag} ${problem}.`);
      return [[field, text]];
    }),
  );
}

/** Throws `UsageError` for a merchant that was not added, that the settings do not name, and that has no figures. */
export async function assertKnown(
  { db, settings }: Pick<StoreWork, 'db' | 'settings'>,
  merchants: readonly string[],
): Promise<void> {
  const added = new Set([...(await addedMerchants(db, merchants)), ...ownMerchants(settings)]);
  const left = merchants.filter((merchantNo) => !added.has(merchantNo));
  if (left.length === 0) return;
  const known = await knownMerchants(db, left);
  const unknown = left.find((merchantNo) => !known.has(merchantNo));
  if (unknown !== undefined) throw unknownMerchant(unknown);
}

/** The names of a merchant and of its accounts, for `--json`. */
export function namesDocument(names: Names, merchantNo: string) {
  const { own, accounts } = names.get(merchantNo) ?? { own: {}, accounts: new Map<string, OwnNames>() };
  return {
    merchantNo,
    name: own.name ?? null,
    reference: own.reference ?? null,
    accounts: [...accounts].map(([currency, { name = null, iban = null, ledgerAccount = null }]) => ({
      ...{ currency, name, iban, ledgerAccount },
    })),
  };
}

function namesText(merchantNo: string, names: MerchantNames | undefined): string {
  if (names === undefined) return `${merchantNo} has no names`;
  const own = describedText(names.own);
  return lines(
    own !== '' && `${merchantNo}: ${own}`,
    ...[...names.accounts].map(([currency, of]) => `${merchantNo} ${currency}: ${describedText(of)}`),
  );
}

/** An IBAN with a mistake in it would name no account. */
export const mistypedLine = ({ iban = '' }: OwnNames): string | false =>
  isMistypedIban(iban) &&
  `the check digits of ${iban} are wrong: if it is meant as an IBAN, give it again. camt.053 has it as another identifier`;
