/** What a registration may hold beyond the strictest reading of the document: images, unlisted codes, further fields. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useCommands } from './commands.ts';
import { ENTERPRISE } from './files.ts';
import { reply } from './support.ts';
import { sandbox, TOKEN } from '../../sandbox/support.ts';
import { answer, outOfScope } from '../../../platform/stranger.ts';

const { run, written } = useCommands({ merchantNo: 'M1', token: TOKEN });

describe('an image', () => {
  const PNG = `iVBORw0KGgoAAAANSUhEUg${'AAAAEAAA'.repeat(10)}==`;
  const withImage = (registerCertImg: string) => written({ ...ENTERPRISE, registerCertImg });

  it.each([
    ['base64', PNG],
    ['url', 'https://files.example/cert.png'],
    ['path', 'upload/2026/cert 1.png'],
  ] as const)('of the form %s is registered where the platform takes that form', async (images, image) => {
    const { url, acted } = await sandbox({ latitude: { images } });
    const ended = await run(['beneficiary', 'register', await withImage(image)], { PLATFORM_BASE_URL: url });
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(acted.payees()[0]!.sent).toMatchObject({ registerCertImg: image });
  });

  it('may have megabytes, and hides no code of a refusal', async () => {
    const image = randomBytes(3_000_000).toString('base64');
    const { url, received } = await outOfScope(answer('{"respCode":"E1"}', 400));
    const ended = await run(['beneficiary', 'register', await withImage(image)], { PLATFORM_BASE_URL: url });
    expect(ended.code, ended.stderr).toBe(3);
    expect(ended.stdout).toContain('code E1');
    expect(ended.stdout.length).toBeLessThan(2_000);
    expect(JSON.parse(received[0]!.body)).toMatchObject({ registerCertImg: image });
  });

  it('of a form that the settings do not name is refused, without its content', async () => {
    const only = { PLATFORM_IMAGES: 'path,url' };
    const ended = await run(['beneficiary', 'check', await withImage(PNG)], only);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain(
      'registerCertImg is base64; give an uploaded path or an https URL (PLATFORM_IMAGES)',
    );
    expect(ended.stderr).not.toContain(PNG);
    expect((await run(['beneficiary', 'check', await withImage('u/cert.png')], only)).code).toBe(0);
  });
});

describe('a code that the stored list does not have', () => {
  const NEW_BANK = { ...ENTERPRISE, bankCode: 'HK777' };
  const sync = async (unreadableItems = 0) => {
    const banks = ['HK004', 'HK012', 'HK777'].map((code) => ({ code, name: code }));
    const { url } = await sandbox({
      reference: { bank: { HK: unreadableItems === 0 ? banks.slice(0, 2) : banks } },
      hostility: { unreadableItems },
    });
    return run(['reference', 'sync', '--country', 'HK'], {
      PLATFORM_BASE_URL: url,
      DAYBOOK_NOW: '2026-03-01T00:00:00Z',
    });
  };
  const NOW = { DAYBOOK_NOW: '2026-03-13T00:00:00Z' };
  const audit = async () => JSON.parse((await run(['audit', '--json'])).stdout) as Record<string, unknown>[];

  it('is refused with the age of the list, and sent with --despite, of which the audit has who said so', async () => {
    expect((await sync()).code).toBe(0);
    const { url, received } = await outOfScope(reply('01'));
    const env = { ...NOW, PLATFORM_BASE_URL: url };
    const file = await written(NEW_BANK);
    for (const command of ['check', 'register']) {
      const refused = await run(['beneficiary', command, file], env);
      expect(refused).toMatchObject({ code: 2, stdout: '' });
      expect(refused.stderr).toContain(
        'bankCode is none of the banks listed for HK on 2026-03-01, 12 days ago (2 read). If it is new, run ' +
          '`daybook reference sync --country HK`; to send it all the same, give `--despite bank`',
      );
    }
    expect((await run(['beneficiary', 'register', file, '--despite', 'payout-method'], env)).code).toBe(2);
    expect((await run(['beneficiary', 'register', file, '--despite', 'banks'], env)).code).toBe(2);
    expect(await audit()).toEqual([]);
    expect((await run(['beneficiary', 'check', file, '--despite', 'bank'], env)).code).toBe(0);
    expect(await audit()).toEqual([]);
    const sent = await run(['beneficiary', 'register', file, '--despite', 'bank', '--by', 'ada'], env);
    expect(sent).toMatchObject({ code: 0, stderr: '' });
    expect(sent.stdout).toContain('please check: bankCode is none of the banks');
    expect(sent.stdout).not.toContain('--despite');
    expect(received).toHaveLength(1);
    expect(await audit()).toMatchObject([
      { by: 'ada', command: 'beneficiary register', subject: '1', note: 'despite the list bank' },
    ]);
    await run(['beneficiary', 'register', file, '--despite', 'bank', '--by', 'bob'], env);
    expect(await audit()).toHaveLength(1);
  });

  it('is a warning where items of the list were set aside, as it may be one of them', async () => {
    expect((await sync(1)).code).toBe(3);
    const { url, received } = await outOfScope(reply('01'));
    const wallet = { ...ENTERPRISE, payoutMethod: 'SBX_WALLET_2', payoutType: '' };
    const checked = await run(['beneficiary', 'check', await written(wallet)], NOW);
    expect(checked.code).toBe(0);
    expect(checked.stdout).toContain(
      'payoutMethod is none of the payout methods listed for HK on 2026-03-01',
    );
    const sent = await run(['beneficiary', 'register', await written(NEW_BANK)], {
      ...NOW,
      PLATFORM_BASE_URL: url,
    });
    expect(sent).toMatchObject({ code: 0, stderr: '' });
    expect(sent.stdout).toContain(
      '12 days ago (2 read, 1 could not be read). If it is new, run `daybook reference sync --country HK`',
    );
    expect(received).toHaveLength(1);
    expect(await audit()).toEqual([]);
  });

  it('leaves no trace in the audit where nothing was overruled', async () => {
    await sync();
    const { url } = await outOfScope(reply('01'));
    const env = { ...NOW, PLATFORM_BASE_URL: url };
    const file = await written(ENTERPRISE);
    expect((await run(['beneficiary', 'register', file, '--despite', 'bank'], env)).code).toBe(0);
    expect(await audit()).toEqual([]);
  });
});

describe('fields under extra', () => {
  it('are sent as they are, and listed by check; the same file sends nothing twice', async () => {
    const { url, received } = await outOfScope(reply('01'));
    const extra = { channel: 'web', limits: { day: '1000.00', months: [1, 2.5, null] } };
    const file = await written({ ...ENTERPRISE, extra });
    const checked = await run(['beneficiary', 'check', file]);
    expect(checked.stdout).toContain('extra.channel is no field of the platform');
    expect(checked.stdout).toContain('extra.limits is no field of the platform');
    expect((await run(['beneficiary', 'register', file], { PLATFORM_BASE_URL: url })).code).toBe(0);
    expect(JSON.parse(received[0]!.body)).toEqual({ ...ENTERPRISE, ...extra });
    const again = await run(['beneficiary', 'register', file, '--json'], { PLATFORM_BASE_URL: url });
    expect(JSON.parse(again.stdout)).toMatchObject({ sent: false });
    expect(received).toHaveLength(1);
  });
});
