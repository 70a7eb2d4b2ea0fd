/** `breaks`: lists the breaks of the balance chain. Its subcommands handle each as a case. */
import type { Command } from 'commander';
import type { Kysely } from 'kysely';
import { lastSteps, stateOf } from '../store/breaks/break-cases.ts';
import { listBreaks, type BreakRow } from '../store/breaks/breaks.ts';
import type { DB } from '../store/engine/schema.ts';
import { addCaseCommands } from './breaks-case.ts';
import { addShowCommand } from './breaks-show.ts';
import { collect } from './collect.ts';
import { offlineSettings, print, withApp, type GlobalFlags } from './context.ts';
import { merchantsOf } from './range-flags.ts';
import { breakText, breakTexts } from './output/run-text.ts';
import { counted, cutLine, line, lines, LIST_SHOWN_MAX } from './output/text.ts';
import { timesOf, type Times } from './output/times.ts';

const EXAMPLES = `
An open break keeps runs from being green until it heals or is resolved; an assigned one is still open.

Examples:
  daybook breaks
  daybook breaks --merchant M1 --all
  daybook breaks show 7
  daybook breaks take 7 --by Ada
  daybook breaks resolve 7 --note "fee, case 4711"`;

interface ListFlags {
  readonly all?: boolean;
  readonly merchant: readonly string[];
}

const withListFlags = (command: Command): Command =>
  command
    .option('--all', 'healed and resolved ones too')
    .option('--merchant <no>', 'only this merchant (may be repeated)', collect, []);

export function addBreaksCommand(program: Command): void {
  const breaks = withListFlags(program.command('breaks'))
    .description('open breaks of the balance chain, each explained; and each as a case')
    .addHelpText('after', EXAMPLES)
    .action(list);
  withListFlags(breaks.command('list')).description('the same as `breaks`').action(list);
  addShowCommand(breaks);
  addCaseCommands(breaks);
}

async function list(_flags: object, self: Command): Promise<void> {
  // Flags that `breaks` has as well are taken for its own, wherever they stand.
  const { all = false, json = false, ...flags } = self.optsWithGlobals<ListFlags & GlobalFlags>();
  const settings = offlineSettings(self);
  await withApp(settings, async ({ database }) => {
    const accounts = { merchants: merchantsOf(flags), currencies: null };
    const limit = json ? undefined : LIST_SHOWN_MAX + 1;
    const found = await listBreaks(database.db, { ...accounts, all, limit });
    const rows = await casesOf(database.db, found);
    print(self, { document: rows, text: listText(rows, timesOf(settings)) });
  });
}

/** A stored break, with the state of its case. */
type CaseRow = BreakRow & { readonly state: string; readonly taken_by: string | null };

async function casesOf(db: Kysely<DB>, rows: readonly BreakRow[]): Promise<CaseRow[]> {
  const steps = await lastSteps(
    db,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => {
    const state = stateOf(row, steps.get(row.id));
    return { ...row, state, taken_by: state === 'taken' ? steps.get(row.id)!.by : null };
  });
}

function listText(found: readonly CaseRow[], times: Times): string {
  if (found.length === 0) return 'no open break';
  const rows = found.slice(0, LIST_SHOWN_MAX);
  const open = rows.filter(({ status }) => status === 'open');
  const takers = new Map(open.flatMap(({ id, taken_by: by }) => (by === null ? [] : [[id, by] as const])));
  return lines(
    counted(rows.length, 'break'),
    ...breakTexts(open, times.zone, takers).map((text) => `\n${text}`),
    ...rows.filter(({ status }) => status !== 'open').map((row) => closedText(row, times)),
    cutLine(
      found.length > rows.length,
      'breaks',
      '`--merchant NO` shows those of one merchant, `--json` has all',
    ),
    `\n${times.note}`,
  );
}

const closedText = (row: BreakRow, times: Times): string =>
  `\n${breakText(row, times.zone)}\n  ${row.status} ${times.at(row.closed_at)}` +
  (row.note === null ? '' : line`: ${row.note}`);
