import { expect, it } from 'vitest';
import { noticeDocument } from '../../src/cli/output/run-text.ts';

it('a notice about every account of a merchant has an empty currency in JSON', () => {
  const notice = {
    kind: 'empty',
    merchantNo: 'M1',
    day: '2026-03-04',
    figures: { fewest: 1, most: 2 },
    foundAt: new Date(0),
    runId: 1,
  } as const;
  expect(noticeDocument({ ...notice, currency: null })).toEqual({ ...notice, currency: '' });
  expect(noticeDocument({ ...notice, currency: 'USD' })).toEqual({ ...notice, currency: 'USD' });
});
