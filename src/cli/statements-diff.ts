/**
 * `statements diff`: shows entries added, removed or changed between two revisions of a day's statements, with the
 * causes.
 */
import { once } from 'node:events';
import type { Command } from 'commander';
import type { BusinessDay } from '../ledger/entry.ts';
import { compareAmounts, subtractAmounts } from '../ledger/money.ts';
import { showableLines, showableText } from '../ledger/text.ts';
import { wallSecond, wallTime } from '../ledger/wall-time.ts';
import { EXIT, UsageError } from '../run/verdict/exit-codes.ts';
import { changeOf, tallyRows, type ChangeCounts } from '../statements/differing-rows.ts';
import type { Cells } from '../statements/formats/format.ts';
import { StatementDamaged, rowsBetween } from '../statements/fetch.ts';
import { causesOf, causeText, type CausedRow } from '../statements/reason.ts';
import {
  revisionsOnDay,
  statementOf,
  type RevisionsOfAccount,
  type StatementRow,
} from '../store/statements/statements.ts';
import { answer, collect, type CommandOutput, type GlobalFlags, type StoreWork } from './context.ts';
import { accountsFlagged, dayFlag } from './flags.ts';
import { counted, lines, table } from './output/text.ts';

/** Most accounts shown as text; `--json` has all. */
const ACCOUNTS_SHOWN_MAX = 20;

interface DiffFlags {
  readonly merchant: readonly string[];
  readonly currency: readonly string[];
  readonly revisions?: string;
}

export function addStatementsDiffCommand(statements: Command): void {
  statements
    .command('diff')
    .argument('<day>', 'day, YYYY-MM-DD')
    .description('entries added, removed or changed between two revisions of a day, each with its cause')
    .option('--merchant <no>', 'only this merchant (may be repeated)', collect, [])
    .option('--currency <code>', 'only this currency (may be repeated)', collect, [])
    .option('--revisions <a..b>', 'two revisions, like 1..3 (default: the last one and the one before it)')
    .addHelpText(
      'after',
      '\nRows are read from the published files, causes from the database.\n\nExamples:\n' +
        '  daybook statements diff 2026-03-31\n' +
        '  daybook statements diff 2026-03-31 --merchant 10001 --currency USD --revisions 1..3',
    )
    .action((dayText: string, flags: DiffFlags, self: Command) => {
      const day = dayFlag('the day', dayText);
      const asked = flags.revisions === undefined ? null : revisionsOf(flags.revisions);
      const accounts = accountsFlagged(flags);
      const { json = false } = self.optsWithGlobals<GlobalFlags>();
      return answer(self, async (store) => {
        const published = await revisionsOnDay(store.db, day, accounts);
        const pairs = pairsIn(published, asked, day);
        return json ? writeDocument(store, day, pairs) : textOutput(store, day, pairs, published.length);
      });
    });
}

/** Reads two revisions, such as `1..2`. Throws `UsageError`. */
function revisionsOf(text: string): readonly [number, number] {
  const [, from, to] = /^([1-9]\d{0,8})\.\.([1-9]\d{0,8})$/.exec(text) ?? [];
  if (from === undefined || Number(from) >= Number(to))
    throw new UsageError(
      `--revisions ${text} is no pair of revisions; write the earlier one first, like 1..3.`,
    );
  return [Number(from), Number(to)];
}

interface Pair {
  readonly account: RevisionsOfAccount['account'];
  readonly before: number;
  readonly after: number;
}

/** For each account that has both revisions, the two to compare. Throws `UsageError` if nothing that was asked for exists. */
function pairsIn(
  published: readonly RevisionsOfAccount[],
  asked: readonly [number, number] | null,
  day: BusinessDay,
): Pair[] {
  if (published.length === 0) {
    throw new UsageError(
      `nothing was published of ${day} for what is asked; \`daybook statements list --from ${day} --to ${day}\` ` +
        `shows what was.`,
    );
  }
  if (asked === null) {
    return published.flatMap(({ account, revisions }) =>
      revisions.length < 2 ? [] : [{ account, before: revisions.at(-2)!, after: revisions.at(-1)! }],
    );
  }
  const [before, after] = asked;
  const pairs = published
    .filter(({ revisions }) => revisions.includes(before) && revisions.includes(after))
    .map(({ account }) => ({ account, before, after }));
  if (pairs.length > 0) return pairs;
  const newest = Math.max(...published.map(({ revisions }) => revisions.at(-1)!));
  throw new UsageError(
    `no statement of ${day} has both revision ${before} and ${after}; ` +
      (newest === 1 ? 'there is one revision of each.' : `the newest one is revision ${newest}.`),
  );
}

async function load({ db }: StoreWork, { account, before, after }: Pair, day: BusinessDay) {
  const [was, is] = [await statementOf(db, account, day, before), await statementOf(db, account, day, after)];
  return { before: was!, after: is! };
}

async function textOutput(
  store: StoreWork,
  day: BusinessDay,
  pairs: readonly Pair[],
  published: number,
): Promise<CommandOutput> {
  const { db, objects, times } = store;
  const texts: string[] = [];
  let isDamaged = false;
  for (const pair of pairs.slice(0, ACCOUNTS_SHOWN_MAX)) {
    const { before, after } = await load(store, pair, day);
    const tally = tallyRows(ROWS_SHOWN_MAX);
    const problem = await problemIn(async () => {
      for await (const row of rowsBetween(objects, before, after)) tally.take(row);
    });
    isDamaged ||= problem !== null;
    const shown = [];
    for await (const rows of causesOf(db, tally.shown, before, after)) shown.push(...rows);
    texts.push(diffText({ before, after, shown, counts: tally.counts, problem }, times.zone));
  }
  const more = pairs.length - texts.length;
  const single = published - pairs.length;
  return {
    document: null,
    text: lines(
      pairs.length === 0 && `no statement of ${day} was replaced: there is one revision of each`,
      texts.length > 0 && texts.join('\n\n'),
      more > 0 &&
        `\nand ${counted(more, 'account')} more (--merchant and --currency choose, --json gives all)`,
      pairs.length > 0 && single > 0 && `\n${counted(single, 'account')} without these revisions`,
      pairs.length > 0 && `\n${times.note}`,
    ),
    exitCode: isDamaged ? EXIT.incomplete : EXIT.done,
  };
}

/** A sentence that says what is wrong with a published file; null if nothing is. */
async function problemIn(work: () => Promise<void>): Promise<string | null> {
  try {
    await work();
    return null;
  } catch (error) {
    if (error instanceof StatementDamaged) return error.message;
    throw error;
  }
}

/** Writes one JSON document while the rows are found, as a day may have a million of them. */
async function writeDocument(store: StoreWork, day: BusinessDay, pairs: readonly Pair[]): Promise<null> {
  let isDamaged = false;
  await write(`{"day":${JSON.stringify(day)},"accounts":[`);
  for (const [at, pair] of pairs.entries()) {
    const { before, after } = await load(store, pair, day);
    const head = JSON.stringify({ ...accountOf(before), before, after });
    await write(`${at === 0 ? '' : ','}\n${head.slice(0, -1)},"rows":[`);
    let isFirst = true;
    const problem = await problemIn(async () => {
      const rows = rowsBetween(store.objects, before, after);
      for await (const batch of causesOf(store.db, rows, before, after)) {
        const texts = batch.map((row) => JSON.stringify(rowDocument(row)));
        await write(`${isFirst ? '' : ','}\n${texts.join(',\n')}`);
        isFirst = false;
      }
    });
    isDamaged ||= problem !== null;
    await write(`],"problem":${JSON.stringify(problem)}}`);
  }
  await write(']}\n');
  process.exitCode = isDamaged ? EXIT.incomplete : EXIT.done;
  return null;
}

const accountOf = ({ merchant_no: merchantNo, currency }: StatementRow) => ({ merchantNo, currency });

/** Writes to stdout. Waits for a slow reader, but not for a closed one. */
async function write(text: string): Promise<void> {
  const { stdout } = process;
  if (stdout.destroyed || stdout.write(showableLines(text))) return;
  await Promise.race([once(stdout, 'drain'), once(stdout, 'close')]).catch(() => undefined);
}

/** Most rows shown of an account; the rest is counted. */
const ROWS_SHOWN_MAX = 20;

const rowDocument = (row: CausedRow) => ({ change: changeOf(row), ...row });

interface DiffTextInput {
  readonly before: StatementRow;
  readonly after: StatementRow;
  readonly shown: readonly CausedRow[];
  readonly counts: ChangeCounts;
  readonly problem: string | null;
}

function diffText({ before, after, shown, counts, problem }: DiffTextInput, zone: string): string {
  const account = { merchantNo: before.merchant_no, currency: before.currency };
  const all = counts.came + counts.went + counts.changed;
  const name = `${before.merchant_no} ${before.currency} ${before.day}`;
  return lines(
    `${showableText(name)}: revision ${before.revision} to ${after.revision}`,
    after.supersedes === before.revision && after.reason !== null && `why: ${showableText(after.reason)}`,
    figuresTable(before, after, zone),
    '',
    problem !== null && `its entries cannot be compared: ${problem}`,
    problem === null && all === 0 && sameRowsText(before, after),
    all > 0 &&
      `${counted(counts.came, 'entry', 'entries')} added, ${counts.went} removed, ${counts.changed} changed`,
    ...shown.flatMap((row) => [
      ...rowTexts(row),
      `    ${causeText(row, account, (at) => wallSecond(at.getTime(), zone))}`,
    ]),
    all > shown.length && `  and ${counted(all - shown.length, 'entry', 'entries')} more (--json gives all)`,
  );
}

const sameRowsText = (before: StatementRow, after: StatementRow): string =>
  before.sha256 === after.sha256 ? 'entries: the same' : 'entries: the same, in another order';

function figuresTable(before: StatementRow, after: StatementRow, zone: string): string {
  const published = ({ published_at }: StatementRow): string => wallTime(published_at.getTime(), zone);
  const amount = (what: string, column: 'opening' | 'credit_total' | 'debit_total' | 'closing') => {
    const moved = subtractAmounts(after[column], before[column]);
    return [what, before[column], after[column], signed(moved, compareAmounts(moved, '0'))];
  };
  const count = (what: string, column: 'credit_count' | 'debit_count' | 'break_count') => {
    const moved = after[column] - before[column];
    return [what, before[column], after[column], signed(String(moved), moved)];
  };
  return table(
    ['', `>r${before.revision}`, `>r${after.revision}`, '>change'],
    [
      ['published', published(before), published(after), ''],
      amount('opening', 'opening'),
      amount('credits', 'credit_total'),
      count('  entries', 'credit_count'),
      amount('debits', 'debit_total'),
      count('  entries', 'debit_count'),
      amount('closing', 'closing'),
      ['verdict', before.verdict, after.verdict, ''],
      count('breaks', 'break_count'),
    ],
  );
}

const signed = (moved: string, sign: number): string => (sign === 0 ? '' : sign > 0 ? `+${moved}` : moved);

const CHANGE_WORDS = { came: 'added', went: 'removed', changed: 'changed' } as const;

function rowTexts(row: CausedRow): string[] {
  const { batchNo, before, after, changed } = row;
  const cells = (after ?? before)!;
  const differences = changed.map(
    (column) => `${nameOf(column)} ${before![column]! || 'none'} → ${after![column]! || 'none'}`,
  );
  return [
    `  ${CHANGE_WORDS[changeOf(row)]} ${showableText(`${batchNo}: ${cells['booked_at'] ?? ''}, ${cells['transaction_type'] ?? ''}`)}`,
    `    ${showableText((changed.length > 0 ? differences : otherCells(cells)).join(', '))}`,
  ];
}

const nameOf = (column: string): string => column.replaceAll('_', ' ');

/** Columns that are shown before the others, or that all rows of the account share. */
const COLUMNS_OF_THE_HEAD: readonly string[] = ['batch_no', 'booked_at', 'currency', 'transaction_type'];

const otherCells = (cells: Cells): string[] =>
  Object.entries(cells)
    .filter(([column, cell]) => cell !== '' && !COLUMNS_OF_THE_HEAD.includes(column))
    .map(([column, cell]) => `${nameOf(column)} ${cell}`);
