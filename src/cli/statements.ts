/** `statements`: lists what was published, and takes over a store. */
import { addKeygenCommand } from './keygen.ts';
import type { Command } from 'commander';
import { thisHolder } from '../host/process-identity.ts';
import { underLeasesAsNeeded } from '../run/leases.ts';
import { EXIT, UsageError } from '../run/verdict/exit-codes.ts';
import { adoptStore, type AdoptReport } from '../months/adopt.ts';
import { recordAuditEvent } from '../store/audit.ts';
import { listStatements, type StatementPlace, type StatementRow } from '../store/statements/statements.ts';
import { answer, auditEventOf, stopSignal, withBy, type GlobalFlags } from './context.ts';
import {
  accountsFlagged,
  dayFlag,
  pageOf,
  withPageFlags,
  withRangeFlags,
  type PageFlags,
  type RangeFlags,
} from './flags.ts';
import { createProgressLine } from './output/progress-line.ts';
import { counted, line, lines, longTable, nextLine, type Times } from './output/text.ts';
import { addStatementsDiffCommand } from './statements-diff.ts';
import { addStatementsGetCommand } from './statements-get.ts';

export function statementsCommand(statements: Command): void {
  addListCommand(statements);
  addStatementsDiffCommand(statements);
  addAdoptCommand(statements);
  addKeygenCommand(statements);
  addStatementsGetCommand(statements);
}

function addListCommand(statements: Command): void {
  withPageFlags(withRangeFlags(statements.command('list')), "'merchant day currency'")
    .description('published statements, current revisions')
    .option('--all', 'superseded revisions too, with when each was published, and why')
    .action((flags: RangeFlags & PageFlags & { readonly all?: boolean }, self: Command) => {
      const accounts = accountsFlagged(flags);
      const { json = false } = self.optsWithGlobals<GlobalFlags>();
      const { limit, after } = pageOf(flags, json);
      return answer(self, async ({ db, times }) => {
        const found = await listStatements(db, {
          ...accounts,
          fromDay: dayFlag('--from', flags.from),
          toDay: dayFlag('--to', flags.to),
          after: after === undefined ? undefined : placeOf(after),
          limit: limit === undefined ? undefined : limit + 1,
        });
        const rows = limit === undefined ? found : completeDays(found, limit);
        const superseded = new Set(rows.map((row) => nameOf(row, row.supersedes ?? 0)));
        const shown = flags.all === true ? rows : rows.filter((row) => !superseded.has(nameOf(row)));
        const listed = listText(shown, flags.all === true ? times : null);
        const last = rows.length < found.length ? rows.at(-1)! : null;
        const next = last && `${last.merchant_no} ${last.day} ${last.currency}`;
        return { document: shown, text: lines(listed, nextLine(shown.length, 'statement', next)) };
      });
    });
}

/** Of rows cut after `limit`, those of account days of which every revision is there. */
function completeDays(rows: readonly StatementRow[], limit: number): readonly StatementRow[] {
  const next = rows[limit];
  if (next === undefined) return rows;
  const begin = rows.findIndex((row) => nameOf(row, 0) === nameOf(next, 0));
  return rows.slice(0, begin === 0 ? limit : begin);
}

/** Reads where a page begins. Throws `UsageError`. */
function placeOf(text: string): StatementPlace {
  const [, merchantNo, day, currency] = /^(.+) (\d{4}-\d\d-\d\d) (\S+)$/.exec(text) ?? [];
  if (merchantNo === undefined)
    throw new UsageError(`--after '${text}' is no place of the list; write 'MERCHANT DAY CURRENCY'.`);
  return { merchantNo, day: dayFlag('--after', day!), currency: currency! };
}

const nameOf = (row: StatementRow, revision = row.revision): string =>
  JSON.stringify([row.merchant_no, row.currency, row.day, revision]);

/** A day is not called continuous of which nothing could be read. */
function verdictText({ verdict, row_count: read, unreadable_count: unreadable }: StatementRow): string {
  if (unreadable === 0) return verdict;
  return `${read === 0 ? 'nothing read' : verdict}, ${unreadable} unreadable`;
}

/** With `times`, also when each was published and why. */
function listText(rows: readonly StatementRow[], times: Times | null): string {
  if (rows.length === 0) return 'no statement was published for these days';
  const listed = longTable(rows, {
    merchant: (row) => row.merchant_no,
    day: (row) => row.day,
    account: (row) => row.currency,
    '>revision': (row) => row.revision,
    '?>opening': (row) => row.opening,
    '?>credits': (row) => row.credit_total,
    '?>debits': (row) => row.debit_total,
    '>closing': (row) => row.closing,
    [times === null ? 'verdict' : '?verdict']: verdictText,
    ...(times !== null && { published: (row: StatementRow) => times.at(row.published_at) }),
    '?key': (row) => row.object_key,
  });
  if (times === null) return listed;
  // Reasons name entries, so they are too long for a column.
  const reasons = rows.flatMap(({ merchant_no, currency, day, revision, reason }) =>
    reason === null ? [] : line`${merchant_no} ${currency} ${day} r${revision}: ${reason}`,
  );
  return lines(
    listed,
    reasons.length > 0 && '\nwhy they replaced the one before:',
    ...reasons,
    `${reasons.length > 0 ? '\n' : ''}${times.note}`,
  );
}

const LEFT_SHOWN_MAX = 20;

function addAdoptCommand(statements: Command): void {
  withBy(statements.command('adopt'))
    .description(
      'take over a store whose statements another database published, and go on with their revisions',
    )
    .action((_flags: object, self: Command) =>
      answer(self, async ({ db, objects, now, settings: { signingKey } }) => {
        const progress = createProgressLine();
        const report = await underLeasesAsNeeded(
          { db, holder: thisHolder(), signal: stopSignal() },
          (leaseOf, signal) =>
            adoptStore({
              ...{ db, leaseOf, objects, now, signal, signingKey },
              onDay: ({ days, statements: count }) =>
                progress.show({ stage: 'adopt', days, statements: count }),
            }),
        ).finally(() => progress.clear());
        await recordAuditEvent(db, auditEventOf(self, objects.location), now());
        return {
          document: { store: objects.location, ...report },
          text: adoptText(report, objects.location),
          exitCode: report.left.length > 0 || report.forked > 0 ? EXIT.needsPerson : EXIT.done,
        };
      }),
    );
}

function adoptText(
  { formerOwner, formerly, database, days, statements, closes, left, forked }: AdoptReport,
  location: string,
): string {
  const from = formerOwner === null ? '' : `, which database ${formerOwner} owned`;
  return lines(
    `${location}${from}, belongs to this database now, ${database} (formerly ${formerly}): ${days} days checked, ${statements} revisions taken over` +
      (closes === 0 ? '' : `, and ${counted(closes, 'close')} of months`),
    ...left.slice(0, LEFT_SHOWN_MAX).map(({ key, why }) => `not taken over: ${key}: ${why}`),
    left.length > LEFT_SHOWN_MAX && `and ${left.length - LEFT_SHOWN_MAX} more`,
    'Any other database, and any copy of this one, is refused there from now on.',
    left.length > 0 && 'the next run publishes these days anew, under revisions above those that lie there',
    forked > 0 &&
      `${counted(forked, 'manifest')} of another branch of the chain, as two databases went on from the same one: ` +
        '`daybook publish --repair` makes each anew at the end of the chain',
  );
}
