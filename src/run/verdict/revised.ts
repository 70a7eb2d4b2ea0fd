/**
 * Reports which published days were revised: figures that were taken from an earlier revision are out of date. Pure.
 */
import type { RevisedDay } from '../../store/statements/unreported-revisions.ts';
import { EXIT } from './exit-codes.ts';
import type { Reason } from './reason.ts';

/** Most days named; the rest is counted. */
const NAMED_MAX = 10;

/**
 * One reason for days whose entries or figures changed, which needs a person. Another one for days of which only the
 * source of the opening changed. Each revised day is reported by one run only: the one that published it or, if that
 * was killed, a later one.
 */
export function reasonsOfRevised(revised: readonly RevisedDay[], runId: number): Reason[] {
  const proven = revised.filter((one) => !isExpected(one));
  const others = proven.filter(({ readsTheSame }) => !readsTheSame);
  const same = proven.filter(({ readsTheSame }) => readsTheSame);
  return [
    ...reasonOf(others, runId, {
      exitCode: EXIT.needsPerson,
      how: 'revised',
      todo: 'where figures of an earlier revision were used, download these days again',
    }),
    ...reasonOf(same, runId, {
      exitCode: EXIT.done,
      how: 'revised with the same entries and figures',
      todo: null,
    }),
    ...reasonsOfClosed(
      proven,
      EXIT.needsPerson,
      (days) => `${days} of these ${days === 1 ? 'adjusts a closed month' : 'adjust closed months'}`,
    ),
    ...reasonsOfClosed(
      revised.filter(isExpected),
      EXIT.done,
      (days) =>
        `${days === 1 ? '1 day that was open when its month was closed is' : `${days} days that were open when their month was closed are`} ` +
        'published now and not in the close',
    ),
  ];
}

/** First published after its month was closed although the day was open: nothing that was proven has changed. */
const isExpected = ({ wasOpenAtClose = false }: RevisedDay): boolean => wasOpenAtClose;

/** Closed months that were adjusted, each once. Reported even if a reader sees no difference: its list of hashes changed. */
function reasonsOfClosed(
  revised: readonly RevisedDay[],
  exitCode: Reason['exitCode'],
  textOf: (days: number) => string,
): Reason[] {
  const closed = revised.filter(({ closeNumber = null }) => closeNumber !== null);
  const months = new Map(
    closed.map(({ merchantNo, day, closeNumber }) => {
      const month = day.slice(0, 'YYYY-MM'.length);
      return [`${merchantNo} ${month}`, { merchantNo, month, closeNumber }] as const;
    }),
  );
  const [first] = months.values();
  if (first === undefined) return [];
  const named = [...months].slice(0, NAMED_MAX).map(([name, one]) => `${name} (close ${one.closeNumber})`);
  const more = months.size > NAMED_MAX ? `; and ${months.size - NAMED_MAX} more` : '';
  return [
    {
      exitCode: closed.every(({ readsTheSame }) => readsTheSame) ? EXIT.done : exitCode,
      what: `${textOf(closed.length)}: ${named.join('; ')}${more}`,
      todo: `\`daybook close --list\` shows what changed; \`daybook close ${first.month} --merchant ${first.merchantNo}\` makes the next close`,
    },
  ];
}

function reasonOf(
  days: readonly RevisedDay[],
  runId: number,
  { exitCode, how, todo }: Pick<Reason, 'exitCode' | 'todo'> & { readonly how: string },
): Reason[] {
  if (days.length === 0) return [];
  const named = days.slice(0, NAMED_MAX).map(nameOf).join('; ');
  const more = days.length > NAMED_MAX ? `; and ${days.length - NAMED_MAX} more` : '';
  const others = days.filter((one) => one.runId !== runId);
  const backfilled = others.filter(({ isOfBackfill = false }) => isOfBackfill).length;
  const earlier = others.length - backfilled;
  const before =
    (backfilled === 0 ? '' : `, ${backfilled} of them by a backfill`) +
    (earlier === 0 ? '' : `, ${earlier} of them by a run that ended before its report`);
  const what = days.length === 1 ? '1 proven day was' : `${days.length} proven days were`;
  return [{ exitCode, what: `${what} ${how}${before}: ${named}${more}`, todo }];
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
  closeNumber = null,
}: RevisedDay): string {
  const name = `${merchantNo} ${currency} ${day}`;
  if (oldRevision === null && closeNumber !== null)
    return `${name} to r${revision} with ${rows} entries, as its closed month did not have it`;
  if (oldRevision === null) {
    return `${name} to r${revision}, as its total was 0 when the day was read before and is ${rows} now`;
  }
  const held = rows > oldRows ? `, r${oldRevision} held ${oldRows} where ${rows} were due` : '';
  return `${name} from r${oldRevision} to r${revision} (${reason ?? 'entries changed'}${held})`;
}
