/** Replies that a person has to judge: those that contradict themselves, and refusals of a number sent before. */
import { beforeAll, describe, expect, it } from 'vitest';
import { useCommands } from './commands.ts';
import { ENTERPRISE } from './files.ts';
import { reply } from './support.ts';
import { sandbox, TOKEN } from '../../sandbox/support.ts';
import { answer, outOfScope, reset, type Act } from '../../../platform/stranger.ts';
import type { Env } from '../../../cli/daybook.ts';

const commands = useCommands({ merchantNo: 'M1', token: TOKEN });
let file: string;
beforeAll(async () => {
  file = await commands.written(ENTERPRISE);
});
const run = (args: readonly string[], env: Env = {}) => commands.run(['beneficiary', ...args], env);
const registerAt = (url: string, env: Env = {}) =>
  run(['register', file], { PLATFORM_BASE_URL: url, ...env });
const row = async () => JSON.parse((await run(['status', '1', '--json'])).stdout) as Record<string, unknown>;
const expectShort = (text: string): void => {
  for (const sentence of text.split(/[.;:]\s|\n/))
    expect(sentence.split(/\s+/).length).toBeLessThanOrEqual(25);
};

const STATE = { merOrderNo: 'BEN-0001', bizFlowNo: 'F1', payeeId: 'P1' };
const json = (body: object, status = 200): Act => answer(JSON.stringify(body), status);

describe('a reply that gives a status and refuses at once', () => {
  it('of the sandbox needs a person, and loses no number', async () => {
    const { url, acted } = await sandbox({ hostility: { contradictoryCodesEvery: 1 } });
    const ended = await registerAt(url);
    const [payee] = acted.payees();
    expect(ended).toMatchObject({ code: 3, stderr: '' });
    expect(ended.stdout).toContain('is under review, but the reply contradicts itself');
    expect(ended.stdout).toContain(`payeeId ${payee!.payeeId}`);
    expect(ended.stdout).toContain(`bizFlowNo ${payee!.bizFlowNo}`);
    expect(ended.stdout).toContain('E20001');
    expect(ended.stdout).toContain('daybook beneficiary settle 1');
    expectShort(ended.stdout);
    expect(await row()).toMatchObject({
      status: '01',
      needsPerson: true,
      bizFlowNo: payee!.bizFlowNo,
      payeeId: payee!.payeeId,
      respCode: 'E20001',
    });
    expect((await run(['status'])).code).toBe(3);
  });

  it.each<[string, Act, object]>([
    ['in an envelope', json({ code: 'E20001', data: { ...STATE, status: '01' } }), { respCode: 'E20001' }],
    ['as errorCode', json({ ...STATE, status: '01', errorCode: 'E20001' }), { respCode: 'E20001' }],
    ['as a flag', json({ ...STATE, status: '01', success: false }), { respCode: null }],
    [
      'with the code of acceptance within',
      json({ code: 'E20001', data: { ...STATE, status: '01', respCode: 'S00000' } }),
      { respCode: 'S00000' },
    ],
    [
      'for an approval',
      json({ ...STATE, status: '04', respCode: 'E20001' }),
      { status: '04', respCode: 'E20001' },
    ],
    ['by its HTTP status', json({ ...STATE, status: '01', respCode: 'S00000' }, 400), { respCode: 'S00000' }],
    ['without a status', json({ ...STATE, respCode: 'E20001' }), { respCode: 'E20001' }],
  ])('%s needs a person', async (_, act, stored) => {
    const { url } = await outOfScope(act);
    expect(await registerAt(url)).toMatchObject({ code: 3, stderr: '' });
    expect(await row()).toMatchObject({
      status: '01',
      ...stored,
      needsPerson: true,
      bizFlowNo: 'F1',
      payeeId: 'P1',
    });
  });

  it.each<[string, Act, object]>([
    ['a rejection', json({ ...STATE, status: '03', respCode: 'E20001' }), { status: '03', bizFlowNo: 'F1' }],
    [
      'an error document with a number for a status',
      json({ code: 'E20001', status: 1 }),
      { status: 'refused' },
    ],
    ['a refusal', json({ code: 'E20001', message: 'no' }), { status: 'refused' }],
  ])('%s is none', async (_, act, stored) => {
    const { url } = await outOfScope(act);
    expect(await registerAt(url)).toMatchObject({ code: 3, stderr: '' });
    expect(await row()).toMatchObject({ ...stored, needsPerson: false });
  });

  it.each([
    ['with HTTP 409', 409],
    ['with HTTP 200', 200],
  ])('a refusal %s that names another registration is one', async (_, status) => {
    const other = { ...STATE, merOrderNo: 'BEN-0000', status: '01' };
    const { url } = await outOfScope(json({ code: 'E40901', message: 'under review', data: other }, status));
    expect((await registerAt(url)).code).toBe(3);
    expect(await row()).toMatchObject({ status: 'refused', needsPerson: false, payeeId: null });
  });

  it('a refusal with a number alone is one, and its problem names the number', async () => {
    const { url } = await outOfScope(json({ respCode: 'E20001', bizFlowNo: 'F9' }));
    expect((await registerAt(url)).code).toBe(3);
    expect(await row()).toMatchObject({
      status: 'refused',
      needsPerson: false,
      problem: expect.stringMatching(/E20001.*bizFlowNo F9/) as string,
    });
  });

  it('a refusal that repeats what was sent as its number does not put that into a message', async () => {
    const { url } = await outOfScope(json({ respCode: 'E20001', bizFlowNo: ENTERPRISE['accountNo'] }));
    const { stdout, stderr } = await registerAt(url);
    expect(stdout + stderr).not.toContain(ENTERPRISE['accountNo']);
  });

  it('keeps its payee from being sent again until a person settles or releases it', async () => {
    const { url, received } = await outOfScope(
      json({ ...STATE, status: '01', respCode: 'E20001' }),
      reply('01', 'P2'),
    );
    await registerAt(url);
    const again = await registerAt(url);
    expect([again.code, received.length]).toEqual([3, 1]);
    const settled = await run(['settle', '1', '--status', '01']);
    expect(settled).toMatchObject({ code: 0, stderr: '' });
    expect(await row()).toMatchObject({ status: '01', needsPerson: false, problem: null, payeeId: 'P1' });
    expect((await run(['settle', '1', '--status', '01'])).code).toBe(2);
    expect((await run(['release', '1', '--note', 'case 4711'])).code).toBe(2);
  });

  it('that the platform does not have is released, and then sent again under its number', async () => {
    const { url } = await outOfScope(json({ ...STATE, status: '04', respCode: 'E20001' }), reply('01', 'P2'));
    await registerAt(url);
    expect((await run(['release', '1', '--note', 'case 4711'])).code).toBe(0);
    expect(await row()).toMatchObject({ status: 'refused', needsPerson: false, bizFlowNo: 'F1' });
    expect((await registerAt(url)).code).toBe(0);
    expect(await row()).toMatchObject({ status: '01', bizFlowNo: 'F-BEN-0001', payeeId: 'P2' });
  });

  it('an approval of that kind may turn out to be a rejection', async () => {
    const { url } = await outOfScope(json({ ...STATE, status: '04', respCode: 'E20001' }));
    await registerAt(url);
    expect((await run(['settle', '1', '--status', '03'])).code).toBe(0);
    expect(await row()).toMatchObject({ status: '03', needsPerson: false });
  });
});

describe('a number refused after a try that may have arrived', () => {
  const expectToSayWhatToDo = (text: string): void => {
    expect(text).toContain('registration 1 (merOrderNo BEN-0001)');
    expect(text).toContain('may have it already');
    expect(text).toContain('daybook beneficiary settle 1 --status');
    expect(text).toContain('daybook beneficiary release 1');
    expectShort(text);
  };

  it('of the sandbox needs a person, who settles it', async () => {
    const { url, acted } = await sandbox({
      latitude: { knownNumber: 'refusal' },
      hostility: { lostRepliesEvery: 1, strikesMax: 1 },
    });
    expect((await registerAt(url)).code).toBe(4);
    const second = await registerAt(url);
    expect(second).toMatchObject({ code: 3, stdout: '' });
    expectToSayWhatToDo(second.stderr);
    const listed = await run(['status', '1']);
    expect(listed.code).toBe(3);
    expect(listed.stdout).toContain('daybook beneficiary settle 1 --status');
    expectShort(listed.stdout);
    expect((await run(['status'])).code).toBe(3);
    const [payee] = acted.payees();
    const settled = await run([
      ...['settle', '1', '--status', '01', '--payee-id', payee!.payeeId],
      ...['--biz-flow', payee!.bizFlowNo],
    ]);
    expect(settled).toMatchObject({ code: 0, stderr: '' });
    expect(await row()).toMatchObject({
      status: '01',
      needsPerson: false,
      payeeId: payee!.payeeId,
      bizFlowNo: payee!.bizFlowNo,
      problem: null,
    });
    expect((await run(['settle', '1', '--status', '04'])).code).toBe(0);
  });

  it.each<[string, readonly Act[], string]>([
    ['within one call', [reset, json({ code: 'E1', message: 'merOrderNo exists' }, 409)], '1'],
    ['as a document with HTTP 200', [reset, json({ respCode: 'E1', respMsg: '订单号重复' })], '1'],
    ['for another reason', [answer('', 503), json({ code: 'E1', message: 'bank closed' }, 400)], '1'],
  ])('%s is the same', async (_, acts, retries) => {
    const { url } = await outOfScope(...acts);
    const ended = await registerAt(url, { PLATFORM_RETRIES_MAX: retries });
    expect(ended).toMatchObject({ code: 3, stdout: '' });
    expectToSayWhatToDo(ended.stderr);
    expect(await row()).toMatchObject({ status: 'sending', needsPerson: true, mayHaveArrived: true });
  });

  it('a token that is refused says nothing of the number: the command sends it again', async () => {
    const { url } = await outOfScope(reset, json({ code: 'E1' }, 401), reply('04'));
    await registerAt(url);
    expect((await registerAt(url)).code).toBe(4);
    expect(await row()).toMatchObject({ status: 'sending', needsPerson: false });
    expect((await registerAt(url)).code).toBe(0);
  });

  it('stays so while no one answers, and ends with an answer', async () => {
    const { url } = await outOfScope(reset, json({ code: 'E1' }, 409), reset, reply('04'));
    for (const [code, needsPerson] of [
      [4, false],
      [3, true],
      [4, true],
      [0, false],
    ] as const) {
      expect((await registerAt(url)).code).toBe(code);
      expect(await row()).toMatchObject({ needsPerson });
    }
  });
});
