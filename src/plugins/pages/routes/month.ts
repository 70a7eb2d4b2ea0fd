/** `/m/MERCHANT/YYYY-MM`: a merchant's month, and closing it. */
import { listPreparations } from '../../../months/approval.ts';
import { closeMonth } from '../../../months/close.ts';
import { listCloses } from '../../../months/stored.ts';
import { addDays } from '../../../ledger/business-day.ts';
import { ObjectStoreRefused, ObjectStoreUnreachable } from '../../../objects/object-store.ts';
import type { CloseForm } from '../html/close.ts';
import { monthPage } from '../html/month.ts';
import type { Said } from '../html/view.ts';
import { accountMonths, type Month } from '../../../months/month.ts';
import {
  REASON_CHARACTERS_MAX,
  type CloseOptions,
  type CloseResult,
  type CloseStep,
  type MonthClose,
  type Obstacle,
  type Preparation,
} from '../../../months/closes.ts';
import { StatementDamaged } from '../../../statements/fetch.ts';
import { openDaysIn } from '../../../months/open-days.ts';
import type { AuditEvent } from '../../../store/audit.ts';
import {
  merchantIn,
  withNames,
  type Asked,
  type DoForm,
  type MakePage,
  type PagesContext,
} from './context.ts';
import { markedDays, monthIn } from './home.ts';

/** What was typed into the form to close a month. */
type Typed = Pick<CloseForm, 'note' | 'despite' | 'isReopening'>;

export const showMonth: MakePage = (context, asked) => {
  const form = asked.person.role === 'operator' ? asked.query('close') : null;
  const typed = form === null ? null : { note: '', despite: '', isReopening: form === 'reopen' };
  return merchantMonth(context, asked, { typed, said: null });
};

const STEPS: readonly CloseStep[] = ['close', 'prepare', 'approve', 'withdraw', 'reopen'];

/** Does the step about closing the month that its form asks for. */
export const doClose: DoForm = async (context, asked) => {
  const step = STEPS.find((one) => one === asked.field('step')) ?? 'close';
  const typed = {
    note: asked.field('note')?.trim() ?? '',
    despite: asked.field('despite')?.trim() ?? '',
    isReopening: step === 'reopen',
  };
  const refused = await close(context, asked, step, typed);
  const isClosed = step === 'close' || step === 'approve';
  if (refused === null)
    return { doneAt: `${asked.view.address.split('?', 1)[0]!}?done=${isClosed ? 'yes' : step}` };
  const said = { text: refused, isWrong: true };
  return { refusedPage: await merchantMonth(context, asked, { typed, said }) };
};

async function merchantMonth(
  context: PagesContext,
  asked: Asked,
  { typed, said }: { readonly typed: Typed | null; readonly said: Said | null },
): Promise<string> {
  const { db, zone, now } = context;
  const merchantNo = merchantIn(asked);
  const month = monthIn(asked.part('month'));
  const filter = { merchants: [merchantNo], month: month.name };
  const needsApproval = context.settings.closeApproval === 'required';
  // Before what is shown is read: if that changes in between, the form is refused.
  const checked = typed && (await checkedMonth(context, asked, month));
  const [view, { accounts }, closes, preparations] = await Promise.all([
    withNames(context, asked.view, [merchantNo]),
    accountMonths(db, merchantNo, month, null),
    listCloses(db, filter),
    needsApproval ? listPreparations(db, filter) : [],
  ]);
  const currency = asked.query('currency');
  const chosen = Math.max(
    accounts.findIndex((one) => one.currency === currency),
    0,
  );
  const marked = await markedDays(context, asked, accounts, month, closes.length > 0);
  const facts = marked.map((one) => one.facts);
  const openDays = openDaysIn(month, accounts, facts, { zone, now: now() });
  return monthPage(view, {
    ...{ merchantNo, month, accounts, openDays },
    overDays:
      month.from >= asked.today
        ? null
        : { from: month.from, to: month.to < asked.today ? month.to : addDays(asked.today, -1) },
    before: addDays(month.from, -1).slice(0, 7),
    after: addDays(month.to, 1).slice(0, 7),
    chosen: accounts.length === 0 ? null : { account: accounts[chosen]!, days: marked[chosen]!.days },
    close: {
      closes,
      adjustments: marked[0]?.closed?.adjustments ?? [],
      preparation: preparations[0] ?? null,
      needsApproval,
      form: typed && {
        ...{ ...typed, openDays, seen: (checked && 'seen' in checked && checked.seen) || null },
        others: said === null && checked !== null && 'others' in checked ? checked.others : [],
      },
    },
    said: said ?? doneSaid(asked, closes.at(-1), preparations[0]),
  });
}

/** After closing it: that it is done, if the last close is this person's. */
function doneSaid(
  { query, person, view }: Asked,
  last: MonthClose | undefined,
  preparation: Preparation | undefined,
): Said | null {
  const { close } = view.texts;
  const done = query('done');
  const said = (text: string, isTrue: boolean): Said | null => (isTrue ? { text, isWrong: false } : null);
  if (done === 'prepare') return said(close.donePrepared, preparation?.by === person.name);
  if (done === 'withdraw') return said(close.doneWithdrawn, preparation === undefined);
  if (done === 'reopen') return said(close.doneReopened, last?.reopened?.by === person.name);
  if (done === null || last?.by !== person.name) return null;
  return said(close.done(last.number, last.statements), true);
}

/** What months are closed with, by the settings; null where they do not say the platform's zone. */
function closeOptions({ db, objects, settings, now }: PagesContext): CloseOptions | null {
  const { signingKey, platform, closeApproval, books, access } = settings;
  if (platform === null) return null;
  return {
    ...{ db, objects, signingKey, zone: platform.timeZone, now, logins: access },
    needsApproval: closeApproval === 'required',
    needsMatch: books.closeNeedsMatch,
  };
}

/** What is in the way of closing the month; null where that is not known. */
async function checkedMonth(context: PagesContext, asked: Asked, month: Month): Promise<CloseResult | null> {
  const options = closeOptions(context);
  if (options === null) return null;
  const request = { merchantNo: merchantIn(asked), month, despite: null, step: 'check' } as const;
  const auditEvent = { by: asked.person.name, command: 'close --check', subject: '' };
  return closeMonth({ ...request, auditEvent }, options);
}

/** Closes the month as `daybook close` does; returns what to say where it was not closed, or only in part. */
async function close(
  context: PagesContext,
  asked: Asked,
  step: CloseStep,
  { note, despite }: Typed,
): Promise<string | null> {
  const texts = asked.view.texts.close;
  const merchantNo = merchantIn(asked);
  const month = monthIn(asked.part('month'));
  const options = closeOptions(context);
  if (options === null) return texts.noZone;
  if (Math.max(note.length, despite.length) > REASON_CHARACTERS_MAX)
    return texts.tooLong(REASON_CHARACTERS_MAX);
  if (step === 'reopen' && note === '') return texts.reasonMissing;
  const auditEvent = {
    by: asked.person.name,
    command: step === 'close' ? 'close' : `close --${step}`,
    subject: `${merchantNo} ${month.name}`,
    note: note || undefined,
  };
  const request = { merchantNo, month, despite: despite || null, auditEvent, step };
  let result: CloseResult;
  try {
    result = await closeMonth({ ...request, seen: asked.field('seen') }, options);
  } catch (error) {
    // Its rows are stored before anything is asked of the object store.
    if (error instanceof StatementDamaged) return error.message;
    if (error instanceof ObjectStoreUnreachable || error instanceof ObjectStoreRefused)
      return texts.unwritten;
    throw error;
  }
  if (result.kind === 'refused') return [texts.refused, ...result.others.map(obstacleText)].join(' ');
  if (result.kind === 'open') return [texts.open, ...result.others.map(obstacleText)].join(' ');
  if (result.kind === 'empty') return texts.empty;
  if (result.kind === 'already' && result.openDays.length > 0) return texts.opened;
  return result.kind === 'already' && !isSentTwice(result.close, auditEvent, despite) ? texts.already : null;
}

const obstacleText = ({ why, todo }: Obstacle): string =>
  `${why.charAt(0).toUpperCase()}${why.slice(1)}: ${todo}.`;

/** Whether the close is what this form asks for, sent twice: nothing that was typed is lost then. */
const isSentTwice = (close: MonthClose, { by, note = '' }: AuditEvent, despite: string): boolean =>
  close.by === by && (close.note ?? '') === note && (close.despite ?? '') === despite;
