/**
 * A receiver on the open internet gets much more than results. None of that may change anything, and results still
 * arrive.
 *
 * @module-tag long
 */
import { expect, it } from 'vitest';
import { processNotifications } from '../../../../src/plugins/submissions/process.ts';
import { countNotifications } from '../../../../src/plugins/submissions/notifications.ts';
import { newNotifySecret } from '../../../../src/store/notify-path.ts';
import { onBothDatabases } from '../../../store/support.ts';
import {
  accepted,
  beneficiaryResult,
  inReview,
  NEEDS_DOCUMENTS,
  onboardingResult,
  REJECTED,
  stateOf,
  type Subject,
} from './subjects.ts';
import { KEYS, NOW, serveOver } from './support.ts';

const POSTS_MAX = Number(process.env['DAYBOOK_TEST_POSTS'] ?? 4_000);
/** The embedded database takes posts one after the other; fewer of them show as much. */
const POSTS_EMBEDDED = 2_000;
const SENDERS = 16;

interface Forgery {
  readonly path: string;
  readonly body: string;
  readonly type?: string;
}

/** A small random generator with a seed, so that a failure can be repeated. */
function createChance(seed: number) {
  let state = seed;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  return { below, pick: <Value>(values: readonly Value[]): Value => values[below(values.length)]! };
}

onBothDatabases((store) => {
  it(
    'thousands of forged, replayed, reordered and malformed posts change no state',
    { timeout: 300_000 },
    async () => {
      const { db, database } = store();
      const posts = database.kind === 'embedded' ? POSTS_EMBEDDED : POSTS_MAX;
      const pass = () =>
        processNotifications({ db, secretKeys: KEYS, now: () => NOW, signal: new AbortController().signal });
      // How much may come in at all is tested elsewhere.
      const served = await serveOver(db, {
        limits: {
          pathSourcePosts: posts,
          pathPosts: posts,
          unknownSourcePosts: posts,
          unknownPosts: posts,
          unknownSourceBytes: 1e9,
          unknownBytes: 1e9,
        },
      });
      const post = async (forgery: Forgery): Promise<number> =>
        (await served.post(forgery.path, forgery.body, forgery.type)).status;
      const push = (path: string, payload: object): Forgery => ({ path, body: JSON.stringify(payload) });

      const [approved, rejected, returned, reviewed] = (await Promise.all(
        ['A1', 'A2', 'A3', 'A4'].map((merOrderNo) => accepted(db, merOrderNo)),
      )) as [Subject, Subject, Subject, Subject];
      const [paid, pending] = [await inReview(db, 'R1'), await inReview(db, 'R2')];
      const genuine = [
        push(approved.path, onboardingResult(approved, NEEDS_DOCUMENTS)),
        push(approved.path, onboardingResult(approved)),
        push(rejected.path, onboardingResult(rejected, REJECTED)),
        push(returned.path, onboardingResult(returned, NEEDS_DOCUMENTS)),
        push(paid.path, beneficiaryResult(paid)),
      ];
      for (const one of genuine) expect(await post(one)).toBe(200);
      expect((await pass()).outcomes).toEqual({ applied: 5 });
      const before = await stateOf(db);

      const chance = createChance(31);
      const subjects = [approved, rejected, returned, reviewed];
      const forgeries: readonly (() => Forgery)[] = [
        // Replayed, and so out of order: whatever was applied, in any order.
        () => chance.pick(genuine),
        // Forged by a out-of-scope record who has no path and everything else right.
        () => push(`/notify/onboarding/${newNotifySecret()}`, onboardingResult(chance.pick(subjects))),
        () => push(`/notify/beneficiary/${newNotifySecret()}`, beneficiaryResult(pending)),
        () => push(`/notify/beneficiary/${reviewed.secret}`, onboardingResult(reviewed)),
        () => push(`/notify/onboarding/${pending.secret}`, beneficiaryResult(pending)),
        // Forged by a out-of-scope record who has a path, and nothing else right.
        () => push(reviewed.path, onboardingResult(reviewed, { bizFlow: `BF-${chance.below(1_000)}` })),
        () => push(reviewed.path, onboardingResult(approved)),
        () => push(pending.path, beneficiaryResult(paid)),
        // Contradictions, and second tokens.
        () => push(approved.path, onboardingResult(approved, REJECTED)),
        () => push(approved.path, onboardingResult(approved, { token: `tok-${chance.below(1_000)}` })),
        () => push(rejected.path, onboardingResult(approved)),
        () => push(paid.path, beneficiaryResult(paid, { status: chance.pick(['01', '03']) })),
        // Malformed.
        () => ({
          path: reviewed.path,
          body: JSON.stringify(onboardingResult(reviewed)).slice(0, chance.below(100)),
        }),
        () =>
          push(reviewed.path, onboardingResult(reviewed, { token: chance.pick(['', null, 'a b', ['t']]) })),
        () =>
          push(reviewed.path, onboardingResult(reviewed, { code: chance.pick([null, 0, '', 'S0000000']) })),
        () =>
          push(pending.path, beneficiaryResult(pending, { status: chance.pick(['', '5', '02', 5, null]) })),
        () => push(pending.path, [JSON.stringify(beneficiaryResult(pending))]),
        () => ({ path: reviewed.path, body: '['.repeat(chance.below(60_000)) }),
        // With another type, or with a slash at the end of the path: accepted all the same, but no result.
        () => ({ path: reviewed.path, body: 'code=S00000', type: 'application/x-www-form-urlencoded' }),
        () => push(`${reviewed.path}/`, onboardingResult(approved)),
        // Too large, so not even accepted.
        () => ({ path: reviewed.path, body: JSON.stringify({ padding: 'p'.repeat(66_000) }) }),
        () => push(`/notify/onboarding/${reviewed.secret.slice(1)}`, onboardingResult(reviewed)),
        () => push(`/notify/onboarding/${reviewed.secret}%00`, onboardingResult(reviewed)),
      ];
      const statuses: Record<number, number> = {};
      let sent = 0;
      const send = async (): Promise<void> => {
        while (sent < posts) {
          sent += 1;
          const status = await post(chance.pick(forgeries)());
          statuses[status] = (statuses[status] ?? 0) + 1;
          if (sent % 2_500 === 0) await pass();
        }
      };
      await Promise.all(Array.from({ length: SENDERS }, send));
      expect((await pass()).left).toEqual([]);

      expect(await stateOf(db)).toEqual(before);
      expect(Object.keys(statuses)).toEqual(['200', '404', '413']);
      const { applied, ...others } = await countNotifications(db);
      expect(applied).toBe(5);
      expect(Object.keys(others).sort()).toEqual([
        'contradiction',
        'duplicate',
        'malformed',
        'second-token',
        'unknown',
      ]);
      expect(Object.values(others).reduce((sum, count) => sum + count, 0)).toBe(statuses[200]);

      // Those that were not attacked still get their results.
      expect(await post(push(reviewed.path, onboardingResult(reviewed)))).toBe(200);
      expect(await post(push(pending.path, beneficiaryResult(pending)))).toBe(200);
      expect((await pass()).outcomes).toEqual({ applied: 2 });
      await served.close();
    },
  );
});
