/** `merchants`: whose ledgers are synced. Tokens come by stdin or environment, never as an argument others can see. */
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { UsageError } from '../run/exit-codes.ts';
import { adoptSecretKey } from '../store/key-check.ts';
import { addMerchant, disableMerchant, listMerchants } from '../store/merchants.ts';
import { offlineSettings, tell, withHouse } from './context.ts';
import { deedOf, doneBy, withBy } from './deeds.ts';
import { table } from './text.ts';

/** platform-api.md 6.1, 8. */
const MERCHANT_NO_MAX = 32;

interface AddFlags {
  readonly merchantNo: string;
  readonly tokenStdin?: boolean;
  readonly tokenEnv?: string;
}

export function addMerchantsCommand(program: Command): void {
  const merchants = program.command('merchants').description('whose ledgers to sync');
  withBy(merchants.command('add'))
    .description(
      'add a merchant, or give one a new token; the token is stored encrypted (needs DAYBOOK_SECRET_KEYS)',
    )
    .requiredOption('--merchant-no <no>', 'the platform’s merchant number')
    .option('--token-stdin', 'read the token from stdin')
    .option('--token-env <variable>', 'read the token from this environment variable')
    .addHelpText('after', '\nExample:\n  daybook merchants add --merchant-no 10001 --token-stdin < token.txt')
    .action(async (flags: AddFlags, self: Command) => {
      const { merchantNo } = flags;
      if (!/^\S{1,32}$/.test(merchantNo))
        throw new UsageError(`--merchant-no takes 1 to ${MERCHANT_NO_MAX} characters without spaces.`);
      const settings = offlineSettings(self, flags.tokenEnv === undefined ? [] : [flags.tokenEnv]);
      const token = await tokenFrom(flags);
      await withHouse(settings, async ({ database, now }) => {
        await adoptSecretKey(database.db, settings.secretKeys);
        const merchant = { merchantNo, token, secretKeys: settings.secretKeys, now: now() };
        const { added } = await doneBy(database.db, deedOf(self, merchantNo), now(), (trx) =>
          addMerchant(trx, merchant),
        );
        tell(self, {
          document: { merchantNo, added },
          text: added
            ? `merchant ${merchantNo} is added; the next run reads its ledger`
            : `merchant ${merchantNo} has a new token`,
        });
      });
    });
  merchants
    .command('list')
    .description('every merchant, tokens left out')
    .action(async (_flags: object, self: Command) => {
      const settings = offlineSettings(self);
      await withHouse(settings, async ({ database }) => {
        const stored = await listMerchants(database.db);
        const own = settings.platform?.merchant?.merchantNo;
        const rows = stored.map((row) => ({ ...row, source: 'database' }));
        if (own !== undefined && !stored.some(({ merchantNo }) => merchantNo === own))
          rows.push({
            merchantNo: own,
            status: 'active',
            hasToken: true,
            addedAt: new Date(0),
            joinedAt: null,
            source: 'settings',
          });
        tell(self, {
          document: rows,
          text:
            rows.length === 0
              ? 'no merchant yet; add one with `daybook merchants add`'
              : table(
                  ['merchant', 'status', 'token', 'added', 'joined the nightly job'],
                  rows.map(({ merchantNo, status, hasToken, addedAt, joinedAt, source }) => [
                    merchantNo,
                    status,
                    hasToken ? (source === 'settings' ? 'from the settings' : 'stored') : 'none',
                    source === 'settings' ? '' : addedAt.toISOString(),
                    source === 'settings'
                      ? 'yes'
                      : (joinedAt?.toISOString() ?? 'not yet: known by its approval'),
                  ]),
                ),
        });
      });
    });
  withBy(merchants.command('disable'))
    .argument('<no>', 'merchant number')
    .description('stop syncing a merchant; what is stored stays')
    .action(async (merchantNo: string, _flags: object, self: Command) => {
      await withHouse(offlineSettings(self), async ({ database, now }) => {
        await doneBy(database.db, deedOf(self, merchantNo), now(), async (trx) => {
          if (await disableMerchant(trx, merchantNo)) return;
          throw new UsageError(
            `merchant ${merchantNo} is not known; \`daybook merchants list\` shows those that are.`,
          );
        });
        tell(self, {
          document: { merchantNo, status: 'disabled' },
          text: `merchant ${merchantNo} is disabled`,
        });
      });
    });
}

async function tokenFrom({ tokenStdin, tokenEnv }: AddFlags): Promise<string> {
  if ((tokenStdin === true) === (tokenEnv !== undefined))
    throw new UsageError('give the token by --token-stdin or --token-env VARIABLE, one of the two.');
  const token = tokenEnv === undefined ? await text(process.stdin) : process.env[tokenEnv];
  if (token === undefined)
    throw new UsageError(`the environment has no ${tokenEnv ?? ''}; set it to the token.`);
  if (token.trim() === '') throw new UsageError('the token is empty.');
  if (/[\r\n]/.test(token.trim()))
    throw new UsageError('the token has more than one line; give the token alone.');
  return token.trim();
}
