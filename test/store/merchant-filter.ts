/** Says which ledger tables a statement reads or writes without saying of which merchants. It knows SQL as daybook writes it. */

const LEDGER_TABLES = [
  'absent_entry',
  'account_day',
  'artifact',
  'certificate',
  'changed_day',
  'continuity_break',
  'event',
  'foreign_account_day',
  'lateness_count',
  'ledger_entry',
  'ledger_entry_version',
  'ledger_cursor',
  'quarantined_entry',
  'silent_account',
  'statement',
] as const;

const NAMED = new RegExp(
  `\\b(?:from|join|update|into|using)\\s+(?:only\\s+)?"?(${LEDGER_TABLES.join('|')})"?(?![\\w(])`,
  'gi',
);
const FILTERED = /(?:merchant_no"?|'otherMerchantNo')\s*(?:=|in\b)|\([^()]*merchant_no[^()]*\)\s*(?:=|in\b)/i;

/** One text for each such place: the table, and the statement. */
export function unfiltered(statement: string): string[] {
  const sql = statement.replaceAll(/\s+/g, ' ');
  return [...sql.matchAll(NAMED)].flatMap((named) =>
    isFiltered(sql, named.index) ? [] : [`${named[1]!}: ${sql}`],
  );
}

/** Whether the query around this place, up to the parenthesis that it stands in, says something of merchant_no. */
function isFiltered(sql: string, at: number): boolean {
  const [begin, end] = parenthesesAround(sql, at);
  const query = sql.slice(begin, end);
  return /\binto\b/i.test(sql.slice(at, at + 4)) ? /merchant_no/i.test(query) : FILTERED.test(query);
}

function parenthesesAround(sql: string, at: number): readonly [number, number] {
  let depth = 0;
  let begin = 0;
  for (let i = at; i >= 0; i -= 1) {
    if (sql[i] === ')') depth += 1;
    if (sql[i] === '(' && depth-- === 0) {
      begin = i + 1;
      break;
    }
  }
  depth = 0;
  for (let i = at; i < sql.length; i += 1) {
    if (sql[i] === '(') depth += 1;
    if (sql[i] === ')' && depth-- === 0) return [begin, i];
  }
  return [begin, sql.length];
}
