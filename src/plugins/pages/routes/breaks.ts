/** `/breaks` and `/breaks/ID`: breaks, and each as a case that is taken, commented, resolved and reopened. */
import {
  breaksPage,
  casePage,
  type BreaksAsked,
  type CaseShown,
  type DecisionShown,
  type Typed,
} from '../html/breaks.ts';
import type { Texts } from '../html/texts/en.ts';
import { dayOf, daysFromTo, isDay } from '../../../ledger/business-day.ts';
import type { BusinessDay } from '../../../ledger/entry.ts';
import { readQuarantined } from '../../../platform/ledger-entry.ts';
import { breakCase, type BreakCase, messageToPlatform } from '../../../run/break-case.ts';
import {
  BREAK_CHOICES,
  BREAK_STEPS,
  NOTE_CHARACTERS_MAX,
  takeStep,
  type BreakStep,
  breakById,
  lastSteps,
  handledAs,
  handlingOf,
  type CaseState,
  type StepKind,
} from '../../../store/breaks/break-cases.ts';
import { mayBeOperator, namedOperators } from '../../../run/operators.ts';
import type { AuditEvent } from '../../../store/audit.ts';
import { listAccountDays } from '../../../store/account-days.ts';
import { countBreaks, listBreaks, type BreakRow } from '../../../store/breaks/breaks.ts';
import { lastRequestOf } from '../../../store/requests.ts';
import { statementsOfDay } from '../../../store/statements/statements.ts';
import {
  pageIn,
  maySee,
  PageRefusal,
  withNames,
  type Asked,
  type DoForm,
  type MakePage,
  type PagesContext,
} from './context.ts';

const BREAKS_A_PAGE = 50;

/** What can be done about a case, by its state. */
const STEPS: Readonly<Record<CaseState, readonly StepKind[]>> = {
  open: ['taken', 'resolved', 'commented'],
  taken: ['resolved', 'commented', 'taken'],
  resolved: ['reopened', 'commented'],
  healed: ['commented'],
};

export const showCase: MakePage = (context, asked) => caseOf(context, asked, null);

/** Takes the step that a form about a case asks for. */
export const doStep: DoForm = async (context, asked) => {
  const refused = await takeAskedStep(context, asked);
  if (refused === null) return { doneAt: `/breaks/${asked.part('id')}?done=${asked.field('step')!}` };
  const said = { text: refused, isWrong: true };
  const typed = (name: string): string => asked.field(name) ?? '';
  return {
    refusedPage: await caseOf(context, asked, said, {
      note: typed('note'),
      to: typed('to'),
      due: typed('due'),
    }),
  };
};

export const showBreaks: MakePage = async (context, { view, person, query, today }) => {
  const { db, zone } = context;
  const number = pageIn(query);
  const asked = askedIn(query);
  const filter = filterOf(asked, person);
  const pageOf = (page: number): Promise<BreakRow[]> =>
    listBreaks(db, { ...filter, limit: BREAKS_A_PAGE + 1, offset: (page - 1) * BREAKS_A_PAGE });
  let [page, found] = [number, await pageOf(number)];
  if (found.length === 0 && page > 1) {
    // Breaks have healed or were resolved meanwhile: what is left ends on an earlier page.
    page = Math.max(1, Math.ceil((await countBreaks(db, filter)) / BREAKS_A_PAGE));
    found = await pageOf(page);
  }
  const rows = found.slice(0, BREAKS_A_PAGE);
  const steps = await lastSteps(
    db,
    rows.map(({ id }) => id),
  );
  const breaks = rows.map((row) => {
    const foundOn = dayOf(row.found_at.getTime(), zone);
    const ageDays = row.status === 'open' ? Math.max(0, daysFromTo(foundOn, today).length - 1) : null;
    return { row, ageDays, ...handlingOf(row, steps.get(row.id)) };
  });
  const named = await withNames(
    context,
    view,
    rows.map((row) => row.merchant_no),
  );
  return breaksPage(named, { breaks, asked, today, page, hasMore: found.length > rows.length });
};

function askedIn(query: Asked['query']): BreaksAsked {
  // `all=yes` is in addresses of before.
  const state = query('state') ?? (query('all') === null ? 'open' : 'all');
  return {
    merchant: query('merchant')?.trim() ?? '',
    currency: query('currency')?.trim().toUpperCase() ?? '',
    which: BREAK_CHOICES.find((one) => one === state) ?? 'open',
    isMine: query('mine') !== null,
  };
}

/** What is asked for of what the person may see. */
function filterOf({ merchant, currency, which, isMine }: BreaksAsked, person: Asked['person']) {
  const own = maySee(person, merchant) ? [merchant] : [];
  return {
    merchants: merchant === '' ? person.merchants : own,
    currencies: currency === '' ? null : [currency],
    ...handledAs(which, isMine ? person.name : null),
  };
}

async function caseOf(
  context: PagesContext,
  asked: Asked,
  said: CaseShown['said'],
  typed: Typed = { note: '', to: '', due: '' },
): Promise<string> {
  const { db, settings, zone, now } = context;
  const { clockToleranceS, access } = settings;
  const { id } = await visibleBreak(db, asked);
  const found = await breakCase(db, id, { clockToleranceS, readQuarantined });
  if (found === null) throw new PageRefusal(404);
  const message = messageToPlatform(found, null, { zone, now: now() });
  const shown = said ?? doneText(asked, found);
  const decision = found.state === 'resolved' ? await decisionOf(db, found) : null;
  const operators = namedOperators(found.row.merchant_no, access.roles);
  const view = await withNames(context, asked.view, [found.row.merchant_no]);
  return casePage(view, {
    found,
    steps: stepsFor(found),
    message,
    said: shown,
    typed,
    decision,
    operators,
    today: asked.today,
  });
}

/** Whether the day's statement carries what was decided. */
async function decisionOf(db: PagesContext['db'], { row }: BreakCase): Promise<DecisionShown> {
  const { merchant_no: merchantNo, currency, day } = row;
  const [[known], published, last] = await Promise.all([
    listAccountDays(db, { merchants: [merchantNo], currencies: [currency], fromDay: day, toDay: day }),
    statementsOfDay(db, merchantNo, day),
    lastRequestOf(db, { merchantNo, day }),
  ]);
  const current = published.findLast((one) => one.currency === currency);
  return {
    isDue: known === undefined || known.version !== known.published_version,
    revision: current?.revision ?? null,
    last,
  };
}

/** The confirmation of a step, if the last one of the case is this person's and of that kind. */
function doneText({ query, person, view }: Asked, { history }: BreakCase): CaseShown['said'] {
  const [done, last] = [kindOf(query('done')), history.at(-1)];
  if (done === null || last?.what !== done || last.by !== person.name) return null;
  const { to = person.name } = last.assignment ?? {};
  const texts = view.texts.case.done;
  return {
    text: done === 'taken' ? texts.taken(to === person.name ? null : to) : texts[done],
    isWrong: false,
  };
}

/** The break in the path, if the person may see it. Throws `PageRefusal`. */
async function visibleBreak(db: PagesContext['db'], { part, person }: Asked): Promise<BreakRow> {
  const id = /^\d{1,15}$/.test(part('id')) ? Number(part('id')) : 0;
  const row = await breakById(db, id);
  if (row === undefined || !maySee(person, row.merchant_no)) throw new PageRefusal(404);
  return row;
}

const stepsFor = ({ state }: BreakCase): BreakStep[] => STEPS[state].map((kind) => BREAK_STEPS[kind]);

const kindOf = (text: string | null): StepKind | null =>
  text !== null && Object.hasOwn(BREAK_STEPS, text) ? (text as StepKind) : null;

/** Returns what to say where it cannot be done. */
async function takeAskedStep({ db, now, settings }: PagesContext, asked: Asked): Promise<string | null> {
  const kind = kindOf(asked.field('step'));
  if (kind === null) throw new PageRefusal(400);
  const row = await visibleBreak(db, asked);
  const { id } = row;
  const { roles } = settings.access;
  const { dueOn } = handlingOf(row, (await lastSteps(db, [id])).get(id));
  const step = BREAK_STEPS[kind];
  const note = asked.field('note')?.trim() ?? '';
  const wrong = noteProblem(step, note, asked.view.texts);
  if (wrong !== null) return wrong;
  const assignment = kind === 'taken' ? assignmentIn(asked, row, { roles, dueOn }) : undefined;
  if (typeof assignment === 'string') return assignment;
  const auditEvent = {
    by: asked.person.name,
    command: `breaks ${step.name}`,
    subject: String(id),
    note: note || undefined,
    assignment,
  };
  try {
    await takeStep(db, step, { id, auditEvent, now: now(), refused: () => new StepRefused() });
    return null;
  } catch (error) {
    if (error instanceof StepRefused) return asked.view.texts.case.refused[kind];
    throw error;
  }
}

/** What the form of an assignment says, of whoever sent it where it names no one; or what is wrong with it. */
function assignmentIn(
  { field, person, today, view: { texts, format } }: Asked,
  { merchant_no: merchantNo }: BreakRow,
  {
    roles,
    dueOn,
  }: {
    readonly roles: PagesContext['settings']['access']['roles'];
    /** Until now: it may stay though it is over. */
    readonly dueOn: BusinessDay | null;
  },
): NonNullable<AuditEvent['assignment']> | string {
  const to = field('to')?.trim().normalize('NFC') || person.name;
  if (to !== person.name && !mayBeOperator(to, merchantNo, roles))
    return texts.case.notOperator(to, merchantNo);
  const due = field('due');
  if (due !== null && due !== dueOn && !(isDay(due) && due >= today))
    return texts.case.dueWrong(format.plain.day(today));
  return { to, due };
}

/** Another person was quicker, or the break has healed. */
class StepRefused extends Error {
  override readonly name = 'StepRefused';
}

function noteProblem({ needsNote }: BreakStep, note: string, texts: Texts): string | null {
  if (note.length > NOTE_CHARACTERS_MAX) return texts.case.noteLong(NOTE_CHARACTERS_MAX);
  return needsNote && note === '' ? texts.case.noteMissing : null;
}
