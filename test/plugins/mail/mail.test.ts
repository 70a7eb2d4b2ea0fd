/** Statements by mail to a real mail server: who gets what, when, and once. */
import { sql } from 'kysely';
import { afterEach, expect, test } from 'vitest';
import { entriesOfAmounts, type WireEntry } from '../../support/plain-platform.ts';
import { PLAIN_MERCHANT } from '../../support/plain-stage.ts';
import { daybook } from '../../cli/daybook.ts';
import { ANNA, endWaits, mailsOf, openMailStage, publishedOf, type MailStage } from './stage.ts';

const NIGHT = '2026-03-04T01:30:00+08:00';
const ENTRIES = entriesOfAmounts('USD', [
  ['B1', '2026-03-02 10:00:00', 125_000],
  ['B2', '2026-03-02 11:00:00', -5_000],
  ['B3', '2026-03-03 09:00:00', 2_000],
  ['B4', '2026-03-03 10:00:00', 500],
]);
const RANGE = ['2026-03-02', '2026-03-03'] as const;
const { merchantNo } = PLAIN_MERCHANT;

let stage: MailStage;
afterEach(() => stage.close());

const open = async (entries: readonly WireEntry[] = ENTRIES, now = NIGHT): Promise<void> => {
  stage = await openMailStage(entries, now);
};
const run = () => stage.run(...RANGE);
const states = async () =>
  (
    await sql<{ at: string }>`
      SELECT concat_ws(' ', period, 'r' || revision, state) AS at FROM statement_mail ORDER BY period, revision, recipient`.execute(
      stage.app().database.db,
    )
  ).rows.map(({ at }) => at);
/** The chain breaks within the second day: the balance of its last entry has 10 units more. */
const BROKEN = ENTRIES.map((entry) =>
  entry.batchNo === 'B4' ? { ...entry, vailAmount: entry.vailAmount + 10 } : entry,
);

test('a run mails each proven day once, as it was published, and the next run mails nothing', async () => {
  await open();
  const first = await daybook(['run', '--from', RANGE[0], '--to', RANGE[1]], stage.env());
  expect(first).toMatchObject({ code: 0 });
  const mails = mailsOf(stage);
  expect(mails.map(({ to, subject }) => [to, subject])).toEqual([
    ['anna@company.example', `Statement of ${merchantNo} in USD for 2026-03-02`],
    ['anna@company.example', `Statement of ${merchantNo} in USD for 2026-03-03`],
  ]);
  const published = await publishedOf(stage);
  expect(mails.map(({ files }) => files)).toEqual(
    published.map(({ object_key: key, sha256 }) => ({ [key.split('/').at(-1)!]: sha256 })),
  );
  expect(mails[0]!.body).toContain(
    [
      'Opening balance: 0.00 USD',
      'Credits: 1,250.00 USD (1)',
      'Debits: 50.00 USD (1)',
      'Closing balance: 1,200.00 USD',
      'Breaks: none',
    ].join('\n'),
  );
  await daybook(['run', '--from', RANGE[0], '--to', RANGE[1]], stage.env());
  expect(mailsOf(stage)).toHaveLength(2);
  expect(first.stdout + first.stderr).not.toContain('anna@');
});

test('a broken day is mailed once a person has resolved its break, and no day that is not over', async () => {
  await open(BROKEN);
  await run();
  await stage.mail();
  expect(mailsOf(stage).map(({ subject }) => subject)).toEqual([
    `Statement of ${merchantNo} in USD for 2026-03-02`,
  ]);
  const { rows } = await sql<{ id: number }>`SELECT id FROM continuity_break`.execute(
    stage.app().database.db,
  );
  const resolved = await daybook(
    ['breaks', 'resolve', String(rows[0]!.id), '--note', 'a correction'],
    stage.env(),
  );
  expect(resolved).toMatchObject({ code: 0 });
  await run();
  await stage.mail();
  const [, second, ...others] = mailsOf(stage);
  expect(others).toEqual([]);
  expect(second).toMatchObject({ subject: `Statement of ${merchantNo} in USD for 2026-03-03` });
  expect(second!.body).toMatch(
    /Breaks: \d, all resolved\n\nEvery entry of the day was read, and each break was resolved with a note\./,
  );
});

test('a day that is queued and opens again before it is sent waits until it is proven again', async () => {
  await open();
  await run();
  await stage.replaceMailbox({ refuses: 451 });
  await stage.mail();
  await stage.replaceMailbox();
  stage.entries = BROKEN;
  await run();
  await stage.mail();
  expect(mailsOf(stage).map(({ subject }) => subject)).toEqual([
    `Statement of ${merchantNo} in USD for 2026-03-02`,
  ]);
  stage.entries = ENTRIES;
  await run();
  await stage.mail();
  const [, second, ...others] = mailsOf(stage);
  expect(second!.subject).toBe(`Statement of ${merchantNo} in USD for 2026-03-03`);
  expect(Object.values(second!.files)).toEqual([(await publishedOf(stage)).at(-1)!.sha256]);
  expect(others).toEqual([]);
});

const LATE = entriesOfAmounts('USD', [
  ['B1', '2026-03-02 10:00:00', 125_000],
  ['B2', '2026-03-02 11:00:00', -5_000],
  ['L1', '2026-03-02 12:00:00', 7_500],
  ['B3', '2026-03-03 09:00:00', 2_000],
  ['B4', '2026-03-03 10:00:00', 500],
]);

test('a revision is mailed once, and says which one it replaces and which sums changed', async () => {
  await open();
  await run();
  await stage.mail();
  stage.entries = LATE;
  await run();
  await stage.mail();
  await stage.mail();
  const [first, , third, fourth, ...others] = mailsOf(stage);
  expect(others).toEqual([]);
  expect(third!.subject).toBe(`Revised: statement of ${merchantNo} in USD for 2026-03-02, revision 2`);
  expect(third!.body).toMatch(
    /Revision 2 replaces revision 1 in the mail of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\./,
  );
  expect(third!.body).toContain('Credits: 1,325.00 USD (2), before 1,250.00 USD (1)');
  expect(third!.body).toContain('Debits: 50.00 USD (1)\n');
  expect(fourth!.subject).toContain('2026-03-03, revision 2');
  expect(third!.messageId).not.toBe(first!.messageId);
});

test('a revision with the same file and sums is not mailed', async () => {
  await open();
  await run();
  await stage.mail();
  await sql`
    INSERT INTO statement SELECT (json_populate_record(s, json_build_object('revision', 2, 'object_key', object_key || '.2'))).*
    FROM statement s WHERE day = '2026-03-02'`.execute(stage.app().database.db);
  await stage.mail();
  expect(mailsOf(stage)).toHaveLength(2);
  expect(await states()).toEqual(['2026-03-02 r1 sent', '2026-03-02 r2 unchanged', '2026-03-03 r1 sent']);
});

test('a revision that comes before the first one is sent takes its place', async () => {
  await open();
  await run();
  await stage.replaceMailbox({ refuses: 451 });
  await stage.mail();
  stage.entries = LATE;
  await run();
  await stage.replaceMailbox();
  await stage.mail();
  expect(await states()).toEqual([
    '2026-03-02 r1 replaced',
    '2026-03-02 r2 sent',
    '2026-03-03 r1 replaced',
    '2026-03-03 r2 sent',
  ]);
  expect(mailsOf(stage).map(({ subject }) => subject.split(' ').at(-1))).toEqual(['2', '2']);
});

test('a month is mailed when it is over and each of its days is proven, in every format asked for', async () => {
  await open(ENTRIES, '2026-03-31T12:00:00+08:00');
  stage.recipients = [{ ...ANNA, every: 'month', formats: ['csv', 'workbook', 'pdf'] }];
  await stage.run('2026-03-01', '2026-03-31');
  await stage.mail();
  expect(mailsOf(stage)).toEqual([]);
  stage.setNow('2026-04-01T01:30:00+08:00');
  await stage.run('2026-03-03', '2026-03-31');
  await stage.mail();
  await stage.mail();
  const [mail, ...others] = mailsOf(stage);
  expect(others).toEqual([]);
  expect(mail!.subject).toBe(`Statement of ${merchantNo} in USD for 2026-03`);
  const name = `month-2026-03-${merchantNo}_USD`;
  expect(Object.keys(mail!.files)).toEqual([`${name}.csv`, `${name}.xlsx`, `${name}.pdf`]);
  expect(mail!.body).toContain('Closing balance: 1,225.00 USD');
  stage.entries = LATE;
  await stage.run('2026-03-01', '2026-03-31');
  await stage.mail();
  const [, revised] = mailsOf(stage);
  expect(revised!.subject).toBe(`Revised: statement of ${merchantNo} in USD for 2026-03`);
  expect(revised!.body).toContain(
    'Days that changed: 2026-03-02 (revision 1 to 2), 2026-03-03 (revision 1 to 2)',
  );
  expect(revised!.body).toContain('Closing balance: 1,300.00 USD, before 1,225.00 USD');
});

test('a mail has the names that people gave to the merchant and its account', async () => {
  await open();
  await run();
  await sql`INSERT INTO account_name (merchant_no, currency, name) VALUES (${merchantNo}, '', 'Example Ltd'), (${merchantNo}, 'USD', 'Settlement')`.execute(
    stage.app().database.db,
  );
  await stage.mail();
  expect(mailsOf(stage)[0]!.body).toMatch(
    /^Statement of merchant M-PLAIN in USD for 2026-03-02 \(revision 1\)\nExample Ltd, Settlement\n\nOpening/,
  );
});

test('a link leads to the day, and takes the place of files that are too large', async () => {
  await open();
  stage.recipients = [
    { ...ANNA, as: 'link' },
    { ...ANNA, name: 'Bo', to: 'bo@company.example' },
  ];
  await run();
  await stage.mail({ attachedBytesMax: 10 });
  const link = `https://books.example/m/${merchantNo}/USD/2026-03-02?revision=1`;
  const [first, second] = ['anna', 'bo'].map((who) => mailsOf(stage).find(({ to }) => to.startsWith(who))!);
  expect(first!.body).toContain(link);
  expect(first!.body).not.toContain('too large');
  expect(second!.body).toContain(
    `The files are too large for a mail.\nThe statement with its files, after a login: ${link}`,
  );
  expect([first!.files, second!.files]).toEqual([{}, {}]);
});

test('a server that takes no mail of this size gets a link with the next try', async () => {
  await open();
  await run();
  await stage.replaceMailbox({ sizeMax: 1_200 });
  expect(await stage.mail()).toEqual({ sent: 0, failed: 2, givenUp: 0 });
  expect(await stage.mail()).toEqual({ sent: 2, failed: 0, givenUp: 0 });
  expect(mailsOf(stage).map(({ files }) => files)).toEqual([{}, {}]);
});

test('a recipient that the server refuses is given up, and the others get theirs', async () => {
  await open();
  stage.recipients = [ANNA, { ...ANNA, name: 'Bo', to: 'bo@company.example' }];
  await run();
  await stage.replaceMailbox({ unknown: new Set(['anna@company.example']), status: 550 });
  const sent = await daybook(['mail', 'send'], stage.env());
  expect(sent).toMatchObject({ code: 4 });
  expect(sent.stdout).toContain('2 mails sent\n2 mails given up, as the server refused the recipient');
  expect(mailsOf(stage).map(({ to }) => to)).toEqual(['bo@company.example', 'bo@company.example']);
  const status = await daybook(['status'], stage.env());
  expect(status.stdout).toContain('statements by mail: 2 given up in the last week');
  const list = await daybook(['mail', 'list'], stage.env());
  expect(list.stdout).toMatch(
    /Anna Berg +an…@company\.example .* given-up after 1 try: the mail server answered 550/,
  );
  for (const { stdout, stderr } of [sent, status, list]) expect(stdout + stderr).not.toMatch(/anna@|bo@/);
});

test('a mail server that is down ends no run badly, is shown, and gets everything once it is up', async () => {
  await open();
  const down = stage.mailbox.url;
  await stage.mailbox.close();
  const night = await daybook(['run', '--from', RANGE[0], '--to', RANGE[1]], stage.env());
  expect(night).toMatchObject({ code: 0 });
  const status = await daybook(['status'], stage.env());
  expect(status.stdout).toContain('statements by mail: 1 mail not delivered yet: see `daybook mail list`');
  expect(status.code).toBe(0);
  // Nothing is tried before the wait is over.
  await stage.replaceMailbox({ port: Number(new URL(down).port) });
  await daybook(['mail', 'send'], stage.env());
  expect(mailsOf(stage)).toEqual([]);
  await endWaits(stage);
  expect(await daybook(['mail', 'send'], stage.env())).toMatchObject({ code: 0, stdout: '2 mails sent\n' });
  expect(mailsOf(stage)).toHaveLength(2);
});

test('a preview shows what is due and mails nothing; a copy goes to one address, with its reason on record', async () => {
  await open();
  await run();
  const preview = await daybook(['mail', 'send', '--dry-run'], stage.env());
  expect(preview.stdout).toMatch(
    /Anna Berg +an…@company\.example +M-PLAIN +USD +2026-03-02 +1 +1,200\.00 USD +csv/,
  );
  expect(preview.stdout).toContain('nothing was mailed');
  expect(mailsOf(stage)).toEqual([]);
  const what = ['--merchant', merchantNo, '--currency', 'USD', '--reason', 'mailbox was full', '--by', 'Ada'];
  const copy = await daybook(
    ['mail', 'resend', '--to', 'cleo@company.example', '--day', '2026-03-02', ...what],
    stage.env(),
  );
  expect(copy).toMatchObject({ code: 0 });
  const [mail, ...others] = mailsOf(stage);
  expect(others).toEqual([]);
  expect(mail).toMatchObject({
    to: 'cleo@company.example',
    subject: `Copy: statement of ${merchantNo} in USD for 2026-03-02`,
  });
  expect(mail!.body).toContain('This is a copy. Reason: mailbox was full');
  const audit = await daybook(['audit', '--json'], stage.env());
  expect(JSON.parse(audit.stdout)).toMatchObject([
    {
      by: 'Ada',
      command: 'mail resend',
      subject: `${merchantNo} USD 2026-03-02 r1`,
      note: expect.stringMatching(/^mailbox was full \(to cl…@company\.example, [0-9a-f]{12}\)$/),
    },
  ]);
  const refused = await daybook(
    ['mail', 'resend', '--to', 'cleo@company.example', '--month', '2026-03', ...what],
    stage.env(),
  );
  expect(refused).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('2026-03 is not proven and published as it now stands'),
  });
  for (const { stdout, stderr } of [preview, copy, audit, refused])
    expect(stdout + stderr).not.toMatch(/anna@|cleo@/);
});
