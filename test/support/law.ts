/** The law of openings, read from what is published: rows and manifests, and nothing of the program's own check. */
import { compareAmounts } from '../../src/ledger/money.ts';
import { objectsOf, type Stage } from './stage.ts';

/** The current revision of each account day, by merchant, currency and day. */
export async function currentStatements({ house }: Stage) {
  const rows = await house.database.db
    .selectFrom('statement')
    .selectAll()
    .orderBy('merchant_no')
    .orderBy('currency')
    .orderBy('day')
    .orderBy('revision')
    .execute();
  return [...new Map(rows.map((row) => [`${row.merchant_no} ${row.currency} ${row.day}`, row])).values()];
}

interface PublishedOpening {
  readonly currency: string;
  readonly opening: string;
  readonly closing: string;
  readonly openingDerived: boolean;
}

/** Openings in the manifests that are not the closing of the account's manifest before, where none says why not. */
export async function lawlessOpenings(stage: Stage): Promise<string[]> {
  const closings = new Map<string, string>();
  const lawless: string[] = [];
  for (const [key, text] of await objectsOf(stage)) {
    if (!key.endsWith('manifest.json')) continue;
    const manifest = JSON.parse(text) as {
      merchantNo: string;
      day: string;
      statements: PublishedOpening[];
    };
    for (const { currency, opening, closing, openingDerived } of manifest.statements) {
      const account = `${manifest.merchantNo} ${currency}`;
      const before = closings.get(account);
      if (before !== undefined && compareAmounts(before, opening) !== 0 && !openingDerived) {
        lawless.push(`${account} ${manifest.day} opens ${opening}, after ${before}`);
      }
      closings.set(account, closing);
    }
  }
  return lawless;
}
