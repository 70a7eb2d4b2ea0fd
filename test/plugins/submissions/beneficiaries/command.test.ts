import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { saveReferenceList } from '../../../../src/plugins/reference/stored.ts';
import { useCommands } from './commands.ts';
import { ENTERPRISE, INDIVIDUAL, without, type File } from './files.ts';
import { reply } from './support.ts';
import { answer, MERCHANT, reset, outOfScope } from '../../../platform/stranger.ts';
import type { Ended, Env } from '../../../cli/daybook.ts';

const commands = useCommands(MERCHANT, { DAYBOOK_PUBLIC_URL: 'https://daybook.example' });
const { database, folder, written } = commands;
const run = (args: readonly string[], env: Env = {}) => commands.run(['beneficiary', ...args], env);

/** Expects output that shows nothing of the file except codes and our own numbers. */
const expectDiscreet = ({ stdout, stderr }: Ended, file: File): void => {
  for (const name of ['accountNo', 'companyName', 'addressLine', 'firstName', 'lastName', 'idNumber']) {
    const value = file[name];
    if (typeof value === 'string') expect(stdout + stderr).not.toContain(value);
  }
};

describe('beneficiary', () => {
  it('register sends a file once, and status shows its state', async () => {
    const { url, received } = await outOfScope(reply('01'));
    const path = await written(ENTERPRISE);
    const first = await run(['register', path], { PLATFORM_BASE_URL: url });
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout).toBe(
      'registration 1 (merOrderNo BEN-0001, merchant M0001) is under review\n' +
        '  payeeId P1\n  bizFlowNo F-BEN-0001\n  its result comes to `daybook serve`\n',
    );
    const again = await run(['register', path, '--json'], { PLATFORM_BASE_URL: url });
    expect(JSON.parse(again.stdout)).toMatchObject({ id: 1, status: '01', sent: false, approvedBefore: [] });
    expect(received).toHaveLength(1);
    const other = await written({ ...ENTERPRISE, merOrderNo: 'BEN-0099' }, 'other.json');
    const twice = await run(['register', other], { PLATFORM_BASE_URL: url });
    expect(twice).toMatchObject({ code: 2, stdout: '' });
    expect(twice.stderr).toContain('this payee is under review already, as registration 1');
    expect(received).toHaveLength(1);
    const listed = await run(['status']);
    expect(listed.stdout).toMatch(/^ 1 {2}BEN-0001 +M0001 +enterprise +under review +P1 /m);
    expect((await run(['status', '2'])).code).toBe(2);
    for (const one of [first, again, twice, listed]) expectDiscreet(one, ENTERPRISE);
  });

  it('all problems of a file are listed, and nothing is recorded or sent', async () => {
    const broken = { ...without(INDIVIDUAL, 'swiftCode', 'lastName'), gender: 'female' };
    for (const command of ['check', 'register']) {
      const ended = await run([command, await written(broken)]);
      expect(ended).toMatchObject({ code: 2, stdout: '' });
      expect(ended.stderr).toBe(
        'daybook: 3 problems in the registration; nothing was recorded or sent:\n' +
          '  swiftCode is required when paymentMode is SWIFT\n' +
          '  lastName is required\n' +
          '  gender must be M, F or X\n',
      );
    }
    expect((await run(['check', await written(INDIVIDUAL)])).stdout).toContain('nothing to correct');
    const offline = {
      PLATFORM_BASE_URL: '',
      PLATFORM_TIME_ZONE: '',
      PLATFORM_MERCHANT_NO: '',
      PLATFORM_TOKEN: '',
    };
    expect(await run(['check', await written(INDIVIDUAL)], offline)).toMatchObject({ code: 0 });
    expect((await run(['status'])).stdout).toContain('no registration yet');
  });

  it('a file is checked against the stored lists of its country', async () => {
    const readAt = new Date();
    const save = (kind: 'payout_method' | 'bank', code: string) => {
      const methodType = kind === 'bank' ? null : 'BANK';
      const items = [{ code, name: code, methodType, isPrompt: false }];
      return saveReferenceList(database().db, { kind, country: 'HK' }, { items, readAt });
    };
    await save('payout_method', 'HK_FPS');
    await save('bank', 'HK012');
    const ended = await run(['check', await written(ENTERPRISE)]);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain('  bankCode is none of the banks listed for HK on ');
    expect(ended.stderr).not.toContain('payoutMethod');
    await save('bank', 'HK004');
    expect((await run(['check', await written({ ...ENTERPRISE, bankCode: 'HK004' })])).code).toBe(0);
  });

  it('without a reply register ends incomplete; resend sends what was recorded, byte for byte', async () => {
    const { url, received } = await outOfScope(reset, reply('04'));
    const lost = await run(['register', await written(INDIVIDUAL)], { PLATFORM_BASE_URL: url });
    expect(lost).toMatchObject({ code: 4, stdout: '' });
    expect(lost.stderr).toContain('registration 1 (merOrderNo BEN-0002) has no reply yet');
    expectDiscreet(lost, INDIVIDUAL);
    const resent = await run(['resend', '1'], { PLATFORM_BASE_URL: url });
    expect(resent.stdout).toContain('is approved\n  payeeId P1');
    expect(received).toHaveLength(2);
    expect(received[1]!.body).toBe(received[0]!.body);
  });

  it('release frees a payee that is unknown to the platform', async () => {
    const { url } = await outOfScope(reset, reply('01'));
    const env = { PLATFORM_BASE_URL: url };
    await run(['register', await written(ENTERPRISE)], env);
    const other = await written({ ...ENTERPRISE, merOrderNo: 'BEN-0099' }, 'other.yaml');
    expect((await run(['register', other], env)).code).toBe(2);
    const released = await run(['release', '1', '--note', 'case 4711']);
    expect(released.stdout).toContain('is not taken by the platform\n  released by a person: case 4711');
    expect((await run(['register', other], env)).code).toBe(0);
    expect(await run(['release', '2', '--note', 'case 4711'])).toMatchObject({ code: 2, stdout: '' });
  });

  it.each([
    ['rejected', reply('03'), 'is rejected'],
    [
      'refused',
      answer('{"respCode":"E40001","respMsg":"004-123456-001"}', 400),
      'is not taken by the platform',
    ],
  ])('%s needs a person', async (_, act, reported) => {
    const { url } = await outOfScope(act);
    const ended = await run(['register', await written(ENTERPRISE)], { PLATFORM_BASE_URL: url });
    expect(ended.code).toBe(3);
    expect(ended.stdout).toContain(reported);
    expectDiscreet(ended, ENTERPRISE);
  });

  it('an approval without payeeId says where to find it, until settle has added it', async () => {
    const bare = { status: '04', respCode: 'S00001', bizFlowNo: 'F9' };
    const { url } = await outOfScope(answer(JSON.stringify({ data: bare })));
    const first = await run(['register', await written(ENTERPRISE)], { PLATFORM_BASE_URL: url });
    expect(first.code, first.stderr).toBe(3);
    expect(first.stdout).toBe(
      'registration 1 (merOrderNo BEN-0001, merchant M0001) is approved\n' +
        '  bizFlowNo F9\n' +
        '  the platform’s respCode is S00001\n' +
        '  the platform sent no payeeId, which payments need: its operation sp2402 has it under bizFlowNo F9;\n' +
        '  record it by `daybook beneficiary settle 1 --status 04 --payee-id ID`\n',
    );
    expect((await run(['status', '1'])).code).toBe(3);
    expect(await run(['settle', '1', '--status', '03', '--payee-id', 'P1'])).toMatchObject({
      code: 2,
      stdout: '',
    });
    expect((await run(['settle', '1', '--status', '04', '--payee-id', ' '])).stderr).toContain(
      '--payee-id takes 1 to 128 printable characters',
    );
    const settled = await run(['settle', '1', '--status', '04', '--payee-id', 'P77', '--note', 'case 4711']);
    expect(settled.stdout).toContain('payeeId P77');
    expect(settled.stdout).toContain('settled by a person: case 4711');
    expect(settled.code).toBe(0);
    expect((await run(['settle', '1', '--status', '03'])).stderr).toContain('is approved by the platform');
    expect((await run(['status'])).code).toBe(0);
  });

  it('a doubtful file gets a warning, and is sent', async () => {
    const { url, received } = await outOfScope(reply('01'));
    const path = await written({ ...ENTERPRISE, businessLicenseImg: '/upload/company/paper.jpg' });
    const warning =
      'please check: businessLicenseImg is described for companies registered in CN; the file was accepted all the same';
    expect((await run(['check', path])).stdout).toContain(warning);
    const sent = await run(['register', path, '--json'], { PLATFORM_BASE_URL: url });
    expect([sent.code, received.length]).toEqual([0, 1]);
    expect(JSON.parse(sent.stdout)).toMatchObject({ warnings: [{ path: 'businessLicenseImg' }] });
  });

  it('of several merchants one must be named, and the address for the result is shown', async () => {
    const { url, received } = await outOfScope(reply('01'));
    await database()
      .db.insertInto('merchant')
      .values({ merchant_no: 'M0002', added_at: new Date(), joined_at: new Date() })
      .execute();
    const path = await written({ ...ENTERPRISE, callbackUrl: 'https://pay.example/hook' });
    const ended = await run(['register', path, '--merchant', 'M0003'], { PLATFORM_BASE_URL: url });
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    const named = await run(['register', path, '--merchant', MERCHANT.merchantNo], {
      PLATFORM_BASE_URL: url,
    });
    expect(named.stdout).toContain('its result does not come here');
    expect(received).toHaveLength(1);
  });

  it.each([
    ['a file that is not there', 'no-such.yaml', null, 'cannot be read (ENOENT)'],
    ['neither JSON nor YAML', 'broken.yaml', 'merOrderNo: [Erika', 'is neither JSON nor YAML'],
  ])('%s is reported without its content', async (_, name, text, reported) => {
    const path = join(folder(), name);
    if (text !== null) await writeFile(path, text);
    const ended = await run(['register', path]);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain(reported);
    expect(ended.stderr).not.toContain('Erika');
  });
});
