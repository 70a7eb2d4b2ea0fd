/** A thousand merchants, of which the platform treats four badly: the trouble of each stays its own. */
import { describe, expect, test } from 'vitest';
import { virtualRun, type Kind, type VirtualRun } from './virtual-platform.ts';

const FINE: readonly Kind[] = Array.from({ length: 996 }, () => 'fine');
/** The same with four others among them, early, so that they have time to be in the way. */
const among = (...bad: readonly Kind[]): Kind[] =>
  bad.reduce<Kind[]>((kinds, kind, index) => kinds.toSpliced(3 + index * 50, 0, kind), [...FINE]);

type Places = Omit<VirtualRun, 'kinds'>;
/** How much longer the 996 take with the four among them: 1 is no longer at all. */
async function longerBy(held: '429, wait 1 s' | '429, wait 600 s', places: Places): Promise<number> {
  const alone = await virtualRun({ kinds: FINE, ...places });
  const together = await virtualRun({ kinds: among('hangs', held, 'broken token', 'rubbish'), ...places });
  return together.fineMs / alone.fineMs;
}

describe.each(['429, wait 1 s', '429, wait 600 s'] as const)(
  'one hangs, one has a broken token, one sends rubbish, and one always answers %s',
  (held) => {
    test.each([
      { atOnce: 8, concurrency: 8 },
      { atOnce: 8, concurrency: 32 },
      { atOnce: 32, concurrency: 32 },
    ])('the other 996 are done in the time they take without those: %j', async (limits) => {
      expect(await longerBy(held, { ...limits, givesPlace: true })).toBeLessThanOrEqual(1.01);
    });

    test('where all slots are always taken, a call that hangs costs the one slot that it is on', async () => {
      const places = { atOnce: 32, concurrency: 8, givesPlace: true };
      expect(await longerBy(held, places)).toBeLessThanOrEqual(8 / 7 + 0.01);
    });

    test('if merchants that only wait kept their places in the run, the others would take longer', async () => {
      const places = { atOnce: 8, concurrency: 8, givesPlace: false };
      expect(await longerBy(held, places)).toBeGreaterThan(1.1);
    });
  },
);
