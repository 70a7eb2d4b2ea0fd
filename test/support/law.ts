/** The law of openings, checked on published rows and manifests without using the program's own check. */
import { compareAmounts } from '../../src/ledger/money.ts';
import { readObject, type ObjectStore } from '../../src/objects/object-store.ts';
import { MERCHANTS_PREFIX } from '../../src/verify/names.ts';
import type { Stage } from './stage.ts';

/** The current revision of each account day, by merchant, currency and day. */
export async function currentStatements({ app }: Stage) {
  const rows = await app.database.db
    .selectFrom('statement')
    .selectAll()
    .orderBy('merchant_no')
    .orderBy('currency')
    .orderBy('day')
    .orderBy('revision')
    .execute();
  return [...new Map(rows.map((row) => [`${row.merchant_no} ${row.currency} ${row.day}`, row])).values()];
}

interface PublishedDay {
  readonly merchantNo: string;
  readonly day: string;
  readonly statements: readonly {
    readonly currency: string;
    readonly opening: string;
    readonly closing: string;
    readonly openingDerived: boolean;
    readonly openingReason?: string;
  }[];
}

/** All manifests of a store, by merchant and day. */
export async function manifestsIn(store: ObjectStore): Promise<PublishedDay[]> {
  const manifests: PublishedDay[] = [];
  for await (const { key } of store.survey(MERCHANTS_PREFIX)) {
    if (!key.endsWith('manifest.json')) continue;
    manifests.push(JSON.parse((await readObject(store, key))!.toString('utf8')) as PublishedDay);
  }
  return manifests;
}

/** Openings that are not the closing in the account's manifest before, if no manifest says why. */
export function lawlessIn(manifests: readonly PublishedDay[]): string[] {
  const closings = new Map<string, string>();
  const lawless: string[] = [];
  for (const { merchantNo, day, statements } of manifests) {
    for (const { currency, opening, closing, openingDerived, openingReason } of statements) {
      const account = `${merchantNo} ${currency}`;
      const before = closings.get(account);
      const reported = openingDerived && openingReason !== undefined;
      if (before !== undefined && compareAmounts(before, opening) !== 0 && !reported) {
        lawless.push(`${account} ${day} opens ${opening}, after ${before}`);
      }
      closings.set(account, closing);
    }
  }
  return lawless;
}

/** The same for the store of a stage. */
export const lawlessOpenings = async ({ app }: Stage): Promise<string[]> =>
  lawlessIn(await manifestsIn(app.objects));
