/** `/work` and `/work/NUMBER`: what was asked to be read or published again. `POST /work` asks for it. */
import { listCloses } from '../../../months/stored.ts';
import { addDays, daysFromTo } from '../../../ledger/business-day.ts';
import { isMerchantNo } from '../../../ledger/merchant-no.ts';
import { LONG_RUN_DAYS } from '../../../run/slices.ts';
import { readMerchants } from '../../../run/chosen-merchants.ts';
import { REASON_CHARACTERS_MAX } from '../../../months/closes.ts';
import { cancelRequest, fileRequest, OPEN_MAX } from '../../../run/page-requests.ts';
import { lastRequests, requestById, type RequestAsked, type RequestRow } from '../../../store/requests.ts';
import { workAddress } from '../html/addresses.ts';
import type { Said } from '../html/view.ts';
import { workPage, workRefusedPage, worksPage } from '../html/work.ts';
import {
  idIn,
  maySee,
  PageRefusal,
  type Asked,
  type DoForm,
  type MakePage,
  type PagesContext,
  withNames,
} from './context.ts';
import { dayIn } from './day.ts';

const SHOWN_MAX = 50;
/** Processes ask every few seconds. What waits for longer than this is asked for by none. */
const UNASKED_MS = 30_000;

export const showWorks: MakePage = async (context, { view, person }) => {
  const rows = await lastRequests(context.db, person.merchants, SHOWN_MAX);
  const merchants = rows.map(({ merchantNo }) => merchantNo);
  return worksPage(await withNames(context, view, merchants), rows);
};

export const showWork: MakePage = (context, asked) => shownWork(context, asked, null);

/** Cancels what has not begun. */
export const doCancel: DoForm = async (context, asked) => {
  const { id } = await visible(context, asked);
  const { db, now } = context;
  if (await cancelRequest(db, id, asked.person.name, now())) return { doneAt: workAddress(id) };
  const said = { text: asked.view.texts.work.cancelLate, isWrong: true };
  return { refusedPage: await shownWork(context, asked, said) };
};

/** Files what the form asks for. Asked for twice while it is open, it leads to the same; so do days that a waiting one has. */
export const doRepeat: DoForm = async (context, asked) => {
  const { db, now } = context;
  const wanted = wantedIn(asked);
  const refusedWith = async (text: string, isClosed: boolean) => {
    const view = await withNames(context, asked.view, [wanted.merchantNo]);
    return { refusedPage: workRefusedPage(view, wanted, { text, isClosed }) };
  };
  const refused = await whyNot(context, asked, wanted);
  if (refused !== null) return refusedWith(refused.text, refused.isClosed);
  const filed = await fileRequest(db, wanted, {
    ...{ by: asked.person.name, note: wanted.note || null, now: now() },
  });
  if (typeof filed === 'number') return { doneAt: workAddress(filed) };
  const text = asked.view.texts.work.openMany[filed](OPEN_MAX[filed]);
  return refusedWith(text, false);
};

async function shownWork(context: PagesContext, asked: Asked, said: Said | null): Promise<string> {
  const row = await visible(context, asked);
  const waits = row.state === 'waiting' && row.startedAt === null && row.problem === null;
  const before = waits ? await atWork(context, row) : null;
  const isLate = context.now().getTime() - row.requestedAt.getTime() > UNASKED_MS;
  return workPage(await withNames(context, asked.view, [row.merchantNo]), {
    row,
    before,
    isUnasked: waits && before === null && isLate,
    refreshes: asked.query('refresh') !== 'no',
    said,
  });
}

/** An earlier one that a process is at work on. */
async function atWork({ db }: PagesContext, { id }: RequestRow): Promise<number | null> {
  const earlier = (await lastRequests(db, null, SHOWN_MAX)).find((one) => one.id < id && one.isHeld);
  return earlier?.id ?? null;
}

async function visible({ db }: PagesContext, asked: Asked): Promise<RequestRow> {
  const row = await requestById(db, idIn(asked));
  if (row === undefined || !maySee(asked.person, row.merchantNo)) throw new PageRefusal(404);
  return row;
}

/** What the form asks for. Throws `PageRefusal` for what no form of ours sends. */
function wantedIn({ field, person }: Asked): RequestAsked & { readonly note: string } {
  const kind = field('kind');
  const merchantNo = field('merchant') ?? '';
  if (kind !== 'read' && kind !== 'publish') throw new PageRefusal(400);
  if (!isMerchantNo(merchantNo) || !maySee(person, merchantNo)) throw new PageRefusal(404);
  const [from, to] = [dayIn(field('from') ?? '', 400), dayIn(field('to') ?? '', 400)];
  return { what: kind, merchantNo, from, to, note: field('note')?.trim() ?? '' };
}

/** Why it is not filed; null where it is. */
async function whyNot(
  { db, settings }: PagesContext,
  { field, today, view: { texts, format } }: Asked,
  { merchantNo, from, to, note }: RequestAsked & { readonly note: string },
): Promise<{ readonly text: string; readonly isClosed: boolean } | null> {
  const { work } = texts;
  const refused = (text: string) => ({ text, isClosed: false });
  if (settings.platform === null) return refused(work.noPlatform);
  if (note.length > REASON_CHARACTERS_MAX) return refused(work.noteLong(REASON_CHARACTERS_MAX));
  const yesterday = addDays(today, -1);
  if (from > to || to > yesterday) return refused(work.daysWrong(format.plain.day(yesterday)));
  const days = daysFromTo(from, to);
  if (days.length > LONG_RUN_DAYS) return refused(work.daysMany(LONG_RUN_DAYS));
  if (!(await readMerchants(db, settings)).includes(merchantNo)) return refused(work.disabled(merchantNo));
  if (field('despite') === 'yes') return null;
  const closes = await listCloses(db, { merchants: [merchantNo] });
  const months = new Set(closes.map(({ month }) => month));
  const closed = [...new Set(days.map((day) => day.slice(0, 'YYYY-MM'.length)))].filter((one) =>
    months.has(one),
  );
  if (closed.length === 0) return null;
  return { text: work.closed(closed.map(format.plain.month).join(', ')), isClosed: true };
}
