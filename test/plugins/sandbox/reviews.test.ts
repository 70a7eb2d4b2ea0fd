import { describe, expect, test } from 'vitest';
import { application, enterprise, individual, receiver, sandbox } from './support.ts';

describe('an application', () => {
  test('is approved: number and token are posted, and the token opens the new merchant’s ledger', async () => {
    const { apply, acted, post } = await sandbox({ reviews: { currencies: ['EUR', 'JPY'] } });
    const { url, pushed } = await receiver(200);
    const { reply } = await apply(application({ callbackUrl: url }));
    await acted.settled();

    expect(pushed).toHaveLength(1);
    const { payload, headers } = pushed[0]!;
    expect(headers['content-type']).toBe('application/json');
    expect(payload).toEqual({
      bizFlow: reply['bizFlow'],
      merOrderNo: 'A-1',
      code: 'S00000',
      message: 'Success',
      merchantNo: expect.stringMatching(/^SANDBOX-2\d{6}$/) as string,
      merNameEn: 'Nowhere Trading Limited',
      token: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
    });
    const page = await post(
      'sp2404',
      { pageNum: 1, pageSize: 100 },
      {
        authorization: `Bearer ${String(payload['token'])}`,
        merchantno: String(payload['merchantNo']),
      },
    );
    expect(page).toMatchObject({ status: 200, reply: { total: 10 } });
    const { list } = page.reply as { list: { currency: string }[] };
    expect([...new Set(list.map(({ currency }) => currency))].sort()).toEqual(['EUR', 'JPY']);
  });

  test('without merOrderNo gets an answer and a notification without one', async () => {
    const { apply, acted } = await sandbox();
    const { url, pushed } = await receiver(200);
    const { reply } = await apply(application({ merOrderNo: undefined, callbackUrl: url }));
    await acted.settled();
    expect([reply, pushed[0]!.payload].map((reported) => 'merOrderNo' in reported)).toEqual([false, false]);
  });

  test.each([
    ['SUPPLEMENT', '80000', 'certificate', 'V2'],
    ['REJECT', 'E30001', 'businessNature', undefined],
  ])('with the marker %s gets reason and fields, and no token', async (marker, code, field, version) => {
    const { apply, acted } = await sandbox();
    const { url, pushed } = await receiver(200);
    await apply(application({ callbackUrl: url, merNameEn: `Nowhere SANDBOX-${marker} Limited` }));
    await acted.settled();
    const { payload } = pushed[0]!;
    expect(payload).toMatchObject({ code, merchantNo: '', token: '' });
    expect(payload['processVersion']).toBe(version);
    expect(JSON.parse(String(payload['message']))).toEqual({
      reason: expect.any(String) as string,
      fields: [field],
    });
    expect(acted.merchants().map(({ merchantNo }) => merchantNo)).toEqual(['M1']);
  });

  test('is decided by its marker, and without a marker by the scenario', async () => {
    const { apply, acted } = await sandbox({ reviews: { application: 'reject' } });
    const { url, pushed } = await receiver(200);
    await apply(application({ callbackUrl: url }));
    await apply(application({ callbackUrl: url, payerCity: 'SANDBOX-APPROVE' }));
    await apply(application({ callbackUrl: url, payerCity: 'SANDBOX-NEVER' }));
    await acted.settled();
    expect(pushed.map(({ payload }) => payload['code']).sort()).toEqual(['E30001', 'S00000']);
  });

  test('submitted twice gives two applications, approved with two tokens', async () => {
    const { apply, acted } = await sandbox();
    const { url, pushed } = await receiver(200);
    await apply(application({ callbackUrl: url }));
    await acted.settled();
    await apply(application({ callbackUrl: url }));
    await acted.settled();
    expect(new Set(pushed.map(({ payload }) => payload['bizFlow'])).size).toBe(2);
    expect(new Set(pushed.map(({ payload }) => payload['token'])).size).toBe(2);
  });

  test('whose reply is lost was accepted all the same', async () => {
    const { apply, acted } = await sandbox({ hostility: { lostRepliesEvery: 1, strikesMax: 1 } });
    const { url, pushed } = await receiver(200);
    await expect(apply(application({ callbackUrl: url }))).rejects.toThrow('fetch failed');
    await acted.settled();
    expect(acted.applications()).toHaveLength(1);
    expect(pushed).toHaveLength(1);
  });

  test('can be decided before its submission is answered', async () => {
    const { apply } = await sandbox({ reviews: { pushBeforeReply: true } });
    const { url, pushed } = await receiver(200);
    const { reply } = await apply(application({ callbackUrl: url }));
    expect(pushed.map(({ payload }) => payload['bizFlow'])).toEqual([reply['bizFlow']]);
  });

  test('waits for its review', async () => {
    const { apply, acted } = await sandbox({ reviews: { delayMs: 3_600_000 } });
    await apply(application());
    expect(acted.applications()[0]).toMatchObject({ outcome: 'approve', isDecided: false });
    expect(acted.pushes()).toEqual([]);
  });
});

describe('a notification', () => {
  test('is sent again until the answer is 200, and never after that', async () => {
    const { apply, acted } = await sandbox();
    const { url, pushed } = await receiver(503, 0, 302, 204, 404, 200);
    await apply(application({ callbackUrl: url }));
    await acted.settled();
    expect(pushed).toHaveLength(6);
    expect(new Set(pushed.map(({ payload }) => JSON.stringify(payload))).size).toBe(1);
    expect(new Set(pushed.map(({ path }) => path))).toEqual(new Set(['/notify']));
    expect(acted.pushes()).toMatchObject([{ operation: 'sp3101', tries: 6, isDelivered: true }]);
  });

  test('that nobody accepts is given up when the sandbox closes', async () => {
    const { apply, acted } = await sandbox({ pushes: { retryMs: 60_000, retryMsMax: 60_000 } });
    const { url, pushed } = await receiver(500);
    await apply(application({ callbackUrl: url }));
    await expect.poll(() => pushed.length).toBe(1);
    await acted.close();
    await acted.settled();
    expect(acted.pushes()).toMatchObject([{ tries: 1, isDelivered: false }]);
  });

  test('never leaves this machine', async () => {
    const { apply, acted } = await sandbox();
    await apply(application({ callbackUrl: 'https://daybook.example/notify' }));
    await acted.settled();
    expect(acted.pushes()).toMatchObject([{ tries: 0, isDelivered: false }]);
  });
});

describe('a payee', () => {
  test('is reviewed, and the outcome posted with its payeeId', async () => {
    const { register, acted } = await sandbox();
    const { url, pushed } = await receiver(200);
    const { reply } = await register(enterprise({ callbackUrl: url }));
    expect(reply['status']).toBe('01');
    await acted.settled();
    expect(pushed.map(({ payload }) => payload)).toEqual([
      { merOrderNo: 'B-1', bizFlowNo: reply['bizFlowNo'], payeeId: reply['payeeId'], status: '04' },
    ]);
  });

  test('is rejected by marker or scenario', async () => {
    const { register, acted } = await sandbox({ reviews: { beneficiary: 'reject' } });
    const { url, pushed } = await receiver(200);
    await register(enterprise({ callbackUrl: url }));
    await register(individual({ callbackUrl: url, lastName: 'SANDBOX-APPROVE' }));
    await acted.settled();
    const reported = pushed.map(({ payload }) => [payload['merOrderNo'], payload['status']]);
    expect(reported.sort()).toEqual([
      ['B-1', '03'],
      ['B-2', '04'],
    ]);
  });

  test.each([
    ['REJECT', '03'],
    ['APPROVE', '04'],
  ])('can be decided at once by SANDBOX-%s-AT-ONCE, without a notification', async (marker, status) => {
    const { register, acted } = await sandbox();
    const { url } = await receiver(200);
    const { reply } = await register(
      enterprise({ callbackUrl: url, companyName: `SANDBOX-${marker}-AT-ONCE` }),
    );
    await acted.settled();
    expect(reply['status']).toBe(status);
    expect(acted.pushes()).toEqual([]);
  });

  test('under the same merOrderNo is one payee, answered with its current status', async () => {
    const { register, acted } = await sandbox();
    const first = await register(enterprise());
    await acted.settled();
    const second = await register(enterprise());
    expect(second.reply).toEqual({ ...first.reply, status: '04' });
    expect(acted.payees()).toHaveLength(1);
  });

  test('may not be submitted again under another number while it is under review', async () => {
    const { register, acted } = await sandbox({ reviews: { delayMs: 3_600_000 } });
    await register(enterprise());
    const again = await register(enterprise({ merOrderNo: 'B-9' }));
    expect([again.status, again.reply['code']]).toEqual([409, 'E40901']);
    const other = await register(enterprise({ merOrderNo: 'B-8', accountNo: '000-000002' }));
    expect(other.status).toBe(200);
    expect(acted.payees()).toHaveLength(2);
  });

  test('may get its payeeId by the notification only', async () => {
    const { register, acted } = await sandbox({ reviews: { payeeIdAtOnce: false } });
    const { url, pushed } = await receiver(200);
    const { reply } = await register(enterprise({ callbackUrl: url }));
    await acted.settled();
    expect(reply['payeeId']).toBe('');
    expect(pushed[0]!.payload['payeeId']).toMatch(/^P/);
  });
});
