/** `/unreadable` and `/unreadable/NUMBER`: entries that could not be read, and their acknowledgement. */
import { dayWindow } from '../../../ledger/business-day.ts';
import { isMerchantNo } from '../../../ledger/merchant-no.ts';
import { doneBy } from '../../../store/audit.ts';
import { NOTE_CHARACTERS_MAX } from '../../../store/breaks/break-cases.ts';
import {
  acknowledgeUnreadable,
  listQuarantine,
  quarantineRows,
  type QuarantineRow,
} from '../../../store/quarantine.ts';
import { unreadableAddress } from '../html/addresses.ts';
import { unreadableOnePage, unreadablePage, type OneUnreadableShown } from '../html/unreadable.ts';
import type { Said } from '../html/view.ts';
import {
  idIn,
  pageIn,
  maySee,
  PageRefusal,
  type Asked,
  type DoForm,
  type MakePage,
  type PagesContext,
  withNames,
} from './context.ts';
import { dayIn } from './day.ts';

const ENTRIES_A_PAGE = 50;

/** All, or those of a merchant or a day. */
export const showUnreadable: MakePage = async (context, { view, person, query }) => {
  const { db, zone } = context;
  const [merchantNo, day] = [query('merchant'), query('day')];
  if (merchantNo !== null && !(isMerchantNo(merchantNo) && maySee(person, merchantNo)))
    throw new PageRefusal(404);
  const page = pageIn(query);
  const all = query('all') !== null;
  const found = await listQuarantine(db, {
    merchants: merchantNo === null ? person.merchants : [merchantNo],
    window: day === null ? undefined : dayWindow(dayIn(day, 400), zone),
    ...{ all, limit: ENTRIES_A_PAGE + 1, offset: (page - 1) * ENTRIES_A_PAGE },
  });
  const rows = found.slice(0, ENTRIES_A_PAGE);
  const merchants = rows.map((row) => row.merchant_no).concat(merchantNo ?? []);
  return unreadablePage(await withNames(context, view, merchants), {
    rows,
    merchantNo,
    day,
    all,
    page,
    hasMore: found.length > rows.length,
  });
};

export const showOneUnreadable: MakePage = async (context, asked) => {
  const row = await visible(context, asked);
  const isDone = asked.query('done') !== null && row.acknowledged_at !== null;
  const said = isDone ? { text: asked.view.texts.unreadable.done, isWrong: false } : null;
  return onePage(context, asked, { row, said, note: '' });
};

const onePage = async (context: PagesContext, { view }: Asked, shown: OneUnreadableShown): Promise<string> =>
  unreadableOnePage(await withNames(context, view, [shown.row.merchant_no]), shown);

/** Acknowledges it, as `daybook quarantine acknowledge` does. */
export const doAcknowledge: DoForm = async (context, asked) => {
  const { id } = await visible(context, asked);
  const note = asked.field('note')?.trim() ?? '';
  const text = await acknowledge(context, asked, id, note);
  if (text === null) return { doneAt: `${unreadableAddress(id)}?done=yes` };
  const said: Said = { text, isWrong: true };
  return { refusedPage: await onePage(context, asked, { row: await visible(context, asked), said, note }) };
};

/** Returns what to say where it cannot be done. */
async function acknowledge(
  { db, now }: PagesContext,
  { person, view: { texts } }: Asked,
  id: number,
  note: string,
): Promise<string | null> {
  if (note === '') return texts.case.noteMissing;
  if (note.length > NOTE_CHARACTERS_MAX) return texts.case.noteLong(NOTE_CHARACTERS_MAX);
  const auditEvent = { by: person.name, command: 'quarantine acknowledge', subject: String(id), note };
  const at = now();
  try {
    await doneBy(db, auditEvent, at, async (trx) => {
      if (!(await acknowledgeUnreadable(trx, id, note, at))) throw new NoLongerOpen();
    });
    return null;
  } catch (error) {
    if (error instanceof NoLongerOpen) return texts.unreadable.late;
    throw error;
  }
}

/** Another person was quicker, or the platform no longer sends it. */
class NoLongerOpen extends Error {
  override readonly name = 'NoLongerOpen';
}

/** The one in the path, which the person may see. Throws `PageRefusal`. */
async function visible({ db }: PagesContext, asked: Asked): Promise<QuarantineRow> {
  const row = await quarantineRows(db).where('id', '=', idIn(asked)).executeTakeFirst();
  if (row === undefined || !maySee(asked.person, row.merchant_no)) throw new PageRefusal(404);
  return row;
}
