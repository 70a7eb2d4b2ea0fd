/** `merchants`: whose ledgers are synced. Tokens come by stdin or the environment, as other users can see arguments. */
import { shellWord } from '../ledger/text.ts';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { TOKEN, TOKEN_RULE } from '../ledger/merchant-no.ts';
import { headerText } from '../platform/access.ts';
import { UsageError, EXIT } from '../run/verdict/exit-codes.ts';
import type { SettingsMerchant } from '../platform/settings.ts';
import type { Settings } from '../settings/settings.ts';
import { recordAuditEvent } from '../store/audit.ts';
import {
  addMerchant,
  disableMerchant,
  listMerchants,
  setMerchantStatus,
  type MerchantRow,
} from '../store/merchants.ts';
import { namesOf } from '../store/names.ts';
import { adoptSecretKey, rekey, type RekeyReport } from '../store/secrets/key-check.ts';
import {
  answer,
  answerWith,
  auditEventOf,
  offlineSettings,
  platformSettings,
  withBy,
  type GlobalFlags,
} from './context.ts';
import {
  merchantNoFlag,
  pageBehind,
  pageOf,
  unknownMerchant,
  withPageFlags,
  type PageFlags,
} from './flags.ts';
import { addImportCommand, openTokenCheck } from './merchants-import.ts';
import { addNameCommand, namesDocument } from './merchants-name.ts';
import { counted, lines, longTable, nextLine, type Times } from './output/text.ts';

interface AddFlags {
  readonly merchantNo: string;
  readonly tokenStdin?: boolean;
  readonly tokenEnv?: string;
  readonly check?: boolean;
}

export function merchantsCommand(merchants: Command): void {
  addAddCommand(merchants);
  addImportCommand(merchants);
  addNameCommand(merchants);
  addListCommand(merchants);
  addStatusCommand(merchants, 'enable', 'sync a merchant’s ledger again, with the token it has');
  addStatusCommand(merchants, 'disable', 'stop syncing a merchant; what is stored stays');
  addRekeyCommand(merchants);
}

function addAddCommand(merchants: Command): void {
  withBy(merchants.command('add'))
    .description(
      'add a merchant, or give one a new token; the token is stored encrypted (needs DAYBOOK_SECRET_KEYS)',
    )
    .requiredOption('--merchant-no <no>', 'the platform’s merchant number')
    .option('--token-stdin', 'read the token from stdin')
    .option('--token-env <variable>', 'read the token from this environment variable')
    .option('--check', 'make one call with it first; where the platform refuses it, nothing is stored')
    .addHelpText('after', '\nExample:\n  daybook merchants add --merchant-no 10001 --token-stdin < token.txt')
    .action(async (flags: AddFlags, self: Command) => {
      const merchantNo = merchantNoFlag('--merchant-no', flags.merchantNo);
      const otherNames = flags.tokenEnv === undefined ? [] : [flags.tokenEnv];
      const settings = offlineSettings(self, otherNames);
      const token = await tokenFrom(flags);
      if (flags.check === true) await tryToken(platformSettings(self, otherNames), { merchantNo, token });
      await answerWith(settings, self, async ({ db, recorded }) => {
        const { secretKeys } = settings;
        await adoptSecretKey(db, secretKeys);
        const { added, isDisabled } = await recorded({ subject: merchantNo }, (trx, now) =>
          addMerchant(trx, { merchantNo, token, secretKeys, now }),
        );
        const took = flags.check === true ? ', and the platform takes its token' : '';
        const header = headerText(merchantNo);
        const carried =
          header === merchantNo
            ? ''
            : `. Headers carry its number percent-encoded (PLATFORM_HEADERS): ${header}`;
        const next = isDisabled
          ? `it stays disabled: \`daybook merchants enable ${shellWord(merchantNo)}\` reads its ledger again`
          : 'the next run reads its ledger';
        return {
          document: {
            merchantNo,
            added,
            enabled: false,
            disabled: isDisabled,
            checked: flags.check === true,
          },
          text: `merchant ${merchantNo} ${added ? 'is added' : 'has a new token'}${took}; ${next}${carried}`,
        };
      });
    });
}

async function tryToken(settings: Settings, merchant: SettingsMerchant): Promise<void> {
  const check = openTokenCheck(settings);
  try {
    await check.try(merchant);
  } finally {
    await check.close();
  }
}

function addListCommand(merchants: Command): void {
  withPageFlags(merchants.command('list'), 'no')
    .description('the merchants, tokens left out')
    .option('--all', 'every merchant, however many there are')
    .option('--status <status>', 'only active or disabled ones')
    .action((flags: ListFlags, self: Command) =>
      answer(self, async ({ db, settings, times }) => {
        const { json = false } = self.optsWithGlobals<GlobalFlags>();
        const place = pageOf(flags, json || flags.all === true);
        const status = statusFlag(flags.status);
        const stored = await listMerchants(db);
        const own = settings.platform?.merchant?.merchantNo;
        const rows: ListedMerchant[] = stored.map((row) => ({ ...row, source: 'database' }));
        if (own !== undefined && !stored.some(({ merchantNo }) => merchantNo === own))
          rows.push({
            ...{ merchantNo: own, status: 'active', hasToken: true, addedAt: new Date(0), joinedAt: null },
            source: 'settings',
          });
        const wanted = rows
          .filter((row) => status === null || row.status === status)
          .sort((a, b) => (a.merchantNo < b.merchantNo ? -1 : 1));
        const { shown, next } = pageBehind(wanted, ({ merchantNo }) => merchantNo, place);
        const names = await namesOf(
          db,
          shown.map(({ merchantNo }) => merchantNo),
        );
        const named = shown.map((row) => ({ ...row, ...namesDocument(names, row.merchantNo) }));
        return { document: named, text: listText(named, next, times) };
      }),
    );
}

type ListedMerchant = MerchantRow & { readonly source: 'database' | 'settings' };

interface ListFlags extends PageFlags {
  readonly all?: boolean;
  readonly status?: string;
}

function statusFlag(text: string | undefined): string | null {
  if (text === undefined || text === 'active' || text === 'disabled') return text ?? null;
  throw new UsageError(`--status ${text} is none of a merchant; write active or disabled.`);
}

type NamedMerchant = ListedMerchant & ReturnType<typeof namesDocument>;

function listText(rows: readonly NamedMerchant[], next: string | null, times: Times): string {
  if (rows.length === 0)
    return 'no such merchant; `daybook merchants add --merchant-no NO --token-stdin` adds one';
  return lines(
    longTable(rows, {
      merchant: ({ merchantNo }) => merchantNo,
      ...(rows.some(({ name }) => name !== null) && { '~name': ({ name }: NamedMerchant) => name }),
      ...(rows.some(({ reference }) => reference !== null) && {
        '?reference': ({ reference }: NamedMerchant) => reference,
      }),
      status: ({ status }) => status,
      '~token': ({ hasToken, source }) =>
        hasToken ? (source === 'settings' ? 'from the settings' : 'stored') : 'none',
      '?added': ({ addedAt, source }) => (source === 'settings' ? '' : times.at(addedAt)),
      '~joined the nightly job': ({ joinedAt, source }) =>
        source === 'settings' ? 'yes' : times.at(joinedAt) || 'not yet: known by its approval',
    }),
    nextLine(rows.length, 'merchant', next),
    times.note,
  );
}

function addStatusCommand(merchants: Command, word: 'enable' | 'disable', description: string): void {
  const status = word === 'enable' ? 'active' : 'disabled';
  withBy(merchants.command(word))
    .argument('<no>', 'merchant number')
    .description(description)
    .action(async (given: string, _flags: object, self: Command) => {
      const merchantNo = merchantNoFlag('merchant', given);
      const settings = offlineSettings(self);
      const isOfSettings = settings.platform?.merchant?.merchantNo === merchantNo;
      if (word === 'disable' && isOfSettings) throw ofSettings(merchantNo);
      await answerWith(settings, self, async ({ recorded }) => {
        const hasToken = await recorded({ subject: merchantNo }, async (trx, at) => {
          if (word === 'disable' && (await disableMerchant(trx, merchantNo, at))) return true;
          const known = word === 'disable' ? null : await setMerchantStatus(trx, merchantNo, status, at);
          if (known !== null) return known.hasToken;
          throw unknownMerchant(merchantNo);
        });
        const lacks =
          word === 'enable' && !hasToken && !isOfSettings
            ? `; it has no token yet: \`daybook merchants add --merchant-no ${shellWord(merchantNo)} --token-stdin\``
            : '';
        return { document: { merchantNo, status }, text: `merchant ${merchantNo} is ${word}d${lacks}` };
      });
    });
}

/** The ledger of the merchant of the settings is always read. */
const ofSettings = (merchantNo: string): UsageError =>
  new UsageError(
    `merchant ${merchantNo} is the one of the settings, and read for as long as they name it: take PLATFORM_MERCHANT_NO ` +
      'and PLATFORM_TOKEN out of the environment (platform.merchantNo and platform.token out of the file).',
  );

async function tokenFrom({ tokenStdin, tokenEnv }: AddFlags): Promise<string> {
  if ((tokenStdin === true) === (tokenEnv !== undefined))
    throw new UsageError('give the token by --token-stdin or --token-env VARIABLE, one of the two.');
  const given = tokenEnv === undefined ? await text(process.stdin) : process.env[tokenEnv];
  if (given === undefined)
    throw new UsageError(`the environment has no ${tokenEnv ?? ''}; set it to the token.`);
  const token = given.trim();
  if (token === '') throw new UsageError('the token is empty.');
  if (!TOKEN.test(token)) throw new UsageError(`the token ${TOKEN_RULE}; give the token alone.`);
  return token;
}

/** Tokens are added here, so their key is changed here. */
function addRekeyCommand(merchants: Command): void {
  withBy(merchants.command('rekey'))
    .description(
      'encrypt every stored token, application, beneficiary and notification with the first secret key',
    )
    .addHelpText(
      'after',
      '\nTo change keys: put a new one in front in DAYBOOK_SECRET_KEYS, restart what runs, `daybook merchants rekey`,\n' +
        'then remove the keys that it reports as no longer needed. It can be stopped and started again at any time.',
    )
    .action((_flags: object, self: Command) =>
      answer(self, async ({ db, now, settings: { secretKeys } }) => {
        // Recorded first: the work takes many transactions and may be stopped between two of them.
        await recordAuditEvent(db, auditEventOf(self, secretKeys[0]?.id ?? 'no key'), now());
        const report = await rekey(db, secretKeys);
        const exitCode = report.unreadable > 0 ? EXIT.needsPerson : EXIT.done;
        return { document: report, text: rekeyText(report), exitCode };
      }),
    );
}

function rekeyText({ keyId, rekeyed, unreadable, problems, idle }: RekeyReport): string {
  const changed = rekeyed.filter(({ count }) => count > 0);
  const unnamed = unreadable - problems.length;
  return lines(
    changed.length === 0 && `nothing to do: everything readable is encrypted with key "${keyId}"`,
    ...changed.map(
      ({ table, column, count }) => `${counted(count, 'row')} of ${table} (${column}) now under "${keyId}"`,
    ),
    unreadable > 0 && `${counted(unreadable, 'row')} left as they are:`,
    ...problems.map((problem) => `  ${problem}`),
    unnamed > 0 && `  and ${unnamed} more`,
    idle.length > 0 &&
      `no longer needed: ${idle.map((id) => `"${id}"`).join(', ')}; remove from DAYBOOK_SECRET_KEYS`,
  );
}
