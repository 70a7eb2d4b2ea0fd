import { expect, test } from 'vitest';
import { openRequestedRanges, recordRequestedRanges } from '../../src/store/tasks.ts';
import { NOW, onBothDatabases } from './support.ts';

onBothDatabases((store) => {
  test('days are asked for of more merchants than a statement has parameters, once each and in their order', async () => {
    const { db, runId } = store();
    const merchants = Array.from({ length: 10_000 }, (_, nth) => `M${String(nth).padStart(5, '0')}`);
    const asked = {
      merchants,
      from: '2026-03-01',
      to: '2026-03-02',
      runId,
      now: NOW,
    };
    await recordRequestedRanges(db, asked);
    await recordRequestedRanges(db, asked);
    const open = await openRequestedRanges(db, merchants);
    expect(open.map(({ merchantNo }) => merchantNo)).toEqual(merchants);
    expect(open.at(-1)).toMatchObject({ from: '2026-03-01', to: '2026-03-02', requestedAt: NOW, runId });
  });
});
