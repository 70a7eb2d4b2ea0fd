/** Compares the end of a history with one reading of the final ledger into empty tables. Both must be equal. */
import type { Kysely } from 'kysely';
import type { DB } from '../../src/store/engine/schema.ts';
import type { Published } from './published.ts';

/** What is compared: figures, verdicts, breaks and bytes. Revisions, times and run numbers may differ. */
export interface Ending {
  readonly days: ReadonlyMap<string, string>;
  readonly breaks: readonly string[];
  readonly entries: readonly string[];
  readonly files: ReadonlyMap<string, string>;
}

export async function endingOf(db: Kysely<DB>, published: Published): Promise<Ending> {
  const days = await db.selectFrom('account_day').selectAll().orderBy('currency').orderBy('day').execute();
  const breaks = await db.selectFrom('continuity_break').selectAll().where('status', '=', 'open').execute();
  const entries = await db.selectFrom('ledger_entry').selectAll().where('vanished_at', 'is', null).execute();
  const filled = days.filter((day) => day.credit_count + day.debit_count > 0);
  return {
    days: new Map(
      filled.map((day) => [
        `${day.currency} ${day.day}`,
        [
          `${day.opening} +${day.credit_total} (${day.credit_count}) -${day.debit_total} (${day.debit_count})`,
          `= ${day.closing} ${day.verdict}, ${day.break_count} breaks, last ${day.last_batch_no}`,
          day.restarted ? 'restarted' : 'follows',
        ].join(' '),
      ]),
    ),
    breaks: breaks
      .map((row) =>
        [
          row.currency,
          row.day,
          row.after_batch_no,
          row.before_batch_no,
          row.expected_balance,
          row.found_balance,
          row.missing_net,
          row.begin_ms,
          row.end_ms,
          `hint ${row.hint} ${row.hint_batch_no}`,
        ].join(' '),
      )
      .sort(),
    entries: entries
      .map((row) =>
        [
          row.batch_no,
          row.currency,
          row.transaction_type,
          row.credit,
          row.debit,
          row.balance,
          row.booked_ms,
        ].join(),
      )
      .sort(),
    files: new Map(
      [...published.statements]
        .filter(([, statement]) => statement.rows > 0)
        .map(([id, statement]) => [
          id,
          `${statement.opening} ${statement.closing} ${statement.verdict} ${statement.breaks} ` +
            `${statement.openingDerived ? 'derived' : 'follows'}\n${statement.text}`,
        ]),
    ),
  };
}

/**
 * Causes that only a history shows: a fresh reading has no earlier content of an entry, and none that is gone. A break with
 * one is no part of the patterns that explain the account's other breaks.
 */
const FROM_HISTORY = / hint (?:vanished|amended|several-changes)/;
const currencyOf = (text: string): string => text.slice(0, 3);

/** Where a history's end differs from that of the fresh reading, or of another one that `whose` names. */
export function differences(history: Ending, fresh: Ending, whose = 'fresh tables'): string[] {
  const findings: string[] = [];
  const lists = (what: string, a: readonly string[], b: readonly string[]) => {
    if (a.join('\n') !== b.join('\n'))
      findings.push(`${what} are not those of ${whose}: [${a.join(' | ')}], of ${whose}: [${b.join(' | ')}]`);
  };
  lists('entries', history.entries, fresh.entries);
  const known = new Set(history.breaks.filter((text) => FROM_HISTORY.test(text)).map(currencyOf));
  const comparable = (text: string) => (known.has(currencyOf(text)) ? text.replace(/ hint .*/, '') : text);
  lists('breaks', history.breaks.map(comparable), fresh.breaks.map(comparable));
  for (const [what, a, b] of [
    ['day', history.days, fresh.days],
    ['statement', history.files, fresh.files],
  ] as const)
    for (const id of new Set([...a.keys(), ...b.keys()]))
      if (a.get(id) !== b.get(id))
        findings.push(
          `a ${what} is not that of ${whose}: ${id} ${a.get(id) ?? 'none'}; of ${whose}: ${b.get(id) ?? 'none'}`,
        );
  return findings;
}
