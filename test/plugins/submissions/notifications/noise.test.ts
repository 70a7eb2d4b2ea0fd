/** Posts that no application or registration asked for change and keep nothing, and delay no one's result. */
import { expect, it } from 'vitest';
import {
  countNotifications,
  createInbox,
  POSTS_A_PATH_MAX,
  processNotifications,
  type InboxDeps,
} from '../../../../src/plugins/submissions/notifications.ts';
import { newNotifySecret, PATH_LIVES_DAYS } from '../../../../src/store/notify-path.ts';
import { onBothDatabases } from '../../../store/support.ts';
import { accepted, inReview, NEEDS_DOCUMENTS, onboardingResult, stateOf, type Subject } from './subjects.ts';
import { KEYS, NOW } from './support.ts';

const DAY_MS = 86_400_000;

type Db = InboxDeps['db'];

const inboxOf = (db: Db, change: Partial<InboxDeps> = {}) =>
  createInbox({ db, secretKeys: KEYS, now: () => NOW, ...change });

const pass = (db: Db, now = NOW) =>
  processNotifications({ db, secretKeys: KEYS, now: () => now, signal: new AbortController().signal });

const result = ({ secret }: Pick<Subject, 'secret'>, payload: object) => ({
  kind: 'onboarding' as const,
  secret,
  body: JSON.stringify(payload),
});

onBothDatabases((store) => {
  it('a path that nobody was given, or was given for another kind, is not found, and keeps nothing', async () => {
    const { db } = store();
    const [one, two] = [await accepted(db, 'A1'), await inReview(db, 'R1')];
    const inbox = inboxOf(db);
    for (const secret of [newNotifySecret(), two.secret])
      await expect(inbox.keep(result({ secret }, {}))).rejects.toMatchObject({ statusCode: 404 });
    await inbox.keep(result(one, onboardingResult(one)));
    expect(await countNotifications(db)).toEqual({ open: 1 });
    expect((await pass(db)).outcomes).toEqual({ applied: 1 });
  });

  it('posts to one path beyond its share of an hour are refused for now, and other paths are not affected', async () => {
    const { db } = store();
    const [one, two] = [await accepted(db, 'A1'), await accepted(db, 'A2')];
    const inbox = inboxOf(db);
    for (let n = 0; n < POSTS_A_PATH_MAX; n += 1) await inbox.keep(result(one, { n }));
    await expect(inbox.keep(result(one, {}))).rejects.toMatchObject({ statusCode: 429 });
    await inbox.keep(result(two, onboardingResult(two)));
    expect((await pass(db)).outcomes).toEqual({ malformed: POSTS_A_PATH_MAX, applied: 1 });
    const later = inboxOf(db, { now: () => new Date(NOW.getTime() + 3_600_001) });
    await later.keep(result(one, onboardingResult(one)));
    expect((await pass(db)).outcomes).toEqual({ applied: 1 });
  });

  it('a replay is recognized, however many results came before, and by nothing that could be read', async () => {
    const { db } = store();
    const one = await accepted(db, 'A1');
    const inbox = inboxOf(db);
    const returned = (n: number) => onboardingResult(one, { ...NEEDS_DOCUMENTS, message: String(n) });
    for (let n = 0; n < 40; n++) await inbox.keep(result(one, returned(n)));
    expect((await pass(db)).outcomes).toEqual({ applied: 40 });
    await inbox.keep(result(one, returned(7)));
    // The same result, formatted differently.
    await inbox.keep({ ...result(one, {}), body: JSON.stringify(returned(9), null, 2) });
    expect((await pass(db)).outcomes).toEqual({ duplicate: 2 });
    const applied = db.selectFrom('notification').selectAll().where('outcome', '=', 'applied');
    const rows = await applied.orderBy('number').execute();
    const digests = rows.map((row) => row.result_digest!);
    expect(new Set(digests).size).toBe(40);
    expect(JSON.stringify(digests)).not.toContain(one.flow);
  });

  it('a path ends some time after its final result: later posts are not found', async () => {
    const { db } = store();
    const [one, two] = [await accepted(db, 'A1'), await accepted(db, 'A2')];
    await inboxOf(db).keep(result(one, onboardingResult(one)));
    await pass(db);
    const days = (count: number) => new Date(NOW.getTime() + count * DAY_MS);
    const again = (now: Date) => inboxOf(db, { now: () => now }).keep(result(one, onboardingResult(one)));
    await again(days(PATH_LIVES_DAYS - 1));
    expect((await pass(db, days(PATH_LIVES_DAYS - 1))).outcomes).toEqual({ duplicate: 1 });
    await expect(again(days(PATH_LIVES_DAYS + 1))).rejects.toMatchObject({ statusCode: 404 });
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
      expect(await pass(db)).toEqual({ outcomes: { malformed: 2 }, left: [] });
      expect(await stateOf(db)).toEqual(before);
    },
  );
});
