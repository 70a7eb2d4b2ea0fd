/** What is stored without a transaction around it is stored in full or not at all. */
import { expect, it } from 'vitest';
import { dayWindow } from '../../src/ledger/business-day.ts';
import { compareWithStored } from '../../src/store/compare-with-stored.ts';
import { storePlain, storeWindow } from '../../src/store/windows.ts';
import { certified, entry, MERCHANT, NOW, onBothDatabases } from './support.ts';

const WINDOW = dayWindow('2026-03-09', 'UTC');
const at = (n: number, amount = '1.00') => {
  const bookedMs = WINDOW.beginMs + n * 1_000;
  const bookedAt = new Date(bookedMs).toISOString().slice(0, 19).replace('T', ' ');
  return entry(n, { batchNo: `B${n}`, currency: 'USD', credit: amount, bookedMs, bookedAt });
};

onBothDatabases((store) => {
  const storedNow = () =>
    store().db.selectFrom('ledger_entry').select(['batch_no', 'version']).orderBy('batch_no').execute();
  const certificates = () => store().db.selectFrom('certified_span').selectAll().execute();

  it('new entries among known ones are not stored before the known ones are amended', async () => {
    const { db, lease, runId } = store();
    const toStore = { merchantNo: MERCHANT, window: WINDOW, currency: null, runId, now: NOW };
    await storeWindow(db, lease, { ...toStore, reading: certified([at(1)]) });
    const before = [await storedNow(), await certificates()];

    const part = { ...toStore, reading: certified([at(1, '2.00'), at(2)]) };
    const [unstored] = await compareWithStored(db, [part]);
    const open = [{ part, unstored: { ...unstored!, isAbsenceOpen: false, isCertificateOpen: true } }];
    expect(await storePlain(db, lease, open, part.reading.entries)).toEqual({ inserted: 0, isAll: false });
    expect([await storedNow(), await certificates()]).toEqual(before);

    const did = await storeWindow(db, lease, part);
    expect(did).toMatchObject({ inserted: 1, amended: 1, unchanged: 0 });
    expect(await storedNow()).toEqual([
      { batch_no: 'B1', version: 2 },
      { batch_no: 'B2', version: 1 },
    ]);
  });
});
