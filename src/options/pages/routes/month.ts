/** `/m/MERCHANT/YYYY-MM`: a merchant's month, and closing it. */
import { addDays } from '../../../ledger/business-day.ts';
import { ObjectStoreRefused, ObjectStoreUnreachable } from '../../../objects/object-store.ts';
import type { CloseForm } from '../html/close.ts';
import { monthPage } from '../html/month.ts';
import type { Said } from '../html/view.ts';
import { accountMonths } from '../../../statements/month.ts';
import { REASON_CHARACTERS_MAX, type MonthClose } from '../../../statements/closes.ts';
import { StatementDamaged } from '../../../statements/fetch.ts';
import { openDaysIn } from '../../../statements/open-days.ts';
import type { AuditEvent } from '../../../store/audit.ts';
import { part } from '../../all.ts';
import type { CloseResult } from '../../option.ts';
import {
  merchantIn,
  PageRefusal,
  type Asked,
  type DoForm,
  type MakePage,
  type PagesContext,
} from './context.ts';
import { markedDays, monthIn } from './home.ts';

/** What was typed into the form to close a month. */
type Typed = Pick<CloseForm, 'note' | 'despite'>;
const NOTHING_TYPED: Typed = { note: '', despite: '' };

export const showMonth: MakePage = (context, asked) => {
  const typed = asked.query('close') !== null && asked.person.role === 'operator' ? NOTHING_TYPED : null;
  return merchantMonth(context, asked, { typed, said: null });
};

/** Closes the month as its form asks for. */
export const doClose: DoForm = async (context, asked) => {
  const typed = { note: asked.field('note')?.trim() ?? '', despite: asked.field('despite')?.trim() ?? '' };
  const refused = await close(context, asked, typed);
  if (refused === null) return { doneAt: `${asked.view.address.split('?', 1)[0]!}?done=yes` };
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
  const [{ accounts }, closes] = await Promise.all([
    accountMonths(db, merchantNo, month, null),
    part('closes')?.list(db, { merchants: [merchantNo], month: month.name }) ?? null,
  ]);
  const currency = asked.query('currency');
  const chosen = Math.max(
    accounts.findIndex((one) => one.currency === currency),
    0,
  );
  const marked = await markedDays(context, asked, accounts, month, closes !== null && closes.length > 0);
  const facts = marked.map((one) => one.facts);
  const openDays = openDaysIn(month, accounts, facts, { zone, now: now() });
  return monthPage(asked.view, {
    ...{ merchantNo, month, accounts, openDays },
    overDays:
      month.from >= asked.today
        ? null
        : { from: month.from, to: month.to < asked.today ? month.to : addDays(asked.today, -1) },
    before: addDays(month.from, -1).slice(0, 7),
    after: addDays(month.to, 1).slice(0, 7),
    chosen: accounts.length === 0 ? null : { account: accounts[chosen]!, days: marked[chosen]!.days },
    close: closes && {
      closes,
      adjustments: marked[0]?.closed?.adjustments ?? [],
      form: typed && { ...typed, openDays },
    },
    said: said ?? doneSaid(asked, closes?.at(-1)),
  });
}

/** After closing it: that it is done, if the last close is this person's. */
function doneSaid({ query, person, view }: Asked, last: MonthClose | undefined): Said | null {
  if (query('done') === null || last?.by !== person.name) return null;
  return { text: view.texts.close.done(last.number, last.statements), isWrong: false };
}

/** Closes the month as `daybook close` does; returns what to say where it was not closed, or only in part. Throws `PageRefusal` where no option closes months. */
async function close(
  { db, objects, settings, now }: PagesContext,
  asked: Asked,
  { note, despite }: Typed,
): Promise<string | null> {
  const closes = part('closes');
  if (closes === null) throw new PageRefusal(404);
  const texts = asked.view.texts.close;
  const merchantNo = merchantIn(asked);
  const month = monthIn(asked.part('month'));
  if (settings.platform === null) return texts.noZone;
  if (Math.max(note.length, despite.length) > REASON_CHARACTERS_MAX)
    return texts.tooLong(REASON_CHARACTERS_MAX);
  const auditEvent = {
    by: asked.person.name,
    command: 'close',
    subject: `${merchantNo} ${month.name}`,
    note: note || undefined,
  };
  const { signingKey, platform } = settings;
  const options = { db, objects, signingKey, zone: platform.timeZone, now };
  let result: CloseResult;
  try {
    result = await closes.close({ merchantNo, month, despite: despite || null, auditEvent }, options);
  } catch (error) {
    // Its rows are stored before anything is asked of the object store.
    if (error instanceof StatementDamaged) return error.message;
    if (error instanceof ObjectStoreUnreachable || error instanceof ObjectStoreRefused)
      return texts.unwritten;
    throw error;
  }
  if (result.kind === 'open' || result.kind === 'empty') return texts[result.kind];
  if (result.kind === 'already' && result.openDays.length > 0) return texts.opened;
  return result.kind === 'already' && !isSentTwice(result.close, auditEvent, despite) ? texts.already : null;
}

/** Whether the close is what this form asks for, sent twice: nothing that was typed is lost then. */
const isSentTwice = (close: MonthClose, { by, note = '' }: AuditEvent, despite: string): boolean =>
  close.by === by && (close.note ?? '') === note && (close.despite ?? '') === despite;
