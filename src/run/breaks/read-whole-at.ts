/** Says when a span was last read, from its certificates. Pure. */
import type { Window } from '../../ledger/entry.ts';
import { subtractWindows } from '../../ledger/window.ts';
import type { CertificateRow } from '../../store/statements/statements.ts';

type Reading = Pick<CertificateRow, 'begin_ms' | 'end_ms' | 'certified_at'>;

/**
 * When all of the span had been read, in ms; null if a part was not. Where all of it was read again, that counts. Readings of
 * parts at different times complete it only with the last of them.
 */
export function completeReadingAt(span: Window, certificates: readonly Reading[]): number | null {
  const inOrder = certificates.toSorted((a, b) => a.certified_at.getTime() - b.certified_at.getTime());
  const first = coveredAt(span, inOrder);
  const again = coveredAt(span, inOrder.toReversed());
  return first === null || again === null ? null : Math.max(first, again);
}

/** When the reading was made with which these readings, in their order, cover the span. */
function coveredAt(span: Window, readings: readonly Reading[]): number | null {
  let open: readonly Window[] = [span];
  for (const { begin_ms: beginMs, end_ms: endMs, certified_at: at } of readings) {
    open = subtractWindows(open, [{ beginMs, endMs }]);
    if (open.length === 0) return at.getTime();
  }
  return null;
}
