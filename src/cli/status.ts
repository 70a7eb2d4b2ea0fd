/** `status`: per merchant, the last good run, what is proven, what is missing; for people and for alerts. */
import type { Command } from 'commander';
import { EXIT, UsageError } from '../run/exit-codes.ts';
import { TIME_ZONE_ON_TRUST } from '../run/report.ts';
import { statusOf, type MerchantStatus } from '../run/status.ts';
import { listMerchants } from '../store/merchants.ts';
import { platformSettings, tell, withHouse } from './context.ts';
import { spanText } from './run-text.ts';
import { lines, table } from './text.ts';

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
const MISSING_SHOWN_MAX = 10;

/** `26h` in ms. Throws `UsageError`. */
export function parseAge(text: string): number {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const unitMs = UNIT_MS[unit ?? ''];
  if (count === undefined || unitMs === undefined) {
    throw new UsageError(`--max-age ${text} is no age; write a number and m, h or d, like 90m, 26h or 2d.`);
  }
  return Number(count) * unitMs;
}

export function addStatusCommand(program: Command): void {
  program
    .command('status')
    .description('per merchant: last good run, proven up to which day, what is missing')
    .option('--max-age <age>', 'exit 4 when a merchant’s last good run is older, like 26h')
    .addHelpText('after', '\nExample, for an alert:\n  daybook status --max-age 26h || page-someone')
    .action(async ({ maxAge }: { readonly maxAge?: string }, self: Command) => {
      const settings = platformSettings(self);
      const maxAgeMs = maxAge === undefined ? null : parseAge(maxAge);
      await withHouse(settings, async ({ database, now }) => {
        const stored = await listMerchants(database.db);
        const own = settings.platform.merchant;
        const merchants = new Set([
          ...stored.filter(({ status }) => status === 'active').map(({ merchantNo }) => merchantNo),
          ...(own === null ? [] : [own.merchantNo]),
        ]);
        const zone = settings.platform.timeZone;
        const statuses = await statusOf(database.db, [...merchants].sort(), { zone, now: now(), maxAgeMs });
        tell(self, {
          document: statuses.map((one) => ({ ...one, timeZoneProof: settings.platform.timeZoneProof })),
          text: lines(
            statusText(statuses, zone, maxAge),
            settings.platform.timeZoneProof === 'trusted' && `\n${TIME_ZONE_ON_TRUST}`,
          ),
          exitCode: statuses.some(({ tooOld }) => tooOld) ? EXIT.incomplete : EXIT.done,
        });
      });
    });
}

function statusText(statuses: readonly MerchantStatus[], zone: string, maxAge: string | undefined): string {
  if (statuses.length === 0)
    return 'no merchant yet: set PLATFORM_MERCHANT_NO, or add one with `daybook merchants add`';
  const missing = statuses.flatMap(({ merchantNo, missing: spans }) =>
    spans.map((span) => `  ${merchantNo} ${spanText(span, zone)}: ${span.why}`),
  );
  return lines(
    table(
      ['merchant', 'last good run', 'proven through', '>open breaks', maxAge === undefined ? '' : 'age'],
      statuses.map((status) => [
        status.merchantNo,
        status.lastGoodRunAt?.toISOString() ?? 'never',
        status.provenThrough ?? 'nothing yet',
        status.openBreaks,
        status.tooOld ? `older than ${maxAge ?? ''}` : '',
      ]),
    ),
    missing.length > 0 && '\nmissing:',
    ...missing.slice(0, MISSING_SHOWN_MAX),
    missing.length > MISSING_SHOWN_MAX && `  and ${missing.length - MISSING_SHOWN_MAX} more`,
  );
}
