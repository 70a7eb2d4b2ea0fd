/** `breaks`: lists the breaks of the balance chain. Its subcommands handle each as a case. */
import type { Command } from 'commander';
import type { Kysely } from 'kysely';
import { readQuarantined } from '../platform/ledger-entry.ts';
import { openPlatform } from '../run/app.ts';
import {
  askAboutBreak,
  type Asked,
  breakCase,
  type BreakCase,
  messageToPlatform,
} from '../run/break-case.ts';
import {
  BREAK_STEPS,
  NOTE_CHARACTERS_MAX,
  takeStep,
  type BreakStep,
  lastSteps,
  stateOf,
} from '../store/breaks/break-cases.ts';
import { chosenMerchants } from '../run/chosen-merchants.ts';
import { UsageError } from '../run/verdict/exit-codes.ts';
import { listBreaks, type BreakRow } from '../store/breaks/breaks.ts';
import type { DB } from '../store/engine/schema.ts';
import {
  answer,
  auditEventOf,
  collect,
  createLog,
  withBy,
  type CommandOutput,
  type GlobalFlags,
  type StoreWork,
} from './context.ts';
import {
  accountsFlagged,
  idFlag,
  pageOf,
  withPageFlags,
  type PageFlags,
  type RangeFlags,
  textFlag,
} from './flags.ts';
import { caseText } from './output/break-case-text.ts';
import { createRetryLog } from './output/progress-line.ts';
import { breakText, breakTexts } from './output/run-text.ts';
import { counted, line, lines, nextLine, type Times } from './output/text.ts';

const EXAMPLES = `
While a break is open, every run of its merchant ends with exit code 3; an assigned break is still open.

Examples:
  daybook breaks
  daybook breaks --merchant M1 --all
  daybook breaks show 7
  daybook breaks take 7 --by Ada
  daybook breaks resolve 7 --note "hold on the available balance, case 4711"`;

interface ListFlags extends PageFlags, Pick<RangeFlags, 'merchant' | 'currency'> {
  readonly all?: boolean;
}

const withListFlags = (command: Command): Command =>
  withPageFlags(
    command
      .option('--all', 'healed and resolved ones too')
      .option('--merchant <no>', 'only this merchant (may be repeated)', collect, [])
      .option('--currency <code>', 'only this currency (may be repeated)', collect, []),
    'id',
  );

export function breaksCommand(breaks: Command): void {
  withListFlags(breaks).addHelpText('after', EXAMPLES).action(list);
  withListFlags(breaks.command('list')).description('the same as `breaks`').action(list);
  addShowCommand(breaks);
  addCaseCommands(breaks);
}

function list(_flags: object, self: Command): Promise<void> {
  // Flags that `breaks` has as well are taken for its own, wherever they stand.
  const { all = false, json = false, ...flags } = self.optsWithGlobals<ListFlags & GlobalFlags>();
  return answer(self, async ({ db, times }) => {
    const { limit, after } = pageOf(flags, json);
    const found = await listBreaks(db, {
      ...{ ...accountsFlagged(flags), all },
      limit: limit === undefined ? undefined : limit + 1,
      after: after === undefined ? undefined : idFlag(after, `--after ${after} is no number of a break.`),
    });
    const rows = await casesOf(db, limit === undefined ? found : found.slice(0, limit));
    const next = rows.length < found.length ? String(rows.at(-1)!.id) : null;
    return { document: rows, text: listText(rows, next, times) };
  });
}

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

function listText(rows: readonly CaseRow[], next: string | null, times: Times): string {
  if (rows.length === 0) return 'no open break';
  const open = rows.filter(({ status }) => status === 'open');
  const takers = new Map(open.flatMap(({ id, taken_by: by }) => (by === null ? [] : [[id, by] as const])));
  return lines(
    counted(rows.length, 'break'),
    ...breakTexts(open, times.zone, takers).map((text) => `\n${text}`),
    ...rows.filter(({ status }) => status !== 'open').map((row) => closedText(row, times)),
    nextLine(rows.length, 'break', next),
    `\n${times.note}`,
  );
}

const closedText = (row: BreakRow, times: Times): string =>
  `\n${breakText(row, times.zone)}\n  ${row.status} ${times.at(row.closed_at)}` +
  (row.note === null ? '' : line`: ${row.note}`);

const PUBLISHED_LATER =
  'the next run or `daybook publish` publishes this in the manifest and summary of its day';

interface Step {
  readonly step: BreakStep;
  readonly description: string;
  /** What the note has to say, if a note is required; null if not. */
  readonly noteOf: string | null;
  readonly refusal: (id: string) => string;
  readonly done: (id: string) => string;
}

const noOpen = (id: string): string => `no open break has the number ${id}; \`daybook breaks\` lists them.`;

const STEPS: readonly Step[] = [
  {
    step: BREAK_STEPS.taken,
    description: 'take responsibility for a break; it stays open',
    noteOf: null,
    refusal: noOpen,
    done: (id) => `break ${id} is assigned to you; it stays open until it heals or is resolved`,
  },
  {
    step: BREAK_STEPS.commented,
    description: 'add to what is known of a break, open or not',
    noteOf: 'what there is to say',
    refusal: (id) => `no break has the number ${id}; \`daybook breaks --all\` lists them.`,
    done: (id) => `the comment is kept with break ${id}`,
  },
  {
    step: BREAK_STEPS.resolved,
    description:
      'record the valid reason for the difference at a break. The break no longer counts as open; the figures and the verdict stay the same',
    noteOf: 'the reason for the difference',
    refusal: noOpen,
    done: (id) => lines(`break ${id} is resolved`, `${PUBLISHED_LATER}; the verdict stays broken`),
  },
  {
    step: BREAK_STEPS.reopened,
    description: 'open a resolved break again',
    noteOf: null,
    refusal: (id) =>
      `no resolved break has the number ${id}; \`daybook breaks --all\` lists them. One that healed and is found again ` +
      'has a new number.',
    done: (id) => lines(`break ${id} is open again and unassigned`, PUBLISHED_LATER),
  },
];

function addCaseCommands(breaks: Command): void {
  for (const step of STEPS) {
    const command = withBy(breaks.command(step.step.name)).argument('<id>', 'the break’s number');
    if (step.noteOf === null) command.option('--note <text>', 'kept with it');
    else command.requiredOption('--note <text>', `${step.noteOf}; kept with it`);
    command
      .description(step.description)
      .addHelpText('after', `\nExample:\n  daybook breaks ${step.step.name} 7 --by Ada --note "case 4711"`)
      .action((id: string, { note }: { readonly note?: string }, self: Command) =>
        take(step, id, note, self),
      );
  }
}

const breakIdOf = (text: string): number =>
  idFlag(text, `${text} is no break’s number; \`daybook breaks\` lists them.`);

async function take(step: Step, text: string, noteGiven: string | undefined, self: Command): Promise<void> {
  const id = breakIdOf(text);
  if (noteGiven !== undefined && noteGiven.trim().length > NOTE_CHARACTERS_MAX)
    throw new UsageError(
      `--note has over ${NOTE_CHARACTERS_MAX} characters; it is published with the day’s files.`,
    );
  const note = textFlag(noteGiven, `say ${step.noteOf ?? 'something, or leave it out'}`);
  await answer(self, async ({ db, now }) => {
    const row = await takeStep(db, step.step, {
      id,
      auditEvent: auditEventOf(self, id, note),
      now: now(),
      refused: () => new UsageError(step.refusal(text)),
    });
    return { document: row, text: step.done(text) };
  });
}

/** Short, as a page must load quickly, and most of it does not need the platform. */
const RETRIES_MAX = 1;

function addShowCommand(breaks: Command): void {
  breaks
    .command('show')
    .argument('<id>', 'the break’s number')
    .option('--offline', 'do not ask the platform')
    .description('one break as a case: the rows around it, what else is known, and a message to the platform')
    .addHelpText('after', '\nExamples:\n  daybook breaks show 7\n  daybook breaks show 7 --offline --json')
    .action((text: string, { offline = false }: { readonly offline?: boolean }, self: Command) => {
      const id = breakIdOf(text);
      return answer(self, (store) => showCase(id, offline, store));
    });
}

async function showCase(id: number, offline: boolean, store: StoreWork): Promise<CommandOutput> {
  const { db, settings, times, now } = store;
  const { clockToleranceS } = settings;
  const found = await breakCase(db, id, { clockToleranceS, readQuarantined });
  if (found === null)
    throw new UsageError(`no break has the number ${id}; \`daybook breaks --all\` lists them.`);
  const asked: Asked = offline ? { failure: 'not asked (--offline)' } : await ask(found, store);
  const answered = 'answer' in asked ? asked.answer : null;
  const message = messageToPlatform(found, answered, { zone: times.zone, now: now() });
  const { row, state, takenBy, ...rest } = found;
  return {
    document: {
      break: { ...row, state, taken_by: takenBy },
      timeZone: times.zone,
      ...rest,
      platform: answered,
      platformNotAsked: 'failure' in asked ? asked.failure : null,
      message,
    },
    text: caseText(found, asked, { message, times }),
  };
}

async function ask(found: BreakCase, { database, db, settings }: StoreWork): Promise<Asked> {
  const { platform } = settings;
  if (platform === null)
    return { failure: 'not asked: PLATFORM_BASE_URL and PLATFORM_TIME_ZONE are not both set' };
  const retriesMax = Math.min(RETRIES_MAX, platform.retriesMax);
  const complete = { ...settings, platform: { ...platform, retriesMax } };
  const log = createLog(settings.logLevel);
  const client = openPlatform(complete, { onRetry: createRetryLog(log) });
  try {
    const access = async () =>
      (await chosenMerchants({ database, settings: complete }, [found.row.merchant_no]))[0]!;
    return await askAboutBreak({ db, reader: client.reader, access }, found.row);
  } finally {
    await client.close();
  }
}
