/** Random histories of nights with a mail server in trouble, and processes that die: what arrives, counted at the server. */
import { afterEach, describe, expect, test } from 'vitest';
import { addDays, daysFromTo } from '../../../src/ledger/business-day.ts';
import { entriesOfAmounts, type WireEntry } from '../../support/plain-platform.ts';
import { claimMail, noteSent, queueMail } from '../../../src/plugins/mail/stored.ts';
import { randomOf } from '../../support/random.ts';
import { shortAndLong } from '../../support/short-and-long.ts';
import { deliverMails } from '../../../src/plugins/mail/deliver.ts';
import { queueDue } from '../../../src/plugins/mail/due.ts';
import { startMailbox } from '../../support/receivers.ts';
import { startDaybook } from '../../cli/daybook.ts';
import {
  ANNA,
  endWaits,
  mailsOf,
  openMailStage,
  publishedOf,
  readMail,
  type MailStage,
  type ReadMail,
} from './stage.ts';

const FROM = '2026-03-02';
const DAYS = daysFromTo(FROM, '2026-03-05');
const BO = { ...ANNA, name: 'Bo', to: 'bo@company.example', formats: ['csv', 'mt940'] };

let stage: MailStage;
afterEach(() => stage.close());

/** Three entries a day, and one more for each time that one came late; the middle one of a broken day has a wrong balance. */
function entriesOf(late: ReadonlyMap<string, number>, broken: ReadonlySet<string>): WireEntry[] {
  const amounts = DAYS.flatMap((day) =>
    Array.from(
      { length: 3 + (late.get(day) ?? 0) },
      (_, nth) => [`${day}-${nth}`, `${day} ${String(10 + nth)}:00:00`, 100 * (nth + 1)] as const,
    ),
  );
  return entriesOfAmounts('USD', amounts).map((entry) =>
    broken.has(entry.busiDate.slice(0, 10)) && entry.batchNo.endsWith('-1')
      ? { ...entry, vailAmount: entry.vailAmount + 7 }
      : entry,
  );
}

interface Arrived extends ReadMail {
  readonly day: string;
}

async function history(seed: number): Promise<void> {
  const random = randomOf(seed);
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!;
  const late = new Map<string, number>();
  const broken = new Set<string>();
  // An entry that goes to and fro between two contents would be taken for two entries.
  const wasBroken = new Set<string>();
  const arrived: Arrived[] = [];
  const cutShort = new Set<string>();
  stage = await openMailStage([], `${FROM}T12:00:00+08:00`);
  stage.recipients = [ANNA, BO];
  let isCutting: AbortController | null = null;
  let today = FROM;
  const onMail: NonNullable<Parameters<typeof startMailbox>[0]>['onMail'] = (mail) => {
    const read = readMail(mail);
    const day = /for (\d{4}-\d\d-\d\d)/.exec(read.subject)![1]!;
    arrived.push({ ...read, day });
    expect(broken, 'no open day is mailed').not.toContain(day);
    expect(day < today, 'no day is mailed before it is over').toBe(true);
    if (isCutting === null || random() < 0.5) return;
    cutShort.add(read.messageId);
    isCutting.abort();
  };
  const night = async (trouble: 'none' | 'refuses' | 'down' | 'cut'): Promise<void> => {
    stage.entries = entriesOf(late, broken);
    stage.setNow(`${today}T01:30:00+08:00`);
    await stage.run(FROM, addDays(today, -1));
    isCutting = trouble === 'cut' ? new AbortController() : null;
    await stage.replaceMailbox(
      trouble === 'refuses' ? { refuses: pick([451, 554]), looksMs: 0 } : { onMail },
    );
    const { url } = stage.mailbox;
    if (trouble === 'down') await stage.mailbox.close();
    await stage.mail({ smtpUrl: url }, isCutting?.signal);
    if (trouble === 'down') stage.mailbox = await startMailbox();
  };
  for (let nth = 1; nth <= 8; nth += 1) {
    today = addDays(FROM, Math.min(nth, DAYS.length));
    const over = DAYS.filter((day) => day < today);
    if (random() < 0.4) {
      const day = pick(over);
      late.set(day, (late.get(day) ?? 0) + 1);
    }
    const day = pick(over);
    if (broken.has(day)) broken.delete(day);
    else if (!wasBroken.has(day) && random() < 0.4) {
      broken.add(day);
      wasBroken.add(day);
    }
    await night(pick(['none', 'none', 'refuses', 'down', 'cut']));
  }
  broken.clear();
  await night('none');
  await stage.mail();
  expect(await stage.mail()).toEqual({ sent: 0, failed: 0, givenUp: 0 });

  const published = await publishedOf(stage);
  const byId = Map.groupBy(arrived, ({ messageId }) => messageId);
  for (const [id, same] of byId) {
    if (!cutShort.has(id)) expect(same, 'once').toHaveLength(1);
    expect(new Set(same.map(({ files }) => JSON.stringify(files))).size, 'a repeated mail is the same').toBe(
      1,
    );
    const [csv] = Object.values(same[0]!.files);
    expect(published.filter(({ day }) => day === same[0]!.day).map(({ sha256 }) => sha256)).toContain(csv);
  }
  for (const { to } of [ANNA, BO])
    for (const day of DAYS) {
      const own = [...byId.values()]
        .map(([first]) => first!)
        .filter((mail) => mail.to === to && mail.day === day);
      const contents = own.map(
        ({ files, body }) => `${Object.values(files)[0]!} ${/Opening.*\n/.exec(body)![0]}`,
      );
      expect(own.length, `${to} got ${day}`).toBeGreaterThan(0);
      expect(Object.values(own.at(-1)!.files)[0]).toBe(published.findLast((row) => row.day === day)!.sha256);
      expect(
        contents.every((content, nth) => content !== contents[nth - 1]),
        'nothing is mailed again that did not change',
      ).toBe(true);
    }
}

describe.each(shortAndLong([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 2))('random histories', ({ options, cases }) => {
  test.each(cases)(
    'history %i: each current statement arrives once, and none that is open',
    { timeout: 120_000, ...options },
    (seed) => history(seed),
  );
});

test('a process that is killed while the server takes a mail repeats it under the same number, and loses none', async () => {
  stage = await openMailStage(entriesOf(new Map(), new Set()), '2026-03-04T01:30:00+08:00');
  await stage.run(FROM, '2026-03-03');
  const child: { kill?: () => void } = {};
  await stage.replaceMailbox({ onMail: () => child.kill?.(), looksMs: 1_000 });
  const started = startDaybook(['mail', 'send'], stage.env());
  child.kill = () => void started.child.kill('SIGKILL');
  await started.ended;
  const before = mailsOf(stage);
  expect(before).toHaveLength(1);
  await stage.replaceMailbox();
  // Another process waits until the claim of the dead one is over.
  const early = startDaybook(['mail', 'send'], stage.env());
  expect(await early.ended).toMatchObject({ code: 0, stdout: '1 mail sent\n' });
  await endWaits(stage);
  const late = startDaybook(['mail', 'send'], stage.env());
  expect(await late.ended).toMatchObject({ code: 0, stdout: '1 mail sent\n' });
  const after = mailsOf(stage);
  expect(after.map(({ subject }) => subject.slice(-10))).toEqual(['2026-03-03', '2026-03-02']);
  expect(after[1]!.messageId).toBe(before[0]!.messageId);
  expect(after[1]!.files).toEqual(before[0]!.files);
});

test('two processes that mail at the same time send each mail once', async () => {
  stage = await openMailStage(entriesOf(new Map(), new Set()), '2026-03-06T01:30:00+08:00');
  await stage.run(FROM, '2026-03-05');
  const mail = async (): Promise<unknown> => {
    await queueDue(stage.mailing());
    return deliverMails(stage.mailing(), { onFailed: () => undefined });
  };
  await Promise.all([mail(), mail(), mail()]);
  const ids = mailsOf(stage).map(({ messageId }) => messageId);
  expect(ids).toHaveLength(DAYS.length);
  expect(new Set(ids).size).toBe(DAYS.length);
});

test('a content that is back before the other one was tried is not mailed again', async () => {
  stage = await openMailStage([], '2026-03-06T01:30:00+08:00');
  const { db } = stage.mailing();
  const sums = {
    opening: '0',
    creditTotal: '0',
    creditCount: 0,
    debitTotal: '0',
    debitCount: 0,
    closing: '0',
  };
  const own = { recipient: 'a', merchantNo: 'M1', currency: 'USD', period: FROM };
  const queue = (revision: number, sha256: string): Promise<boolean> =>
    queueMail(
      db,
      { ...own, revision },
      { name: 'Anna', content: { sums, days: { [FROM]: revision }, sha256 } },
    );
  expect(await queue(1, 'A')).toBe(true);
  await noteSent(db, { ...own, revision: 1 });
  expect(await queue(2, 'B')).toBe(true);
  expect(await queue(3, 'A')).toBe(false);
  const rows = await db
    .selectFrom('statement_mail')
    .select(['revision', 'state'])
    .orderBy('revision')
    .execute();
  expect(rows.map(({ revision, state }) => `${revision} ${state}`)).toEqual([
    '1 sent',
    '2 replaced',
    '3 unchanged',
  ]);
  // It may have arrived once it was tried.
  expect(await queue(4, 'B')).toBe(true);
  await claimMail(db, ['a'], 0);
  expect(await queue(5, 'A')).toBe(true);
});
