import { expect, test } from 'vitest';
import { openRequests, recordRequests } from '../../src/store/requests.ts';
import { NOW, onBothDatabases } from './support.ts';

onBothDatabases((store) => {
  test('days are asked for of more merchants than a statement has parameters, once each and in their order', async () => {
    const { db, runId } = store();
    const merchants = Array.from({ length: 10_000 }, (_, nth) => `M${String(nth).padStart(5, '0')}`);
    const asked = {
      askedBy: 'run' as const,
      merchants,
      from: '2026-03-01',
      to: '2026-03-02',
      runId,
      now: NOW,
    };
    await recordRequests(db, asked);
    await recordRequests(db, asked);
    const open = await openRequests(db, 'run', merchants);
    expect(open.map(({ merchantNo }) => merchantNo)).toEqual(merchants);
    expect(open.at(-1)).toMatchObject({ from: '2026-03-01', to: '2026-03-02', requestedAt: NOW, runId });
  });
});
