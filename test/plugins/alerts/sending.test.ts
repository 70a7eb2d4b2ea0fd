/** One alert to a real receiver: what it gets, how it can check it, and what a receiver in trouble does to daybook. */
import { createHmac } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { type Alert, slackDocument } from '../../../src/plugins/alerts/alert.ts';
import { targetsOf, postAlert } from '../../../src/plugins/alerts/targets.ts';
import { startMailbox, startReceiver, type Mailbox, type Receiver } from '../../support/receivers.ts';

const SECRET = 'a secret of the receiver';
const NOW = new Date('2026-03-06T00:00:00.500Z');
const sending = { timeoutMs: 5_000, now: () => NOW };
const alert: Alert = {
  id: '2f1f0a3e-95a0-4f63-9ad6-3f2f8ad5cf21',
  kind: 'failed-night',
  title: 'run 7 failed <&>',
  sentences: ['M1: it answered 500.', 'M2 & M3: the same.'],
  todo: 'run `daybook doctor`',
  merchants: ['M1', 'M2'],
  merchantCount: 3,
  days: ['2026-03-05'],
  since: new Date('2026-03-05T17:30:00Z'),
  runId: 7,
  raisedAt: new Date('2026-03-05T17:31:00Z'),
};

const closing: (Receiver | Mailbox)[] = [];
afterEach(async () => {
  for (const one of closing.splice(0)) await one.close();
});
async function receiver(answer?: Parameters<typeof startReceiver>[0]): Promise<Receiver> {
  const started = await startReceiver(answer);
  closing.push(started);
  return started;
}

describe('a webhook', () => {
  test('gets a document whose signature it can compute itself', async () => {
    const hook = await receiver();
    const sent = await postAlert({ kind: 'json', url: hook.url }, alert, {
      ...sending,
      secret: SECRET,
      installation: 'one',
    });
    expect(sent).toEqual({ ok: true });
    const [{ method, headers, text }] = hook.received as [Receiver['received'][number]];
    expect(method).toBe('POST');
    expect(headers['content-type']).toBe('application/json');
    expect(headers['daybook-alert-id']).toBe(alert.id);
    const mac = createHmac('sha256', SECRET).update('1772755200').update('.').update(text).digest('hex');
    expect(headers['daybook-signature']).toBe(`t=1772755200,v1=${mac}`);
    expect(JSON.parse(text)).toEqual({
      version: 1,
      id: alert.id,
      dedup_key: `daybook/one/${alert.id}`,
      status: 'firing',
      kind: 'failed-night',
      title: 'run 7 failed <&>',
      text: 'M1: it answered 500.\nM2 & M3: the same.',
      todo: 'run `daybook doctor`',
      merchants: ['M1', 'M2'],
      merchantCount: 3,
      days: ['2026-03-05'],
      since: '2026-03-05T17:30:00.000Z',
      raisedAt: '2026-03-05T17:31:00.000Z',
      runId: 7,
      runbook: 'Alert: a night failed',
    });
  });

  test('of Slack gets text and blocks, with its markup escaped, and no signature', async () => {
    const hook = await receiver();
    await postAlert({ kind: 'slack', url: hook.url }, alert, {
      ...sending,
      secret: SECRET,
      installation: 'one',
    });
    expect(hook.received[0]!.headers['daybook-signature']).toBeUndefined();
    const [document] = hook.documents();
    expect(Object.keys(document!)).toEqual(['text', 'blocks']);
    expect(document!['text']).toBe('daybook: run 7 failed &lt;&amp;&gt;');
    expect(document!['blocks']).toEqual([
      { type: 'header', text: { type: 'plain_text', text: 'daybook: run 7 failed <&>' } },
      {
        type: 'section',
        text: { type: 'mrkdwn', text: 'M1: it answered 500.\nM2 &amp; M3: the same.' },
      },
      {
        type: 'section',
        text: {
          type: 'mrkdwn',
          text:
            'What to do: run `daybook doctor`\nRunbook: "Alert: a night failed" in docs/runbook.md\n' +
            'Since: 2026-03-05T17:30:00.000Z\nRun: 7 (daybook runs 7)\n' +
            `Alert: ${alert.id}, raised 2026-03-05T17:31:00.000Z`,
        },
      },
    ]);
  });

  test.each([
    [
      '500',
      (one: Parameters<Receiver['answer']>[0]) => one.writeHead(500).end('secret words'),
      'it answered 500',
      null,
    ],
    [
      '429 with a time',
      (one: Parameters<Receiver['answer']>[0]) => one.writeHead(429, { 'retry-after': '120' }).end(),
      'it answered 429',
      120_000,
    ],
    [
      '429 until a date',
      (one: Parameters<Receiver['answer']>[0]) =>
        one.writeHead(429, { 'retry-after': 'Fri, 06 Mar 2026 00:01:00 GMT' }).end(),
      'it answered 429',
      59_500,
    ],
    [
      'a cut connection',
      (one: Parameters<Receiver['answer']>[0]) => one.destroy(),
      'the connection failed (UND_ERR_SOCKET)',
      null,
    ],
  ])('that answers %s: a problem without its words', async (_, answer, problem, askedMs) => {
    const hook = await receiver(answer);
    const sent = await postAlert({ kind: 'json', url: hook.url }, alert, {
      ...sending,
      secret: SECRET,
      installation: 'one',
    });
    expect(sent).toEqual({ ok: false, problem, askedMs });
  });

  test('that redirects is not followed', async () => {
    const elsewhere = await receiver();
    const hook = await receiver((response) => response.writeHead(307, { location: elsewhere.url }).end());
    const sent = await postAlert({ kind: 'json', url: hook.url }, alert, {
      ...sending,
      secret: SECRET,
      installation: 'one',
    });
    expect(sent).toMatchObject({ problem: 'it answered 307, and redirects are not followed' });
    expect(elsewhere.received).toEqual([]);
  });

  test('that never answers, or never ends its answer, costs no more than the time of one try', async () => {
    const silent = await receiver(() => undefined);
    const endless = await receiver((response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write('x'.repeat(1_000)), 1);
      response.on('close', () => clearInterval(timer));
    });
    const quick = { ...sending, timeoutMs: 300, secret: SECRET, installation: 'one' };
    expect(await postAlert({ kind: 'json', url: silent.url }, alert, quick)).toEqual({
      ok: false,
      problem: 'no answer within 0.3 s',
      askedMs: null,
    });
    expect(await postAlert({ kind: 'json', url: endless.url }, alert, quick)).toEqual({ ok: true });
  });
});

test('Slack gets no text that is longer escaped than it takes, and no empty one', () => {
  const long = slackDocument({ ...alert, sentences: ['&'.repeat(2_000)] });
  const [, first] = long.blocks as { text: { text: string } }[];
  expect(first!.text.text.length).toBeLessThanOrEqual(3_000);
  expect(first!.text.text).toMatch(/^(?:&amp;)+…$/);
  const texts = slackDocument({ ...alert, sentences: [] }).blocks.map(({ text: { text } }) => text);
  expect(texts).toHaveLength(2);
  expect(texts[1]).toContain('What to do: ');
});

describe('mail', () => {
  const settings = (smtpUrl: string, to = ['ops@company.example', 'late@company.example']) => ({
    alerts: {
      ...{ webhooks: [], secret: null, pingUrl: null },
      mail: { to, from: 'daybook@company.example', smtpUrl },
    },
    allowInsecure: [],
    statementsUrl: 's3://statements',
  });

  test('has the same sentences, goes to all in one message, and has the alert’s number', async () => {
    const mailbox = await startMailbox();
    closing.push(mailbox);
    const [target] = targetsOf(settings(mailbox.url));
    expect(await target!.send(alert, sending)).toEqual({ ok: true });
    expect(mailbox.mails).toHaveLength(1);
    const [{ to, from, text }] = mailbox.mails as [Mailbox['mails'][number]];
    expect(to).toEqual(['ops@company.example', 'late@company.example']);
    expect(from).toBe('daybook@company.example');
    expect(text).toContain('Subject: daybook: run 7 failed <&>');
    expect(text).toContain(`Message-ID: <${alert.id}@daybook>`);
    expect(text).toMatch(new RegExp(`^Daybook-Alert-ID: ${alert.id}\r$`, 'im'));
    expect(text).toContain('M2 & M3: the same.');
    expect(text).toContain('What to do: run `daybook doctor`');
  });

  test('that the server refuses is a problem without its words', async () => {
    const mailbox = await startMailbox({ refuses: 550 });
    closing.push(mailbox);
    const [target] = targetsOf(settings(mailbox.url));
    expect(await target!.send(alert, sending)).toEqual({
      ok: false,
      problem: 'the mail server answered 550',
      askedMs: null,
    });
  });

  test('that some addresses refuse is sent again to those alone', async () => {
    const unknown = new Set(['late@company.example']);
    const mailbox = await startMailbox({ unknown });
    closing.push(mailbox);
    const [target] = targetsOf(settings(mailbox.url));
    const first = await target!.send(alert, sending);
    expect(first).toEqual({
      ok: false,
      problem: 'the mail server refused 1 of 2 addresses',
      askedMs: null,
      took: [expect.stringMatching(/^[0-9a-f]{12}$/)],
    });
    unknown.clear();
    const { took } = first as { took: readonly string[] };
    expect(await target!.send(alert, { ...sending, took })).toEqual({ ok: true });
    expect(mailbox.mails.map(({ to }) => to)).toEqual([['ops@company.example'], ['late@company.example']]);
    expect(mailbox.mails[1]!.text).toContain('ops@company.example');
  });

  test.each([
    ['in capitals', 'late@Company.EXAMPLE', 'late@company.example'],
    ['beyond ASCII', 'late@BÜCHER.example', 'late@bücher.example'],
    ['with a character that needs quotes', 'la:te@company.example', '"la:te"@company.example'],
  ])('that an address %s refuses is sent to it again', async (_, written, sent) => {
    const unknown = new Set([sent]);
    const mailbox = await startMailbox({ unknown });
    closing.push(mailbox);
    const [target] = targetsOf(settings(mailbox.url, ['ops@company.example', written]));
    const first = await target!.send(alert, sending);
    expect(first).toMatchObject({ ok: false, took: [expect.any(String)] });
    unknown.clear();
    const { took } = first as { took: readonly string[] };
    expect(await target!.send(alert, { ...sending, took })).toEqual({ ok: true });
    expect(mailbox.mails.map(({ to }) => to)).toEqual([['ops@company.example'], [sent]]);
  });

  test('that all took but an address which is no longer set is sent, and to nobody again', async () => {
    const mailbox = await startMailbox({ unknown: new Set(['late@company.example']) });
    closing.push(mailbox);
    const [before] = targetsOf(settings(mailbox.url));
    const { took } = (await before!.send(alert, sending)) as { took: readonly string[] };
    const [now] = targetsOf(settings(mailbox.url, ['ops@company.example']));
    expect(await now!.send(alert, { ...sending, took })).toEqual({ ok: true });
    expect(mailbox.mails).toHaveLength(1);
  });

  test('that the server looks through for longer than it may take to greet is sent', async () => {
    const mailbox = await startMailbox({ looksMs: 600 });
    closing.push(mailbox);
    const [target] = targetsOf(settings(mailbox.url));
    expect(await target!.send(alert, { ...sending, timeoutMs: 300 })).toEqual({ ok: true });
    expect(mailbox.mails).toHaveLength(1);
  });

  test('is one target, whatever its password and addresses', () => {
    const keys = (smtpUrl: string) => targetsOf(settings(smtpUrl)).map(({ key }) => key);
    expect(keys('smtps://u:old@mail.example')).toEqual(keys('smtps://u:new@mail.example'));
  });

  test('goes to another machine with TLS only', async () => {
    const mailbox = await startMailbox();
    closing.push(mailbox);
    // It ends at this machine, and is no name of loopback.
    const open = settings(mailbox.url.replace('127.0.0.1', '0.0.0.0'));
    const [target] = targetsOf(open);
    const refused = await target!.send(alert, sending);
    expect(refused).toMatchObject({ ok: false, problem: expect.stringContaining('offers no TLS') });
    expect(mailbox.mails).toEqual([]);
    const [answeredFor] = targetsOf({ ...open, allowInsecure: ['alerts'] });
    expect(await answeredFor!.send(alert, sending)).toEqual({ ok: true });
  });
});
