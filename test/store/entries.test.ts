import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { ChainEntry } from '../../src/ledger/chain/chain-link.ts';
import type { LedgerEntry } from '../../src/ledger/entry.ts';
import { arrayLiteral } from '../../src/store/engine/database.ts';
import { listAccounts, readAccount, readAccountToChain } from '../../src/store/entries.ts';
import { certified, DAY, entries, entry, MERCHANT, NOW, onBothDatabases, storeAndJudge } from './support.ts';

const ODD = 'a,"b"\\\n\t\u001f{}é😀\'';

onBothDatabases(
  (store) => {
    const keep = (list: readonly LedgerEntry[], merchantNo = MERCHANT) =>
      storeAndJudge(store().db, store().lease, {
        merchantNo,
        window: DAY,
        reading: certified(list),
        runId: store().runId,
        now: NOW,
      });
    const read = async (batchSize: number, window = DAY, currency = 'USD') => {
      const batches: (readonly LedgerEntry[])[] = [];
      for await (const batch of readAccount(store().db, { merchantNo: MERCHANT, currency }, window, {
        batchSize,
      }))
        batches.push(batch);
      return batches;
    };

    describe('an account', () => {
      const sameSecond = ['b', 'B', 'a', '_', 'é'].map((batchNo) =>
        entry(4, { batchNo, transactionType: ODD }),
      );
      const all = [
        ...entries(1, 2, 3),
        ...sameSecond,
        entry(5, { credit: null, debit: '0.0010', balance: '-3' }),
      ];
      const inOrder = [
        ...entries(1, 2, 3),
        ...['B', '_', 'a', 'b', 'é'].map((batchNo) => entry(4, { batchNo, transactionType: ODD })),
        all.at(-1)!,
      ];

      it.each([1, 2, 3, 4, 9, 10])(
        'is read in the order of time in batches of %i, digit for digit',
        async (batchSize) => {
          await keep([...all].reverse());
          const batches = await read(batchSize);
          expect(batches.flat()).toEqual(inOrder);
          expect(Math.max(...batches.map(({ length }) => length))).toBe(Math.min(batchSize, 9));
        },
      );

      it('is read without other currencies or merchants, vanished entries, and entries outside the window', async () => {
        await keep([...entries(1, 2, 3, 4), entry(5, { currency: 'EUR' }), entry(6, { currency: 'USDT' })]);
        await keep(entries(2), 'M1002');
        await keep([...entries(1, 2, 4), entry(5, { currency: 'EUR' }), entry(6, { currency: 'USDT' })]);
        expect(await read(10)).toEqual([entries(1, 2, 4)]);
        const second = { beginMs: entry(2).bookedMs, endMs: entry(2).bookedMs };
        expect(await read(10, second)).toEqual([entries(2)]);
        expect(await read(10, { beginMs: second.beginMs + 1, endMs: entry(4).bookedMs - 1 })).toEqual([]);
        expect(await read(10, DAY, 'GBP')).toEqual([]);
        expect(await listAccounts(store().db, MERCHANT)).toEqual(
          ['EUR', 'USD', 'USDT'].map((currency) => ({ merchantNo: MERCHANT, currency })),
        );
        expect(await listAccounts(store().db, 'M1003')).toEqual([]);
      });

      it.each([1, 2, 100])(
        'is read for the chain in batches of %i with the same order and digits, across midnight too',
        async (batchSize) => {
          const dayMs = 86_400_000;
          const nextDay = entries(6, 7).map(({ bookedAt, bookedMs, ...rest }) => ({
            ...rest,
            bookedAt: new Date(Date.parse(`${bookedAt.replace(' ', 'T')}Z`) + dayMs)
              .toISOString()
              .slice(0, 19)
              .replace('T', ' '),
            bookedMs: bookedMs + dayMs,
          }));
          await keep([...all, ...nextDay]);
          const found: ChainEntry[] = [];
          const window = { ...DAY, endMs: DAY.endMs + dayMs };
          const account = { merchantNo: MERCHANT, currency: 'USD' };
          for await (const batch of readAccountToChain(store().db, account, window, { batchSize }))
            found.push(...batch);
          const places = (list: readonly ChainEntry[]) =>
            list.map(({ batchNo, credit, debit, balance, bookedAt, bookedMs }) => ({
              place: [bookedAt.slice(0, 10), bookedMs, batchNo],
              amounts: [credit, debit, balance],
            }));
          expect(places(found)).toEqual(places([...inOrder, ...nextDay]));
        },
      );

      it('need not be read to its end', async () => {
        await keep(entries(1, 2, 3, 4));
        for await (const batch of readAccount(store().db, { merchantNo: MERCHANT, currency: 'USD' }, DAY, {
          batchSize: 1,
        })) {
          expect(batch).toEqual(entries(1));
          break;
        }
        expect(await read(10)).toHaveLength(1);
      });
    });

    it('any list of texts can be passed as an array literal', async () => {
      const texts = fc.array(
        fc.option(fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0'))),
      );
      await fc.assert(
        fc.asyncProperty(texts, async (values) => {
          const { rows } = await sql<{
            values: (string | null)[];
          }>`SELECT ${arrayLiteral(values)}::text[] AS values`.execute(store().db);
          expect(rows[0]!.values).toEqual(values);
        }),
        { numRuns: 50 },
      );
    });
  },
  { isSmoke: true },
);
