/** What chaining needs is read at once; each part of it is what the statement for that part alone reads. */
import { expect, it } from 'vitest';
import { addDays, dayWindow } from '../../src/ledger/business-day.ts';
import type { ChainEntry } from '../../src/ledger/chain/chain-link.ts';
import { accountDaysAround, type DayFigures, changedDays } from '../../src/store/account-days.ts';
import { certifiedWindows } from '../../src/store/certificates.ts';
import { daysToChain, saveChained } from '../../src/store/chaining.ts';
import { readAccountToChain } from '../../src/store/entries.ts';
import { storeWindow } from '../support/store-window.ts';
import { writeTransaction } from '../../src/store/engine/write-transaction.ts';
import { certified, entry, MERCHANT, NOW, onBothDatabases } from './support.ts';

const D0 = '2026-03-09';
const dayAt = (nth: number): string => addDays(D0, nth);
const windowAt = (nth: number) => dayWindow(dayAt(nth), 'UTC');
const DAYS = [-1, 0, 1, 2, 3].map((nth) => ({ day: dayAt(nth), window: windowAt(nth) }));
const WITHIN = { beginMs: windowAt(-3).beginMs, endMs: windowAt(3).endMs };
const ASKED = { merchantNo: MERCHANT, currencies: null, zone: 'UTC', days: DAYS, within: WITHIN };

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
    const toStore = { merchantNo, window: windowAt(nth), currency, runId, now: NOW };
    return storeWindow(db, lease, { ...toStore, reading: certified(entries) });
  };
  const save = (days: readonly DayFigures[], left: readonly string[] = []) => {
    const { db, lease } = store();
    const done = days.map(({ currency, day }) => ({ currency, day }));
    const put = left.map((day) => ({ currency: 'USD', day }));
    return writeTransaction(db, lease, (trx) =>
      saveChained(trx, MERCHANT, { figures: days, done, left: put }),
    );
  };

  it('reads for each account what is read alone', async () => {
    const { db } = store();
    await hold('USD', 0, 3);
    await hold('EUR', 0, 2);
    await save([figuresOf('USD', dayAt(-6)), figuresOf('USD', D0), figuresOf('EUR', D0)]);
    await hold('USD', 1, 4);
    await hold('USD', 2, 2);
    await hold('USD', -2, 1);
    await hold('KWD', 1, 1);
    await hold('USD', 1, 1, 'M1002');
    const found = await daysToChain(db, ASKED);
    expect(found.map(({ account, last }) => [account.currency, last])).toEqual([
      ['EUR', D0],
      ['KWD', null],
      ['USD', D0],
    ]);
    const changed = await changedDays(db, { merchants: [MERCHANT], currencies: null });
    for (const { account, certified, around, last, ...one } of found) {
      const own = changed.find((other) => other.account.currency === account.currency)?.days ?? [];
      expect(one.changed).toEqual(own);
      expect(certified).toEqual(await certifiedWindows(db, MERCHANT, WITHIN, account.currency));
      expect(around).toEqual(await accountDaysAround(db, account, own[0] ?? last!));
      for (const [day, { entries }] of one.entries) {
        const alone: ChainEntry[] = [];
        for await (const batch of readAccountToChain(db, account, dayWindow(day, 'UTC')))
          alone.push(...batch);
        expect(entries).toEqual(alone);
      }
    }
    expect(found.map(({ busy }) => busy)).toEqual([[D0], [], [D0]]);
    // The day before those asked for is not among them; days without figures are, though nothing changed on them.
    expect(found.map(({ entries }) => [...entries.keys()])).toEqual([
      [dayAt(1), dayAt(2), dayAt(3)],
      [dayAt(1)],
      [dayAt(1), dayAt(2), dayAt(3)],
    ]);
  });

  it('reads the currencies asked for alone', async () => {
    await hold('USD', 0, 3);
    await hold('EUR', 0, 2);
    const found = await daysToChain(store().db, { ...ASKED, currencies: ['EUR', 'GBP'] });
    expect(found.map(({ account }) => account)).toEqual([{ merchantNo: MERCHANT, currency: 'EUR' }]);
  });

  it('leaves entries out that are booked on another day than they lie in', async () => {
    const { db, lease, runId } = store();
    const entries = [entry(1), entry(2, { bookedAt: `${dayAt(1)} 00:00:00` })];
    await storeWindow(db, lease, {
      ...{ merchantNo: MERCHANT, window: windowAt(0), currency: null, runId, now: NOW },
      reading: certified(entries),
    });
    const [found] = await daysToChain(db, ASKED);
    expect([...found!.entries.keys()]).toEqual([dayAt(1)]);
  });

  it('writes figures anew, and keeps days that are left on the list', async () => {
    const { db } = store();
    await hold('USD', 0, 3);
    await hold('USD', 1, 3);
    await save([figuresOf('USD', D0)]);
    const other = { ...figuresOf('USD', D0), closing: '1.00', lastBatchNo: null, lastBookedMs: null };
    await save([other], [dayAt(-1), dayAt(1)]);
    const [found] = await daysToChain(db, ASKED);
    expect(found).toMatchObject({ changed: [dayAt(-1), dayAt(1)], around: { days: [other] } });
    const due = await db.selectFrom('account_day').select(['day', 'publish_due']).execute();
    expect(due).toEqual([{ day: D0, publish_due: true }]);
  });
});
