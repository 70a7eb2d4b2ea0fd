/** `merchants import`: adds many merchants, or gives them new tokens and names, from one file. Tokens never reach an output. */
import { readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import { chmodText, isTooOpen, modeText } from '../host/files.ts';
import { dayOf, dayWindow } from '../ledger/business-day.ts';
import { TOKEN, TOKEN_RULE } from '../ledger/merchant-no.ts';
import { firstNamed } from '../ledger/text.ts';
import { isPlatformError } from '../platform/errors.ts';
import { clockOf, openPlatform } from '../run/app.ts';
import { EXIT, UsageError } from '../run/verdict/exit-codes.ts';
import type { Settings } from '../settings/settings.ts';
import { recordAuditEvents } from '../store/audit.ts';
import { planNames, storeNames } from '../store/names.ts';
import { planImport, storeImport, type ImportPlan, type MerchantToken } from '../store/merchants.ts';
import { adoptSecretKey, assertSecretKeys } from '../store/secrets/key-check.ts';
import {
  answerWith,
  auditEventOf,
  collect,
  offlineSettings,
  platformSettings,
  stopSignal,
  withBy,
} from './context.ts';
import { inputText } from './input-file.ts';
import { type ListedMerchant, listRefused, readMerchantList } from './merchant-list.ts';
import { assertKnown, mistypedLine } from './merchants-name.ts';
import { counted, lines } from './output/text.ts';

interface ImportFlags {
  readonly check?: boolean;
  readonly dryRun?: boolean;
  readonly merchant: readonly string[];
}

/** Merchants that are named one by one; the others are counted. */
const NAMED_MAX = 20;
const BYTES_MAX = 64 * 1_048_576;

export function addImportCommand(merchants: Command): void {
  withBy(merchants.command('import'))
    .argument('<file>', 'CSV, YAML or JSON: each merchant with its number, its token and its names')
    .description(
      'add many merchants, or give them new tokens or names; a disabled one stays disabled (tokens need DAYBOOK_SECRET_KEYS)',
    )
    .option('--merchant <no>', 'only this merchant of the file (may be repeated)', collect, [])
    .option('--check', 'make one call with each token first; what the platform refuses is not stored')
    .option('--dry-run', 'only say what would change')
    .addHelpText(
      'after',
      '\nThe file, as CSV (or a list of the same fields in YAML or JSON):\n' +
        '  merchantNo,token\n  10001,the-token-of-10001\n' +
        'In place of token: tokenEnv, a variable of the environment; tokenFile, a file relative to this one.\n' +
        'Also name and reference, as `merchants name` gives them; a known merchant then needs no token. YAML and JSON take\n' +
        'accounts, too: {USD: {name: Settlement, iban: DE89370400440532013000, ledgerAccount: "1210"}}.\n' +
        'A name that is left out stays; in YAML and JSON an empty text ("") removes it.\n' +
        'A problem anywhere in the file stores nothing. The same file again changes nothing.\n' +
        '\nExample:\n  daybook merchants import merchants.csv --dry-run',
    )
    .action(importMerchants);
}

async function importMerchants(path: string, flags: ImportFlags, self: Command): Promise<void> {
  const { check: isChecked = false, dryRun: isDryRun = false } = flags;
  const listed = chosen(await readMerchantList(inputText(path, BYTES_MAX), path), flags.merchant, path);
  if (listed.some(({ token }) => token !== undefined)) assertPrivate(path);
  const variables = listed.flatMap(({ tokenEnv }) => tokenEnv ?? []);
  const settings = offlineSettings(self, variables);
  const given = tokensOf(listed, path);
  const refused: ReadonlyMap<string, string> = isChecked
    ? await refusedOf(given, platformSettings(self, variables))
    : new Map();
  const merchants = given.filter(({ merchantNo }) => !refused.has(merchantNo));
  await answerWith(settings, self, async ({ db, now }) => {
    const { secretKeys } = settings;
    const names = listed.flatMap((one) => (refused.has(one.merchantNo) ? [] : one.names));
    await assertKnown({ db, settings }, numbersOf(listed.filter((one) => !hasToken(one))));
    if (given.length > 0) await (isDryRun ? assertSecretKeys : adoptSecretKey)(db, secretKeys);
    const [plan, renamed] = isDryRun
      ? [await planImport(db, merchants, secretKeys), await planNames(db, names)]
      : await db.transaction().execute(async (trx) => {
          const done = await storeImport(trx, { merchants, secretKeys, now: now() });
          const event = auditEventOf(self, path);
          const events = [...done.added, ...done.changed].map((subject) => ({ ...event, subject }));
          await recordAuditEvents(trx, events, now());
          return [done, await storeNames(trx, names, { event, now: now() })];
        });
    const problems = [...refused].map(([merchantNo, problem]) => ({ merchantNo, problem }));
    const all = { ...plan, renamed: [...new Set(numbersOf(renamed))] };
    return {
      document: { file: path, dryRun: isDryRun, checked: isChecked, ...all, refused: problems },
      text: lines(
        importText(all, { path, all: listed.length, isDryRun, refused }),
        ...names
          .map(({ fields }) => mistypedLine(fields))
          .filter((text) => text !== false)
          .slice(0, NAMED_MAX),
      ),
      exitCode: refused.size > 0 ? EXIT.incomplete : EXIT.done,
    };
  });
}

const numbersOf = (all: readonly { readonly merchantNo: string }[]): string[] =>
  all.map(({ merchantNo }) => merchantNo);

const hasToken = ({ token, tokenEnv, tokenFile }: ListedMerchant): boolean =>
  (token ?? tokenEnv ?? tokenFile) !== undefined;

/** Throws `UsageError` where others may open a file that holds tokens. */
function assertPrivate(path: string): void {
  const { mode } = statSync(path);
  if (!isTooOpen(mode, 'group')) return;
  const remedy = chmodText(path, 'group').replace(' -R', '');
  throw new UsageError(
    `${path} holds tokens, and others may open it (mode ${modeText(mode)}): \`${remedy}\`.`,
  );
}

/** Those that `--merchant` names, or all. Throws `UsageError` for a name that the file does not have. */
function chosen(
  listed: readonly ListedMerchant[],
  asked: readonly string[],
  path: string,
): readonly ListedMerchant[] {
  const missing = asked.filter((no) => !listed.some(({ merchantNo }) => merchantNo === no));
  if (missing.length > 0) throw new UsageError(`${path} has no merchant ${missing.join(', ')}.`);
  return asked.length === 0 ? listed : listed.filter(({ merchantNo }) => asked.includes(merchantNo));
}

/** The tokens, wherever they are. Throws `UsageError` with every problem. */
function tokensOf(listed: readonly ListedMerchant[], path: string): MerchantToken[] {
  const problems: { readonly place: string; readonly problem: string }[] = [];
  const tokens = listed.filter(hasToken).map((one) => {
    const { merchantNo, place, tokenEnv, tokenFile } = one;
    const source = tokenEnv === undefined ? tokenFile && ` in ${tokenFile}` : ` of the variable ${tokenEnv}`;
    const token = tokenOf(one, path)?.trim() ?? '';
    if (token === '') problems.push({ place, problem: `the token${source ?? ''} is missing or empty` });
    else if (!TOKEN.test(token)) problems.push({ place, problem: `the token${source ?? ''} ${TOKEN_RULE}` });
    return { merchantNo, token };
  });
  if (problems.length > 0) throw listRefused(path, problems);
  return tokens;
}

function tokenOf({ token, tokenEnv, tokenFile }: ListedMerchant, path: string): string | undefined {
  if (tokenEnv !== undefined) return process.env[tokenEnv];
  if (tokenFile === undefined) return token;
  try {
    return readFileSync(resolve(dirname(path), tokenFile), 'utf8');
  } catch {
    return undefined;
  }
}

/** Tries tokens: each by one page of today's ledger. `try` throws the platform's refusal. */
export function openTokenCheck(settings: Settings) {
  const platform = openPlatform(settings, {});
  const { timeZone } = settings.platform;
  const window = dayWindow(dayOf(clockOf(settings)().getTime(), timeZone), timeZone);
  const signal = stopSignal();
  return {
    try: async (merchant: MerchantToken): Promise<void> => {
      await platform.reader.page({ merchant, window, pageNum: 1 }, signal);
    },
    close: () => platform.close(),
  };
}

/** Merchants whose token the platform did not take, with the reason. */
async function refusedOf(
  given: readonly MerchantToken[],
  settings: Settings,
): Promise<ReadonlyMap<string, string>> {
  const check = openTokenCheck(settings);
  const refused = new Map<string, string>();
  try {
    await Promise.all(
      given.map(async (merchant) => {
        try {
          await check.try(merchant);
        } catch (error) {
          if (!isPlatformError(error)) throw error;
          refused.set(merchant.merchantNo, error.message);
        }
      }),
    );
  } finally {
    await check.close();
  }
  return refused;
}

interface Imported {
  readonly path: string;
  readonly all: number;
  readonly isDryRun: boolean;
  readonly refused: ReadonlyMap<string, string>;
}

function importText(
  { added, changed, disabled, renamed }: ImportPlan & { readonly renamed: readonly string[] },
  { path, all, isDryRun, refused }: Imported,
): string {
  const touched = new Set([...added, ...changed, ...renamed, ...refused.keys()]);
  const unchanged = all - touched.size;
  const counts = [
    added.length > 0 && `${added.length.toLocaleString('en')} added`,
    changed.length > 0 && `${changed.length.toLocaleString('en')} with a new token`,
    renamed.length > 0 && `${renamed.length.toLocaleString('en')} with other names`,
    unchanged > 0 && `${unchanged.toLocaleString('en')} unchanged`,
    refused.size > 0 && `${refused.size.toLocaleString('en')} refused and not stored`,
  ].filter((part) => part !== false);
  return lines(
    `${counted(all, 'merchant')} of ${path}: ${counts.join(', ')}${isDryRun ? ' (dry run: nothing was stored)' : ''}`,
    disabled.length > 0 &&
      `still disabled: ${firstNamed(disabled, NAMED_MAX)}; \`daybook merchants enable NO\` reads their ledgers again`,
    ...[...refused]
      .slice(0, NAMED_MAX)
      .map(([merchantNo, problem]) => `not stored: ${merchantNo}: ${problem}`),
    refused.size > NAMED_MAX && `not stored: ${refused.size - NAMED_MAX} more; --json has all`,
  );
}
