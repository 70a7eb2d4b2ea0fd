/** Finds out if a reply held another merchant's entries: these prove no zone, as this merchant does not have them. */
import type { Kysely } from 'kysely';
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import type { DB } from '../store/engine/schema.ts';
import { merchantWith } from '../store/shared-entries.ts';
import { TimeZoneUnproven } from './time-zone-proof.ts';

/** The platform answered a merchant's call with another merchant's entries; none of them was written. */
class OtherLedgerAnswered extends ExpectedError {
  override readonly name = 'OtherLedgerAnswered';
  readonly exitCode = EXIT.incomplete;

  constructor(otherMerchantNo: string, batchNo: string) {
    super(
      `the platform answered with entries of another merchant: ${batchNo} is stored under ${otherMerchantNo}, and asked ` +
        'for by its batchNo it is not found here. Nothing of that reply was written. Check PLATFORM_HEADERS (does ' +
        "each call say whose it is?) and at both merchants' tokens.",
    );
  }
}

/**
 * To be called when all merchants are read. A `TimeZoneUnproven` whose entries are stored under another merchant
 * becomes an error that says so; any other failure is returned as it is.
 */
export async function explainFailure(
  db: Kysely<DB>,
  merchantNo: string,
  failure: Error | null,
): Promise<Error | null> {
  if (!(failure instanceof TimeZoneUnproven) || failure.entries.length === 0) return failure;
  const other = await merchantWith(db, merchantNo, failure.entries);
  return other === null ? failure : new OtherLedgerAnswered(other.merchantNo, other.batchNo);
}
