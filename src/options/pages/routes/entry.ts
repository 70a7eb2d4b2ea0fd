/** `/entry` and `/entry/MERCHANT/BATCHNO`: an entry by its number. */
import { isMerchantNo } from '../../../ledger/merchant-no.ts';
import { entryPage, findPage } from '../html/entry.ts';
import { placesOf } from '../../../statements/entry-places.ts';
import { adjacentBreaks, findEntries, unreadableOfNumber } from '../../../store/entry-history.ts';
import { maySee, merchantIn, type Asked, type PagesContext, PageRefusal, type MakePage } from './context.ts';

const NUMBER_CHARACTERS_MAX = 2_000;

export const findEntry: MakePage = async (context, asked) => {
  const { view, person, query } = asked;
  const [number, merchant] = [(query('number') ?? '').trim(), (query('merchant') ?? '').trim()];
  const given = { number, merchant };
  if (number === '') return findPage(view, given, null);
  const isKnown = merchant === '' || (isMerchantNo(merchant) && maySee(person, merchant));
  if (!isKnown || number.length > NUMBER_CHARACTERS_MAX)
    return findPage(view, given, { entries: [], unreadable: [] });
  const merchants = merchant === '' ? person.merchants : [merchant];
  const entries = await findEntries(context.db, number, merchants);
  const [only, ...others] = entries;
  if (only === undefined || others.length > 0) {
    const unreadable = await unreadableOfNumber(context.db, number, merchants);
    return findPage(view, given, { entries, unreadable });
  }
  return entryOf(context, asked, only.merchantNo, number);
};

export const showEntry: MakePage = (context, asked) =>
  entryOf(context, asked, merchantIn(asked), asked.part('number'));

async function entryOf(
  { db, objects }: PagesContext,
  { view, query }: Asked,
  merchantNo: string,
  batchNo: string,
): Promise<string> {
  const [history] = await findEntries(db, batchNo, [merchantNo]);
  const unreadable = await unreadableOfNumber(db, batchNo, [merchantNo]);
  if (history === undefined) {
    if (unreadable.length === 0) throw new PageRefusal(404);
    return findPage(view, { number: batchNo, merchant: merchantNo }, { entries: [], unreadable });
  }
  const stood = history.contents.map(({ entry }) => entry);
  return entryPage(view, {
    ...{ batchNo, history, unreadable },
    breaks: await adjacentBreaks(db, history, batchNo),
    places: query('lines') === null ? null : await placesOf({ db, objects }, merchantNo, stood),
  });
}
