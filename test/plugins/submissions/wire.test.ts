import { describe, expect, test } from 'vitest';
import { createBeneficiaryClient } from '../../../src/plugins/submissions/registration-client.ts';
import { createApplicationClient } from '../../../src/plugins/submissions/application-client.ts';
import {
  MERCHANT,
  TOKEN,
  answer,
  rejection,
  reset,
  outOfScope,
  transportTo,
  type Act,
} from '../../platform/stranger.ts';

const json = (reply: unknown) => answer(typeof reply === 'string' ? reply : JSON.stringify(reply));

describe('an application (sp1101)', () => {
  const APPLICATION = { merOrderNo: 'A-1', merNameEn: 'Red Lantern Trading' };
  const RECEIPT = { bizFlow: 'F1', merOrderNo: 'A-1', status: 'ACCEPT', code: 'S00001', message: 'ACCEPT' };
  const submit = async (reply: unknown, payload: object = APPLICATION) => {
    const { url, received } = await outOfScope(json(reply));
    const client = createApplicationClient(transportTo(url).transport);
    return { receipt: await client.submit(payload), received };
  };

  test('is sent unchanged, once, and answered by a receipt', async () => {
    const { receipt, received } = await submit(RECEIPT);
    expect(receipt).toEqual({ bizFlow: 'F1', reply: JSON.stringify(RECEIPT) });
    expect(received.map(({ path, body }) => [path, JSON.parse(body) as unknown])).toEqual([
      ['/api/sp1101', APPLICATION],
    ]);
  });

  test.each([{}, { merOrderNo: '' }])('a receipt without merOrderNo is accepted: %j', async (echo) => {
    expect((await submit({ ...RECEIPT, merOrderNo: undefined, ...echo })).receipt.bizFlow).toBe('F1');
  });

  const { bizFlow, ...WITHOUT_FLOW } = RECEIPT;
  test.each<[string, unknown, string | null]>([
    ['within data', { code: 0, message: 'ok', data: RECEIPT }, 'F1'],
    ['within result within a list', { success: true, result: [RECEIPT] }, 'F1'],
    ['written as text within data', { code: '200', data: JSON.stringify(RECEIPT) }, 'F1'],
    ['with its code around the rest', { code: 'S00001', data: { bizFlow, status: 'ACCEPT' } }, 'F1'],
    [
      'whose bizFlow is a number of 19 digits',
      JSON.stringify(RECEIPT).replace('"F1"', '1234567890123456789'),
      '1234567890123456789',
    ],
    ['of another status', { ...RECEIPT, status: 'PENDING' }, 'F1'],
    ['of no status', { ...RECEIPT, status: undefined }, 'F1'],
    ['without bizFlow', WITHOUT_FLOW, null],
    ['with an empty bizFlow', { ...RECEIPT, bizFlow: '' }, null],
    ['with a bizFlow of 128 characters', { ...RECEIPT, bizFlow: 'F'.repeat(128) }, 'F'.repeat(128)],
    ['with a bizFlow of 129 characters', { ...RECEIPT, bizFlow: 'F'.repeat(129) }, null],
    ['of its status alone', { status: 'ACCEPT', bizFlow: 'F1' }, 'F1'],
    ['of a code alone', { code: 'S00001' }, null],
    ['of a code by another name', { respCode: 'S00001', bizFlow: 'F1' }, 'F1'],
    ['of a code beside an error’s words', { code: 'S00001', error: 'none', errorCode: 0 }, null],
  ])('a receipt %s is accepted, and the application is sent once', async (_, reply, flow) => {
    const { receipt, received } = await submit(reply);
    expect(receipt.bizFlow).toBe(flow);
    expect(received).toHaveLength(1);
  });

  test.each<[number, Record<string, string>]>([
    [307, { location: '/elsewhere' }],
    [400, {}],
    [401, {}],
    [500, {}],
    [503, { 'retry-after': '1' }],
  ])('a receipt is accepted even with the HTTP status %i', async (status, headers) => {
    const { url, received } = await outOfScope(answer(JSON.stringify(RECEIPT), status, headers));
    const client = createApplicationClient(transportTo(url).transport);
    expect(await client.submit(APPLICATION)).toMatchObject({ bizFlow: 'F1' });
    expect(received).toHaveLength(1);
  });

  test('a receipt for another order does not count as refused, whatever the HTTP status', async () => {
    const { url } = await outOfScope(answer(JSON.stringify({ ...RECEIPT, merOrderNo: 'A-2' }), 400));
    const error = await rejection(createApplicationClient(transportTo(url).transport).submit(APPLICATION));
    expect(error).toMatchObject({ name: 'PlatformReplyInvalid', mayHaveArrived: true });
  });

  test.each<[string, unknown]>([
    ['another status', { ...RECEIPT, status: 'REJECT', code: 'E1' }],
    ['an error document', { code: 'E40000', message: 'certificate: local file name' }],
    ['an error document in an envelope', { data: { errorCode: 'E40000', message: 'local file name' } }],
  ])('%s is a final refusal', async (_, reply) => {
    const { url, received } = await outOfScope(json(reply));
    const error = await rejection(createApplicationClient(transportTo(url).transport).submit(APPLICATION));
    expect(received).toHaveLength(1);
    expect(error).toMatchObject({ name: 'PlatformRejected', mayHaveArrived: false });
    expect(error.message).not.toContain('local file name');
  });

  test.each<[string, unknown]>([
    ['success without the code of a receipt', { code: 200, message: 'success', data: { bizFlow: 'F1' } }],
    ['words alone', { message: 'ok' }],
    ['another code', { ...RECEIPT, code: 'S00002' }],
    ['no status but a bizFlow', { bizFlow: 'F1' }],
    ['another order', { ...RECEIPT, merOrderNo: 'A-2' }],
    ['HTML', '<html>Red Lantern Trading'],
    ['half a reply', '{"bizFlow":"F1","sta'],
  ])('%s leaves the outcome unknown', async (_, reply) => {
    const { url, received } = await outOfScope(json(reply));
    const error = await rejection(createApplicationClient(transportTo(url).transport).submit(APPLICATION));
    expect(error).toMatchObject({ name: 'PlatformReplyInvalid', mayHaveArrived: true });
    expect(error.message).not.toContain('Lantern');
    expect(received).toHaveLength(1);
  });
});

describe('a registration (sp1401)', () => {
  const PAYLOAD = { merOrderNo: 'B-1', accountNo: '6222000011112222' };
  const REPLY = { merOrderNo: 'B-1', bizFlowNo: 'F1', payeeId: 'P1', status: '01', respCode: 'S00000' };
  const register = async (...replies: readonly Act[]) => {
    const { url, received } = await outOfScope(...replies);
    const client = createBeneficiaryClient(transportTo(url).transport);
    return { reply: await client.register(MERCHANT, PAYLOAD), received };
  };

  test('is sent with its merchant’s headers, and again under the same number', async () => {
    const { reply, received } = await register(reset, answer('', 500), json(REPLY));
    expect(reply).toEqual({ ...REPLY, contradiction: null });
    expect(received.map(({ path, body }) => [path, JSON.parse(body) as unknown])).toEqual(
      Array.from({ length: 3 }, () => ['/api/sp1401', PAYLOAD]),
    );
    expect(received[0]!.headers).toMatchObject({ authorization: `Bearer ${TOKEN}`, merchantno: 'M0001' });
  });

  test.each(['01', '03', '04'])('status %s may come at once', async (status) => {
    expect((await register(json({ ...REPLY, status }))).reply.status).toBe(status);
  });

  test.each([{ payeeId: '' }, { payeeId: null }, { payeeId: undefined }])(
    'a payeeId may be missing: %j',
    async (given) => {
      expect((await register(json({ ...REPLY, ...given }))).reply.payeeId).toBeNull();
    },
  );

  test('a reply without respCode is accepted', async () => {
    const reply = { ...REPLY, respCode: undefined };
    expect((await register(json(reply))).reply.respCode).toBeNull();
  });

  const { bizFlowNo, status, ...SPARE } = REPLY;
  test.each<[string, unknown, object]>([
    ['within data', { respCode: 'S00000', data: REPLY }, REPLY],
    ['of digits as numbers', { ...REPLY, status: 4 }, { ...REPLY, status: '04' }],
    ['of S00000 without a status', { ...SPARE, bizFlowNo }, REPLY],
    ['of S00000 alone', { respCode: 'S00000' }, { ...REPLY, bizFlowNo: null, payeeId: null }],
    [
      'whose envelope has a status of its own',
      { status: 1, data: { ...REPLY, status: '03' } },
      { ...REPLY, status: '03' },
    ],
    [
      'whose envelope alone has a status',
      { status: '200', respCode: 'S00000', data: { ...SPARE, bizFlowNo } },
      REPLY,
    ],
    [
      'that rejects without bizFlowNo',
      { status: '03', respCode: 'E1' },
      { ...REPLY, bizFlowNo: null, payeeId: null, status: '03', respCode: 'E1' },
    ],
    ['without an echo', { ...REPLY, merOrderNo: undefined }, REPLY],
    ['whose status is not under review', { ...SPARE, bizFlowNo, status: '03' }, { ...REPLY, status: '03' }],
  ])('a reply %s', async (_, sent, read) => {
    expect(status).toBe('01');
    expect((await register(json(sent))).reply).toEqual({ ...read, contradiction: null });
  });

  test.each<[string, unknown, string]>([
    ['an unknown status', { ...REPLY, status: '02' }, 'status is none of 01, 03, 04'],
    ['another order', { ...REPLY, merOrderNo: 'B-2' }, 'for another merOrderNo'],
    ['a bizFlowNo with a line break', { ...REPLY, bizFlowNo: 'F\n1' }, 'a bizFlowNo that could not be kept'],
    ['neither status nor respCode', { bizFlowNo: 'F1' }, 'status is none of 01, 03, 04'],
    ['a payeeId with a line break', { ...REPLY, payeeId: 'P\n1' }, 'a payeeId that could not be kept'],
  ])('%s is not accepted as a reply', async (_, reply, said) => {
    const error = await rejection(register(json(reply)));
    expect(error).toMatchObject({ name: 'PlatformReplyInvalid' });
    expect(error.message).toContain(said);
  });

  test.each<[string, unknown]>([
    ['an error document', { code: 'E1', message: `account ${PAYLOAD.accountNo} is odd` }],
    ['a respCode other than S00000 and no status', { respCode: 'E1', payeeId: '' }],
  ])('%s is a refusal, and its message repeats nothing of the reply', async (_, reply) => {
    const error = await rejection(register(json(reply)));
    expect(error).toMatchObject({ name: 'PlatformRejected' });
    expect(error.message).toContain('code E1');
    expect(error.message).not.toContain('6222');
  });

  test.each([{ result: 'FAIL' }, { retStatus: 'F' }, { successFlag: 'N' }])(
    'a call that failed by %j and gives a state contradicts itself, and loses no number',
    async (failed) => {
      const [field] = Object.keys(failed);
      expect((await register(json({ ...failed, data: REPLY }))).reply).toEqual({
        ...REPLY,
        contradiction: expect.stringContaining(`its ${field} has no value that means success`) as string,
      });
    },
  );
});
