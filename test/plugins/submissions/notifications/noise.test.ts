/** Posts from out-of-scope records cost little, are limited, and delay no one's result. */
import { describe, expect, it } from 'vitest';
import {
  createInbox,
  TooManyPosts,
  type InboxDeps,
  createGate,
  INBOX_LIMITS,
  networkOf,
  createShares,
} from '../../../../src/plugins/submissions/inbox.ts';
import { processNotifications, UNKNOWN_KEPT } from '../../../../src/plugins/submissions/process.ts';
import { PATH_LIVES_DAYS, newNotifySecret, notifyHashOf } from '../../../../src/store/notify-path.ts';
import {
  appliedBefore,
  countNotifications,
  listNotifications,
  openInFairOrder,
} from '../../../../src/plugins/submissions/notifications.ts';
import { onBothDatabases } from '../../../store/support.ts';
import { accepted, inReview, NEEDS_DOCUMENTS, onboardingResult, stateOf, type Subject } from './subjects.ts';
import { KEYS, NOW } from './support.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

type Db = InboxDeps['db'];

const inboxOf = (db: Db, change: Partial<InboxDeps> = {}) =>
  createInbox({ db, secretKeys: KEYS, now: () => NOW, clock: () => 0, ...change });

const pass = (db: Db, now = NOW) =>
  processNotifications({ db, secretKeys: KEYS, now: () => now, signal: new AbortController().signal });

const result = ({ secret }: Subject, payload: object, source?: string) => ({
  kind: 'onboarding' as const,
  secret,
  body: JSON.stringify(payload),
  ...(source === undefined ? {} : { source }),
});

const noise = (source: string) => ({
  kind: 'onboarding' as const,
  secret: newNotifySecret(),
  body: '{}',
  source,
});

onBothDatabases((store) => {
  it('for unknown paths each source has a limited share, and what is not kept is refused for now', async () => {
    const { db } = store();
    let notKept = 0;
    const limits = { unknownSourcePosts: 3, unknownPosts: 5 };
    const inbox = inboxOf(db, { limits });
    for (let n = 0; n < 50; n++)
      await inbox.keep(noise('192.0.2.1')).catch((error: unknown) => {
        expect(error).toBeInstanceOf(TooManyPosts);
        notKept += 1;
      });
    await inbox.keep(noise('192.0.2.2'));
    expect(await countNotifications(db)).toEqual({ unknown: 4 });
    expect(notKept).toBe(47);
    const [newest] = await listNotifications(db, { all: true, limit: 1 });
    expect(newest).toMatchObject({ source: '192.0.2.2', receivedAt: NOW });
  });

  it('a post to a known path is stored whatever the noise has used up, and is processed before it', async () => {
    const { db } = store();
    const one = await accepted(db, 'A1');
    const inbox = inboxOf(db, { limits: { unknownPosts: 2 } });
    await Promise.allSettled(Array.from({ length: 300 }, () => inbox.keep(noise('192.0.2.1'))));
    await inbox.keep(result(one, onboardingResult(one), '192.0.2.1'));
    expect(await countNotifications(db)).toEqual({ open: 1, unknown: 2 });
    expect((await pass(db)).outcomes).toEqual({ applied: 1 });
  });

  it('a path that is made after the known ones were read is found too', async () => {
    const { db } = store();
    const inbox = inboxOf(db);
    await inbox.readPaths();
    const [one, two] = [await accepted(db, 'A1'), await inReview(db, 'R1')];
    await inbox.keep(result(one, onboardingResult(one)));
    await inbox.keep({ kind: 'beneficiary', secret: two.secret, body: '{}' });
    // The path of another kind is unknown.
    await inbox.keep({ kind: 'onboarding', secret: two.secret, body: '{}' });
    expect(await countNotifications(db)).toEqual({ open: 2, unknown: 1 });
  });

  it('posts beyond the share of a path are refused for now, known or not, and other paths are not affected', async () => {
    const { db } = store();
    const [one, two] = [await accepted(db, 'A1'), await accepted(db, 'A2')];
    const inbox = inboxOf(db, { limits: { pathSourcePosts: 3, pathPosts: 4, senderPosts: 0 } });
    for (const secret of [one.secret, newNotifySecret()]) {
      const post = (source: string) => inbox.keep({ kind: 'onboarding', secret, body: '{}', source });
      for (let n = 0; n < 3; n++) await post('192.0.2.1');
      await expect(post('192.0.2.1')).rejects.toThrow(TooManyPosts);
      await post('192.0.2.2');
      await expect(post('192.0.2.2')).rejects.toThrow(TooManyPosts);
    }
    await inbox.keep(result(two, onboardingResult(two)));
    expect((await pass(db)).outcomes).toEqual({ malformed: 4, applied: 1 });
  });

  it('paths take turns: after a hundred posts to one path, the first to another is processed second', async () => {
    const { db } = store();
    const [one, two] = [await accepted(db, 'A1'), await accepted(db, 'A2')];
    const inbox = inboxOf(db, { limits: { pathSourcePosts: 200 } });
    for (let n = 0; n < 100; n++) await inbox.keep(result(one, { n }));
    await inbox.keep(result(two, onboardingResult(two)));
    expect(await openInFairOrder(db, { passed: [], limit: 4 })).toEqual([1, 101, 2, 3]);
    expect(await openInFairOrder(db, { passed: [1, 2], limit: 3 })).toEqual([3, 101, 4]);
    expect((await pass(db)).outcomes).toEqual({ malformed: 100, applied: 1 });
  });

  it('a replay is recognized by its digest, however many results came before, and at most two of them are read', async () => {
    const { db } = store();
    const one = await accepted(db, 'A1');
    const inbox = inboxOf(db, { limits: { pathSourcePosts: 200 } });
    const returned = (n: number) => onboardingResult(one, { ...NEEDS_DOCUMENTS, message: String(n) });
    for (let n = 0; n < 40; n++) await inbox.keep(result(one, returned(n)));
    expect((await pass(db)).outcomes).toEqual({ applied: 40 });
    await inbox.keep(result(one, returned(7)));
    // The same result, formatted differently.
    await inbox.keep({ ...result(one, {}), body: JSON.stringify(returned(9), null, 2) });
    expect((await pass(db)).outcomes).toEqual({ duplicate: 2 });
    const hash = notifyHashOf(one.secret);
    const applied = db.selectFrom('notification').selectAll().where('outcome', '=', 'applied');
    const rows = await applied.orderBy('number').execute();
    const digests = rows.map((row) => row.result_digest!);
    expect(new Set(digests).size).toBe(40);
    expect(JSON.stringify(digests)).not.toContain(one.flow);
    const before = await db.transaction().execute((trx) => appliedBefore(trx, hash, digests[3]!));
    expect(before.map(({ number }) => number)).toEqual([4, 40]);
  });

  it('a path ends some time after its final result: later posts count as from strangers', async () => {
    const { db } = store();
    const [one, two] = [await accepted(db, 'A1'), await accepted(db, 'A2')];
    await inboxOf(db).keep(result(one, onboardingResult(one)));
    await pass(db);
    const days = (count: number) => new Date(NOW.getTime() + count * DAY_MS);
    for (const [now, outcomes] of [
      [days(PATH_LIVES_DAYS - 1), { duplicate: 1 }],
      [days(PATH_LIVES_DAYS + 1), {}],
    ] as const) {
      await inboxOf(db, { now: () => now }).keep(result(one, onboardingResult(one)));
      expect((await pass(db, now)).outcomes).toEqual(outcomes);
    }
    // Without a result, a path lasts for ever.
    const later = days(1_000);
    await inboxOf(db, { now: () => later }).keep(result(two, onboardingResult(two)));
    expect((await pass(db, later)).outcomes).toEqual({ applied: 1 });
  });

  it.each(['\0', 'a\0b', '\ud800', 'BF\r\nBF-2', '\u001b[2J', 'BF\u202e1'])(
    'text that cannot be shown or stored makes a result malformed, and changes nothing: %j',
    async (bizFlow) => {
      const { db } = store();
      const [one, two] = [await accepted(db, 'A1'), await inReview(db, 'R1')];
      const before = await stateOf(db);
      const inbox = inboxOf(db);
      await inbox.keep(result(one, onboardingResult(one, { bizFlow })));
      const payload = { status: '04', payeeId: bizFlow };
      await inbox.keep({ kind: 'beneficiary', secret: two.secret, body: JSON.stringify(payload) });
      expect(await pass(db)).toEqual({ outcomes: { malformed: 2 }, left: [], dropped: 0 });
      expect(await stateOf(db)).toEqual(before);
    },
  );
});

describe('the share of an hour', () => {
  it('a day of the worst noise is less than what is kept, so nothing is dropped before it is a day old', () => {
    let clockMs = 0;
    const gate = createGate(INBOX_LIMITS, () => clockMs);
    const kept = { posts: 0, bytes: 0 };
    for (const bytes of [200, 87_000]) {
      for (let second = 0; second < 86_400; second += 20) {
        for (let source = 0; source < 30; source++) {
          if (!gate.keepsUnknown(`192.0.2.${source}`, bytes)) continue;
          kept.posts += 1;
          kept.bytes += bytes;
        }
        clockMs += 20_000;
      }
      expect(kept.posts).toBeLessThanOrEqual(UNKNOWN_KEPT.posts);
      expect(kept.bytes).toBeLessThanOrEqual(UNKNOWN_KEPT.bytes);
      expect(kept.posts).toBeGreaterThan(1_000);
      Object.assign(kept, { posts: 0, bytes: 0 });
      clockMs += DAY_MS;
    }
  });

  it('refills steadily, and forgets the name that was not seen for longest', () => {
    let clockMs = 0;
    const shares = createShares({ perHour: 2, namesMax: 2, clock: () => clockMs });
    expect([1, 2, 3].map(() => shares.take('a'))).toEqual([true, true, false]);
    clockMs += HOUR_MS / 2;
    expect([1, 2].map(() => shares.take('a'))).toEqual([true, false]);
    shares.take('b');
    shares.take('a');
    shares.take('c', 2);
    expect([shares.take('b', 2), shares.take('b')]).toEqual([true, false]);
  });

  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:DB8:1:2::9', '2001:db8:1:2'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['::1', '0:0:0:0'],
  ])('a source is an address, or a network of 64 bits: %s is %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});
