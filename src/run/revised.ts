/** Tells which published days a run replaced: what was taken from them before is out of date. Pure. */
import type { RevisedDay } from '../store/untold-revisions.ts';
import { EXIT } from './exit-codes.ts';
import type { Reason } from './judge.ts';

/** Days named; the rest are counted. */
const NAMED_MAX = 10;

/** One reason for all of them, told by the run that published them and by none after it; none where there are none. */
export function reasonsOfRevised(revised: readonly RevisedDay[], runId: number): Reason[] {
  if (revised.length === 0) return [];
  const named = revised.slice(0, NAMED_MAX).map(nameOf).join('; ');
  const more = revised.length > NAMED_MAX ? `; and ${revised.length - NAMED_MAX} more` : '';
  const earlier = revised.filter((one) => one.runId !== runId).length;
  const before = earlier === 0 ? '' : `, ${earlier} of them by a run that did not tell`;
  const what =
    revised.length === 1 ? '1 proven day was revised' : `${revised.length} proven days were revised`;
  return [
    {
      exitCode: EXIT.needsPerson,
      what: `${what}${before}: ${named}${more}`,
      todo: 'download these days again where their earlier figures were used; ask the platform why it changed them',
    },
  ];
}

function nameOf({
  merchantNo,
  currency,
  day,
  oldRevision,
  revision,
  oldRows,
  rows,
  reason,
}: RevisedDay): string {
  const name = `${merchantNo} ${currency} ${day}`;
  if (oldRevision === null) {
    return `${name} to r${revision}, as its total was 0 when the day was read before and is ${rows} now`;
  }
  const held = rows > oldRows ? `, r${oldRevision} held ${oldRows} where ${rows} were due` : '';
  return `${name} from r${oldRevision} to r${revision} (${reason ?? 'entries changed'}${held})`;
}
