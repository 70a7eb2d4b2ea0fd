/** Words by which days the proven days of an account differ from those with figures or with a statement. Pure. */
import { counted } from '../../ledger/text.ts';
import type { Discrepancy } from '../discrepancies.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import type { Reason } from './reason.ts';

const WORDS: Readonly<
  Record<
    Discrepancy['what'],
    { readonly exitCode: ExitCode; readonly what: string; readonly command: string }
  >
> = {
  'no-figures': { exitCode: EXIT.incomplete, what: 'proven without figures', command: 'run' },
  'no-statement': {
    exitCode: EXIT.incomplete,
    what: 'proven without an up-to-date statement',
    command: 'publish',
  },
  'not-read': {
    exitCode: EXIT.needsPerson,
    what: 'with an adopted statement that this database has not read',
    command: 'backfill',
  },
  'in-doubt': {
    exitCode: EXIT.incomplete,
    what: 'published, and not proven any more: a later reading failed, or entries are absent',
    command: 'run',
  },
};

export const exitCodeOfDiscrepancy = ({ what }: Discrepancy): ExitCode => WORDS[what].exitCode;

export function reasonOfDiscrepancy({ merchantNo, currency, what, days }: Discrepancy): Reason {
  const { exitCode, what: words, command } = WORDS[what];
  const [from, to] = [days[0]!, days.at(-1)!];
  return {
    exitCode,
    what: `${merchantNo} ${currency}: ${counted(days.length, 'day')} ${words}: ${from === to ? from : `${from} to ${to}`}`,
    todo: `\`daybook ${command} --from ${from} --to ${to} --merchant ${merchantNo}\``,
    merchantNo,
  };
}
