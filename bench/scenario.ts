/** The ledgers that the sandbox serves for the bench, and daybook's settings to read them. */
import '../src/plugins.ts';
import { addDays } from '../src/ledger/business-day.ts';
import type { ScenarioInput } from '../src/plugins/sandbox/scenario.ts';
import type { BenchDatabase } from './server.ts';
import type { SandboxProcess } from './processes.ts';

export const MERCHANT = { merchantNo: 'BENCH-0001', token: 'bench-token-not-a-secret' } as const;
export const ZONE = 'Asia/Shanghai';
const FIRST_DAY = '2026-03-01';

export interface BenchLedger {
  readonly scenario: ScenarioInput;
  readonly range: { readonly from: string; readonly to: string };
  readonly days: number;
  readonly entries: number;
}

/** An unchanging ledger in one currency. All its days have the same size. */
export function benchLedger(options: {
  readonly days: number;
  readonly entriesPerDay: number;
  readonly latencyMs?: number;
}): BenchLedger {
  const { days, entriesPerDay, latencyMs = 0 } = options;
  const range = { from: FIRST_DAY, to: addDays(FIRST_DAY, days - 1) };
  return {
    scenario: {
      ...range,
      seed: 7,
      timeZone: ZONE,
      entriesPerDay,
      merchants: [{ ...MERCHANT, currencies: ['USD'] }],
      hostility: { latencyMs },
    },
    range,
    days,
    entries: days * entriesPerDay,
  };
}

/** Daybook's settings to read a sandbox into a database. */
export const syncEnv = (
  { url }: Pick<SandboxProcess, 'url'>,
  database: Pick<BenchDatabase, 'url'>,
  more: Readonly<Record<string, string>> = {},
): Record<string, string> => ({
  PLATFORM_BASE_URL: url,
  PLATFORM_TIME_ZONE: ZONE,
  PLATFORM_MERCHANT_NO: MERCHANT.merchantNo,
  PLATFORM_TOKEN: MERCHANT.token,
  DATABASE_URL: database.url,
  ...more,
});

/** Daybook's settings to work on stored entries only. */
export const offlineEnv = (
  database: Pick<BenchDatabase, 'url'>,
  merchantNo: string,
  more: Readonly<Record<string, string>> = {},
): Record<string, string> => ({
  ...syncEnv({ url: 'http://127.0.0.1:9' }, database),
  PLATFORM_MERCHANT_NO: merchantNo,
  ...more,
});
