/** Says when a span was last read, from its certificates. Pure. */
import type { Window } from '../../ledger/entry.ts';
import { subtractWindows } from '../../ledger/window.ts';
import type { CertificateRow } from '../../store/statements/statements.ts';

type Reading = Pick<CertificateRow, 'begin_ms' | 'end_ms' | 'certified_at'>;

/**
 * The latest instant by which every part of the span had been read, in ms; null if a part was not. Of two readings of one
 * part the later one counts, whichever begins first.
 */
export function completeReadingAt(span: Window, certificates: readonly Reading[]): number | null {
  let open: readonly Window[] = [span];
  const latestFirst = certificates.toSorted((a, b) => b.certified_at.getTime() - a.certified_at.getTime());
  for (const { begin_ms: beginMs, end_ms: endMs, certified_at: at } of latestFirst) {
    open = subtractWindows(open, [{ beginMs, endMs }]);
    if (open.length === 0) return at.getTime();
  }
  return null;
}
