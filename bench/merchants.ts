/** Makes many merchants, for the sandbox and for daybook's database. */
import { randomBytes } from 'node:crypto';
import { addDays } from '../src/ledger/business-day.ts';
import type { ScenarioInput } from '../src/sandbox/scenario.ts';
import { addMerchant } from '../src/store/merchants.ts';
import { ZONE } from './scenario.ts';
import type { BenchDatabase } from './server.ts';

export interface ManyMerchants {
  readonly scenario: ScenarioInput;
  readonly merchants: readonly { readonly merchantNo: string; readonly token: string }[];
  readonly range: { readonly from: string; readonly to: string };
}

const FIRST_DAY = '2026-03-01';

/** Merchants with an unchanging ledger in one currency each. All their days have the same size. */
export function manyMerchants(options: {
  readonly merchants: number;
  readonly days: number;
  readonly entriesPerDay: number;
}): ManyMerchants {
  const { days, entriesPerDay } = options;
  const range = { from: FIRST_DAY, to: addDays(FIRST_DAY, days - 1) };
  const merchants = Array.from({ length: options.merchants }, (_, at) => {
    const number = String(at).padStart(6, '0');
    return { merchantNo: `BENCH-M${number}`, token: `bench-token-${number}` };
  });
  return {
    range,
    merchants,
    scenario: {
      ...range,
      seed: 7,
      timeZone: ZONE,
      entriesPerDay,
      merchants: merchants.map((merchant) => ({ ...merchant, currencies: ['USD'] })),
    },
  };
}

/** Adds them to a database as `daybook merchants add` does. Returns the settings that decrypt their tokens. */
export async function addMerchants(
  { db }: Pick<BenchDatabase, 'db'>,
  { merchants }: Pick<ManyMerchants, 'merchants'>,
): Promise<Record<string, string>> {
  const key = randomBytes(32);
  const secretKeys = [{ id: 'bench', key }];
  for (const merchant of merchants) await addMerchant(db, { ...merchant, secretKeys, now: new Date() });
  return { DAYBOOK_SECRET_KEYS: `bench:${key.toString('base64')}` };
}
