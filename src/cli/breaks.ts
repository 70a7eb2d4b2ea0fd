/** `breaks`: lists the breaks of the balance chain. Its subcommands handle each as a case. */
import { Option, type Command } from 'commander';
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
  BREAK_CHOICES,
  BREAK_STEPS,
  NOTE_CHARACTERS_MAX,
  takeStep,
  type BreakChoice,
  type BreakStep,
  lastSteps,
  breakById,
  handledAs,
  handlingOf,
} from '../store/breaks/break-cases.ts';
import { chosenMerchants } from '../run/chosen-merchants.ts';
import { UsageError } from '../run/verdict/exit-codes.ts';
import { assignmentProblem } from '../run/operators.ts';
import type { AuditEvent } from '../store/audit.ts';
import { dayOf } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
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
  dayFlag,
  idFlag,
  pageOf,
  withPageFlags,
  type PageFlags,
  type RangeFlags,
  textFlag,
} from './flags.ts';
import { caseText } from './output/break-case-text.ts';
import { createRetryLog } from './output/progress-line.ts';
import { assignedText, breakText, breakTexts } from './output/run-text.ts';
import { counted, line, lines, nextLine, type Times } from './output/text.ts';

const EXAMPLES = `
While a break is open, every run of its merchant ends with exit code 3; an assigned break is still open.

Examples:
  daybook breaks
  daybook breaks --merchant M1 --all
  daybook breaks --state unassigned
  daybook breaks show 7
  daybook breaks take 7 --by Ada
  daybook breaks take 7 --to Grace --due 2026-04-30 --by Ada
  daybook breaks resolve 7 --note "hold on the available balance, case 4711"`;

interface ListFlags extends PageFlags, Pick<RangeFlags, 'merchant' | 'currency'> {
  readonly all?: boolean;
  readonly state?: string;
}

const withListFlags = (command: Command): Command =>
  withPageFlags(
    command
      .option('--all', 'healed and resolved ones too; the same as `--state all`')
      .addOption(
        new Option(
          '--state <state>',
          'only these: open (default), of them unassigned or taken, resolved, healed, or all',
        ).conflicts('all'),
      )
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
  const {
    all = false,
    state: given,
    json = false,
    ...flags
  } = self.optsWithGlobals<ListFlags & GlobalFlags>();
  const state = given === undefined ? (all ? 'all' : 'open') : choiceOf(given);
  return answer(self, async ({ db, times, now }) => {
    const { limit, after } = pageOf(flags, json);
    const found = await listBreaks(db, {
      ...{ ...accountsFlagged(flags), ...handledAs(state) },
      limit: limit === undefined ? undefined : limit + 1,
      after: after === undefined ? undefined : idFlag(after, `--after ${after} is no number of a break.`),
    });
    const rows = await casesOf(db, limit === undefined ? found : found.slice(0, limit));
    const next = rows.length < found.length ? String(rows.at(-1)!.id) : null;
    const today = dayOf(now().getTime(), times.zone);
    return { document: rows, text: listText(rows, { state, next, times, today }) };
  });
}

function choiceOf(text: string): BreakChoice {
  const choice = BREAK_CHOICES.find((one) => one === text);
  if (choice !== undefined) return choice;
  throw new UsageError(`--state ${text} is no state of breaks; write one of ${BREAK_CHOICES.join(', ')}.`);
}

type CaseRow = BreakRow & {
  readonly state: string;
  readonly taken_by: string | null;
  readonly due_on: BusinessDay | null;
};

async function casesOf(db: Kysely<DB>, rows: readonly BreakRow[]): Promise<CaseRow[]> {
  const steps = await lastSteps(
    db,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => {
    const { state, takenBy, dueOn } = handlingOf(row, steps.get(row.id));
    return { ...row, state, taken_by: takenBy, due_on: dueOn };
  });
}

const NONE: Readonly<Record<BreakChoice, string>> = {
  open: 'no open break',
  unassigned: 'no unassigned break',
  taken: 'no assigned break',
  resolved: 'no resolved break',
  healed: 'no healed break',
  all: 'no break',
};

function listText(
  rows: readonly CaseRow[],
  {
    state,
    next,
    times,
    today,
  }: {
    readonly state: BreakChoice;
    readonly next: string | null;
    readonly times: Times;
    readonly today: BusinessDay;
  },
): string {
  if (rows.length === 0) return NONE[state];
  const open = rows.filter(({ status }) => status === 'open');
  const assigned = new Map(
    open.map(({ id, taken_by: takenBy, due_on: dueOn }) => [id, assignedText({ takenBy, dueOn }, today)]),
  );
  return lines(
    counted(rows.length, 'break'),
    ...breakTexts(open, times.zone, assigned).map((text) => `\n${text}`),
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
  readonly done: (id: string, to?: string) => string;
}

const noOpen = (id: string): string => `no open break has the number ${id}; \`daybook breaks\` lists them.`;

const STEPS: readonly Step[] = [
  {
    step: BREAK_STEPS.taken,
    description: 'take responsibility for a break, or give it to somebody else; it stays open',
    noteOf: null,
    refusal: noOpen,
    done: (id, to = 'you') =>
      line`break ${id} is assigned to ${to}; it stays open until it heals or is resolved`,
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
    if (step.step.kind === 'taken')
      command
        .option('--to <name>', 'who is responsible: an operator of the merchant (default: the name of --by)')
        .option('--due <day>', 'by when, YYYY-MM-DD; each assignment has its own');
    command
      .description(step.description)
      .addHelpText('after', `\nExample:\n  daybook breaks ${step.step.name} 7 --by Ada --note "case 4711"`)
      .action((id: string, flags: StepFlags, self: Command) => take(step, id, flags, self));
  }
}

const breakIdOf = (text: string): number =>
  idFlag(text, `${text} is no break’s number; \`daybook breaks\` lists them.`);

interface StepFlags {
  readonly note?: string;
  readonly to?: string;
  readonly due?: string;
}

async function take(
  step: Step,
  text: string,
  { note: noteGiven, to: toGiven, due }: StepFlags,
  self: Command,
): Promise<void> {
  const id = breakIdOf(text);
  if (noteGiven !== undefined && noteGiven.trim().length > NOTE_CHARACTERS_MAX)
    throw new UsageError(
      `--note has over ${NOTE_CHARACTERS_MAX} characters; it is published with the day’s files.`,
    );
  const note = textFlag(noteGiven, `say ${step.noteOf ?? 'something, or leave it out'}`);
  const to = textFlag(toGiven, 'name the person, or leave it out', '--to');
  await answer(self, async (store) => {
    const { db, now } = store;
    const auditEvent = auditEventOf(self, id, note);
    const assignment =
      to === undefined && due === undefined
        ? undefined
        : await checkedAssignment(store, id, { to: to ?? auditEvent.by, due, isOther: to !== undefined });
    const row = await takeStep(db, step.step, {
      id,
      auditEvent: { ...auditEvent, assignment },
      now: now(),
      refused: () => new UsageError(step.refusal(text)),
    });
    return { document: row, text: step.done(text, to) };
  });
}

/** Throws `UsageError` for a day that is over, and for a name that cannot be an operator of the break's merchant. */
async function checkedAssignment(
  { db, settings, times, now }: StoreWork,
  id: number,
  { to, due, isOther }: { readonly to: string; readonly due: string | undefined; readonly isOther: boolean },
): Promise<AuditEvent['assignment']> {
  const assignment = { to, due: dayFlag('--due', due) ?? null };
  const merchantNo = (await breakById(db, id))?.merchant_no;
  // Of a break that is not there, the step itself says so.
  if (merchantNo === undefined) return assignment;
  const today = dayOf(now().getTime(), times.zone);
  const asked = { ...assignment, to: isOther ? to : null };
  const wrong = assignmentProblem(asked, { merchantNo, today, roles: settings.access.roles });
  if (wrong !== null) throw new UsageError(`--${wrong.field} ${wrong.problem}`);
  return assignment;
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
  const { row, state, takenBy, dueOn, ...rest } = found;
  return {
    document: {
      break: { ...row, state, taken_by: takenBy, due_on: dueOn },
      timeZone: times.zone,
      ...rest,
      platform: answered,
      platformNotAsked: 'failure' in asked ? asked.failure : null,
      message,
    },
    text: caseText(found, asked, { message, times, today: dayOf(now().getTime(), times.zone) }),
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
