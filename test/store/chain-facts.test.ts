/** What shows which days are to be chained, and the saving of what chaining made. */
import { expect, it } from 'vitest';
import { accountsOf } from '../../src/ledger/account-filter.ts';
import { addDays, dayWindow } from '../../src/ledger/business-day.ts';
import { type DayFigures, figuresFrom } from '../../src/store/account-days.ts';
import { chainFacts } from '../../src/store/chain-facts.ts';
import { saveChained } from '../../src/store/chaining.ts';
import { writeTransaction } from '../../src/store/engine/write-transaction.ts';
import { noteChained } from '../../src/store/certificates.ts';
import { storeWindow } from '../support/store-window.ts';
import { certified, entry, MERCHANT, NOW, onBothDatabases } from './support.ts';

const D0 = '2026-03-09';
const dayAt = (nth: number): string => addDays(D0, nth);
const windowAt = (nth: number) => dayWindow(dayAt(nth), 'UTC');

const figuresOf = (currency: string, day: string): DayFigures => ({
  ...{
    currency,
    day,
    opening: '9007199254740993.010',
    closing: '9007199254740994.020',
    creditTotal: '1.010',
  },
  ...{
    creditCount: 2,
    debitTotal: '0.000',
    debitCount: 0,
    verdict: 'reordered',
    breakCount: 2,
    breaksAfter: 1,
  },
  ...{ lastBatchNo: 'with "quotes", {braces} and \\\\', lastBookedMs: windowAt(0).endMs, restarted: false },
  ...{ isOrderFinal: false, startsWithBreak: true },
});

onBothDatabases((store) => {
  const hold = (currency: string, nth: number, count: number, merchantNo = MERCHANT) => {
    const { db, lease, runId } = store();
    const entries = Array.from({ length: count }, (_, n) => {
      const bookedMs = windowAt(nth).beginMs + n * 1_000;
      const bookedAt = new Date(bookedMs).toISOString().slice(0, 19).replace('T', ' ');
      return entry(n, { batchNo: `${currency},"${nth}" ${n}`, currency, bookedMs, bookedAt });
    });
    const toStore = { merchantNo, window: windowAt(nth), runId, now: NOW };
    return storeWindow(db, lease, { ...toStore, reading: certified(entries) });
  };
  const save = (currency: string, figures: readonly DayFigures[]) => {
    const { db, lease } = store();
    const done = figures.map(({ day }) => day);
    return writeTransaction(db, lease, async (trx) => {
      await saveChained(trx, { merchantNo: MERCHANT, currency }, { figures, done });
      await noteChained(trx, MERCHANT, done);
    });
  };
  const facts = async (currencies: readonly string[] | null = null) => {
    const found = await chainFacts(store().db, accountsOf(MERCHANT, currencies), 'UTC');
    return found.map(({ currency, changed, begun, without, figured }) => ({
      ...{ currency, changed, begun, without, figured },
    }));
  };

  it('tells of each account what changed, and which complete days have no figures', async () => {
    await hold('USD', 0, 3);
    await save('USD', [figuresOf('USD', D0)]);
    await hold('EUR', 1, 2);
    await hold('USD', 2, 2);
    await hold('USD', 4, 2);
    await hold('USD', 1, 1, 'M1002');
    expect(await facts()).toEqual([
      { currency: 'EUR', changed: [dayAt(1)], begun: null, without: [1, 2, 4].map(dayAt), figured: [] },
      {
        ...{ currency: 'USD', changed: [dayAt(2), dayAt(4)], begun: D0, without: [1, 2, 4].map(dayAt) },
        figured: [D0],
      },
    ]);
    expect(await facts(['EUR', 'GBP'])).toMatchObject([{ currency: 'EUR' }]);
  });

  it('writes figures anew, and keeps other days on the list', async () => {
    const { db } = store();
    await hold('USD', 0, 3);
    await hold('USD', 1, 3);
    await save('USD', [figuresOf('USD', D0)]);
    const other = { ...figuresOf('USD', D0), closing: '1.00', lastBatchNo: null, lastBookedMs: null };
    await save('USD', [other]);
    expect(await facts()).toMatchObject([{ changed: [dayAt(1)], begun: D0 }]);
    expect(await figuresFrom(db, { merchantNo: MERCHANT, currency: 'USD' }, D0, 2)).toEqual([other]);
    const due = await db.selectFrom('account_day').select(['day', 'version', 'published_version']).execute();
    expect(due).toEqual([{ day: D0, version: 2, published_version: 0 }]);
  });
});
