/** `/breaks` and `/breaks/ID`: breaks, and each as a case that is taken, commented, resolved and reopened. */
import { breaksPage, casePage, type CaseShown, type DecisionShown } from '../html/breaks.ts';
import type { Texts } from '../html/texts/en.ts';
import { readQuarantined } from '../../../platform/ledger-entry.ts';
import { breakCase, type BreakCase, messageToPlatform } from '../../../run/break-case.ts';
import {
  BREAK_STEPS,
  NOTE_CHARACTERS_MAX,
  takeStep,
  type BreakStep,
  breakById,
  lastSteps,
  stateOf,
  type CaseState,
  type StepKind,
} from '../../../store/breaks/break-cases.ts';
import { listAccountDays } from '../../../store/account-days.ts';
import { countBreaks, listBreaks, type BreakRow } from '../../../store/breaks/breaks.ts';
import { lastRepeatOf } from '../../../store/repeats.ts';
import { statementsOfDay } from '../../../store/statements/statements.ts';
import { maySee, PageRefusal, type Asked, type DoForm, type MakePage, type PagesContext } from './context.ts';

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
  return { refusedPage: await caseOf(context, asked, said, asked.field('note') ?? '') };
};

export const showBreaks: MakePage = async ({ db }, { view, person, query }) => {
  const asked = /^[1-9]\d{0,5}$/.test(query('page') ?? '') ? Number(query('page')) : 1;
  const all = query('all') !== null;
  const filter = { merchants: person.merchants, currencies: null, all };
  const pageOf = (page: number): Promise<BreakRow[]> =>
    listBreaks(db, { ...filter, limit: BREAKS_A_PAGE + 1, offset: (page - 1) * BREAKS_A_PAGE });
  let [page, found] = [asked, await pageOf(asked)];
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
    const state = stateOf(row, steps.get(row.id));
    return { row, state, takenBy: state === 'taken' ? steps.get(row.id)!.by : null };
  });
  return breaksPage(view, { breaks, all, page, hasMore: found.length > rows.length });
};

async function caseOf(
  { db, settings, zone, now }: PagesContext,
  asked: Asked,
  said: CaseShown['said'],
  note = '',
): Promise<string> {
  const { clockToleranceS } = settings;
  const found = await breakCase(db, await visibleId(db, asked), { clockToleranceS, readQuarantined });
  if (found === null) throw new PageRefusal(404);
  const message = messageToPlatform(found, null, { zone, now: now() });
  const shown = said ?? doneText(asked, found);
  const decision = found.state === 'resolved' ? await decisionOf(db, found) : null;
  return casePage(asked.view, { found, steps: stepsFor(found), message, said: shown, note, decision });
}

/** Whether the day's statement carries what was decided. */
async function decisionOf(db: PagesContext['db'], { row }: BreakCase): Promise<DecisionShown> {
  const { merchant_no: merchantNo, currency, day } = row;
  const [[known], published, last] = await Promise.all([
    listAccountDays(db, { merchants: [merchantNo], currencies: [currency], fromDay: day, toDay: day }),
    statementsOfDay(db, merchantNo, day),
    lastRepeatOf(db, { merchantNo, day }),
  ]);
  const current = published.findLast((one) => one.currency === currency);
  return { isDue: known?.is_due ?? true, revision: current?.revision ?? null, last };
}

/** The confirmation of a step, if the last one of the case is this person's and of that kind. */
function doneText({ query, person, view }: Asked, { history }: BreakCase): CaseShown['said'] {
  const [done, last] = [kindOf(query('done')), history.at(-1)];
  if (done === null || last?.what !== done || last.by !== person.name) return null;
  return { text: view.texts.case.done[done], isWrong: false };
}

/** The number in the path of a break that the person may see. Throws `PageRefusal`. */
async function visibleId(db: PagesContext['db'], { part, person }: Asked): Promise<number> {
  const id = /^\d{1,15}$/.test(part('id')) ? Number(part('id')) : 0;
  const row = await breakById(db, id);
  if (row === undefined || !maySee(person, row.merchant_no)) throw new PageRefusal(404);
  return id;
}

const stepsFor = ({ state }: BreakCase): BreakStep[] => STEPS[state].map((kind) => BREAK_STEPS[kind]);

const kindOf = (text: string | null): StepKind | null =>
  text !== null && Object.hasOwn(BREAK_STEPS, text) ? (text as StepKind) : null;

/** Returns what to say where it cannot be done. */
async function takeAskedStep({ db, now }: PagesContext, asked: Asked): Promise<string | null> {
  const kind = kindOf(asked.field('step'));
  if (kind === null) throw new PageRefusal(400);
  const id = await visibleId(db, asked);
  const step = BREAK_STEPS[kind];
  const note = asked.field('note')?.trim() ?? '';
  const wrong = noteProblem(step, note, asked.view.texts);
  if (wrong !== null) return wrong;
  const auditEvent = {
    by: asked.person.name,
    command: `breaks ${step.name}`,
    subject: String(id),
    note: note || undefined,
  };
  try {
    await takeStep(db, step, { id, auditEvent, now: now(), refused: () => new StepRefused() });
    return null;
  } catch (error) {
    if (error instanceof StepRefused) return asked.view.texts.case.refused[kind];
    throw error;
  }
}

/** Another person was quicker, or the break has healed. */
class StepRefused extends Error {
  override readonly name = 'StepRefused';
}

function noteProblem({ needsNote }: BreakStep, note: string, texts: Texts): string | null {
  if (note.length > NOTE_CHARACTERS_MAX) return texts.case.noteLong(NOTE_CHARACTERS_MAX);
  return needsNote && note === '' ? texts.case.noteMissing : null;
}
