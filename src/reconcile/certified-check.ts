/** Tells whether a span of time is under certificate for an account. Certificates are read when they are needed. */
import type { Kysely } from 'kysely';
import type { Account, Window } from '../ledger/entry.ts';
import { covers } from '../ledger/window.ts';
import type { DB } from '../store/engine/schema.ts';
import { certifiedWindows } from '../store/windows.ts';

/** Certificates are read this far beyond both ends of the span: the next question is mostly about the days beside it. */
const READ_AROUND_MS = 31 * 24 * 3_600_000;

export type CertifiedCheck = (span: Window) => Promise<boolean>;

export function createCertifiedCheck(db: Kysely<DB>, { merchantNo, currency }: Account): CertifiedCheck {
  let known: { readonly within: Window; readonly certified: readonly Window[] } | null = null;
  return async (span) => {
    if (known === null || span.beginMs < known.within.beginMs || span.endMs > known.within.endMs) {
      const within = { beginMs: span.beginMs - READ_AROUND_MS, endMs: span.endMs + READ_AROUND_MS };
      known = { within, certified: await certifiedWindows(db, merchantNo, within, currency) };
    }
    return covers(known.certified, span);
  };
}
