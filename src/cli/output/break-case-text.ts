/** Words the case of a break for a person: from what is wrong to what to send to the platform. */
import { shellWord } from '../../ledger/text.ts';
import { moneyText } from '../../ledger/money.ts';
import { explain } from '../../ledger/hints/stories.ts';
import type { BusinessDay, LedgerEntry } from '../../ledger/entry.ts';
import type { Asked, BreakAnswer, BreakCase, CaseEvent, AdjacentRow } from '../../run/break-case.ts';
import { wallSecond, wallTime } from '../../ledger/wall-time.ts';
import { knownBreak, type BreakRow } from '../../store/breaks/breaks.ts';
import type { CertificateRow } from '../../store/certificates.ts';
import { assignedText } from './run-text.ts';
import { counted, line, lines, listTable, type Times } from './text.ts';

const SHOWN_MAX = 20;
const CERTIFICATES_SHOWN_MAX = 10;
const RAW_SHOWN_MAX = 300;

export function caseText(
  found: BreakCase,
  asked: Asked,
  {
    message,
    times,
    today,
  }: { readonly message: string | null; readonly times: Times; readonly today: BusinessDay },
): string {
  const { zone } = times;
  const { row } = found;
  const known = knownBreak(row);
  return lines(
    line`break ${row.id}: ${row.merchant_no} ${row.currency} ${row.day}, ${stateText(found, today)}`,
    `between ${wallSecond(known.span.beginMs, zone)} and ${wallSecond(known.span.endMs, zone)}`,
    `\n${explain(known)}`,
    '',
    ...figuresText(row),
    `\nentries in statement order:`,
    rowsText(found.rows, row),
    changedText(found, zone),
    quarantineText(found),
    certificatesText(found.certificates, zone),
    `\nthe platform now: ${answerText(asked, row)}`,
    `\nhistory:`,
    ...found.history.map((event) => eventText(event, zone)),
    message !== null && `\nmessage to the platform, to copy:\n`,
    message !== null && message.replace(/^(?=.)/gm, '  '),
    `\n${times.note}`,
  );
}

const figuresText = (row: BreakRow): string[] => [
  `balance expected before ${row.before_batch_no}:  ${row.expected_balance} ${row.currency}`,
  `balance implied by its own amount and balance:  ${row.found_balance} ${row.currency}`,
  `unexplained difference:  ${row.missing_net} ${row.currency}`,
];

const stateText = ({ state, row, ...handling }: BreakCase, today: BusinessDay): string => {
  const assigned = assignedText(handling, today);
  if (assigned !== null) return assigned;
  return row.note === null ? state : `${state}: ${row.note}`;
};

function rowsText(rows: readonly AdjacentRow[], { id }: BreakRow): string {
  if (rows.length === 0) return '  no entry of the account is stored for that time any more';
  const drawn = listTable(rows, {
    '': ({ isHere, break: found }) => (isHere ? '>' : found === null ? '' : '!'),
    'batch no': ({ entry }) => entry.batchNo,
    'booked at': ({ entry }) => entry.bookedAt,
    '?type': ({ entry }) => entry.transactionType,
    '>credit': ({ entry }) => entry.credit,
    '>debit': ({ entry }) => entry.debit,
    '>balance': ({ entry }) => entry.balance,
  });
  const [here, other] = [rows.some(({ isHere }) => isHere), rows.some((one) => one.break && !one.isHere)];
  return lines(
    drawn,
    here && `> break ${id} is before this entry`,
    other && '! another break is before this entry',
  );
}

const changedText = ({ changed }: BreakCase, zone: string): string | false =>
  changed.length > 0 &&
  lines(
    `\nno longer shown or amended by the platform, of that period (\`daybook amendments\`):`,
    ...changed
      .slice(0, SHOWN_MAX)
      .map(
        ({ kind, before, at, explains }) =>
          line`  ${entryText(before)}, ${kind} at ${wallTime(at.getTime(), zone)}${explains ? ': this explains it' : ''}`,
      ),
    changed.length > SHOWN_MAX && `  and ${changed.length - SHOWN_MAX} more (--json)`,
  );

function quarantineText({ quarantined }: BreakCase): string {
  if (quarantined.length === 0) return '\nnothing in quarantine for that period';
  return lines(
    `\nin quarantine for that period (\`daybook quarantine\`):`,
    ...quarantined.slice(0, SHOWN_MAX).map((one) => {
      const name = one.batchNo ?? `entry ${one.id}`;
      return lines(
        line`  ${one.id}: batch no ${one.batchNo ?? 'none'}: ${one.reason}`,
        line`    ${one.raw.slice(0, RAW_SHOWN_MAX)}${one.raw.length > RAW_SHOWN_MAX ? ' ...' : ''}`,
        one.explains && line`    this one, ${name}, explains it`,
      );
    }),
    quarantined.length > SHOWN_MAX && `  and ${quarantined.length - SHOWN_MAX} more (--json)`,
  );
}

function certificatesText(certificates: readonly CertificateRow[], zone: string): string {
  if (certificates.length === 0)
    return '\nthat period has not been read completely: no certificate covers it';
  const shown = certificates.slice(-CERTIFICATES_SHOWN_MAX);
  return lines(
    `\ncomplete readings:`,
    listTable(shown, {
      certified: (one) => wallTime(one.read_at.getTime(), zone),
      '>total stated': (one) => one.total,
      '>readable entries': (one) => one.entries,
      '?>in quarantine': (one) => one.unreadable,
      '?from': (one) => wallTime(one.begin_ms, zone),
      '?to': (one) => wallTime(one.through_ms, zone),
    }),
    certificates.length > shown.length && `and ${certificates.length - shown.length} more (--json)`,
  );
}

function answerText(asked: Asked, row: BreakRow): string {
  if ('failure' in asked) return asked.failure;
  const { total, shown, notStored, changed, unreadable } = asked.answer;
  const isNews = notStored.length + changed.length > 0;
  return lines(
    `${counted(total, 'entry', 'entries')} in that period` +
      (total > shown ? `, of which the first ${shown} were read` : '') +
      (isNews || unreadable.length > 0 ? '' : ', as stored'),
    ...newsText('not stored yet', notStored),
    ...newsText('other than stored', changed),
    ...unreadable
      .slice(0, SHOWN_MAX)
      .map(({ batchNo, reason }) => line`  cannot be read: ${batchNo ?? 'without batch no'}: ${reason}`),
    isNews &&
      line`  -> \`daybook run --from ${row.day} --to ${row.day} --merchant ${shellWord(row.merchant_no)}\` reads and stores it`,
  );
}

const newsText = (what: string, entries: BreakAnswer['notStored']): string[] =>
  entries.slice(0, SHOWN_MAX).map((entry) => line`  ${what}: ${entryText(entry)}`);

const entryText = ({ batchNo, bookedAt, credit, debit, currency, balance }: LedgerEntry): string =>
  `${batchNo}, ${bookedAt}, ${credit === null ? 'debit' : 'credit'} ${moneyText(credit ?? debit!, currency)}, ` +
  `balance ${moneyText(balance, currency)}`;

const eventText = ({ what, at, by, note, assignment }: CaseEvent, zone: string): string =>
  line`  ${wallSecond(at.getTime(), zone)}  ${what}${assignment === null || assignment.to === by ? '' : ` to ${assignment.to}`}${by === null ? '' : ` by ${by}`}${assignment?.due ? `, due ${assignment.due}` : ''}${note === null ? '' : `: ${note}`}`;
