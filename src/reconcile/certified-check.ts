/** Tells whether a span of time is under certificate for an account. Certificates are read when they are needed. */
import type { Kysely } from 'kysely';
import type { Account, Window } from '../ledger/entry.ts';
import { covers } from '../ledger/window.ts';
import type { DB } from '../store/engine/schema.ts';
import { certifiedWindows } from '../store/windows.ts';

/** Certificates are read this far beyond both ends of the span: the next question is mostly about the adjacent days. */
const READ_AROUND_MS = 31 * 24 * 3_600_000;

/** The span in which certificates are read for a question about `span`. */
export const readAround = ({ beginMs, endMs }: Window): Window => ({
  beginMs: beginMs - READ_AROUND_MS,
  endMs: endMs + READ_AROUND_MS,
});

export type CertifiedCheck = (span: Window) => Promise<boolean>;

/** What is certified inside a span. */
export interface CertifiedWithin {
  readonly within: Window;
  readonly certified: readonly Window[];
}

/** `read`: certificates that were read already. */
export function createCertifiedCheck(
  db: Kysely<DB>,
  { merchantNo, currency }: Account,
  read: CertifiedWithin | null = null,
): CertifiedCheck {
  let known = read;
  return async (span) => {
    if (known === null || span.beginMs < known.within.beginMs || span.endMs > known.within.endMs) {
      const within = readAround(span);
      known = { within, certified: await certifiedWindows(db, merchantNo, within, currency) };
    }
    return covers(known.certified, span);
  };
}
