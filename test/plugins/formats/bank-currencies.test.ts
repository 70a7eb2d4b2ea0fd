/** Currencies in the files of banks: codes of ISO 4217 that are new, and one that ISO does not have. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { createSandbox } from '../../../src/plugins/sandbox/server.ts';
import { dayPrefix } from '../../../src/verify/names.ts';
import { daybook, type Env } from '../../cli/daybook.ts';
import { freshDatabaseUrl } from '../../support/database.ts';
import { MERCHANT, NIGHT, scenario, TO, ZONE } from '../../support/stage.ts';

let platformUrl: string;
beforeAll(async () => {
  const amount = (currency: string) =>
    ({ what: 'amount', merchant: MERCHANT.merchantNo, currency, day: TO, nth: 1, net: '100.5' }) as const;
  const sandbox = createSandbox(
    scenario({
      entriesPerDay: 3,
      merchants: [{ ...MERCHANT, currencies: ['XCG', 'CNH'] }],
      planted: [amount('XCG'), amount('CNH')],
    }),
  );
  platformUrl = (await sandbox.listen({ port: 0 })).url;
  return () => sandbox.close();
});

async function published(more: Env) {
  const folder = await mkdtemp(join(tmpdir(), 'daybook-codes-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const env = {
    ...{
      PLATFORM_BASE_URL: platformUrl,
      PLATFORM_TIME_ZONE: ZONE,
      PLATFORM_MERCHANT_NO: MERCHANT.merchantNo,
    },
    ...{ PLATFORM_TOKEN: MERCHANT.token, DATABASE_URL: await freshDatabaseUrl(), DAYBOOK_DATA_DIR: folder },
    ...{
      DAYBOOK_NOW: NIGHT,
      DAYBOOK_LOG_LEVEL: 'silent',
      DAYBOOK_STATEMENT_FORMATS: 'csv,camt053,mt940',
      ...more,
    },
  };
  const run = await daybook(['run', '--from', TO, '--to', TO], env);
  expect(run).toMatchObject({ code: 0 });
  const day = join(folder, 'statements', dayPrefix(MERCHANT.merchantNo, TO));
  const file = async (ending: string): Promise<string> => {
    const name = (await readdir(day, { recursive: true })).find(
      (one) => one.includes('CNH') && one.endsWith(ending),
    );
    return join(day, name ?? `nothing ends with ${ending}`);
  };
  const got = (currency: string, format: string, env_: Env = env) =>
    daybook(
      [
        'statements',
        'get',
        '--merchant',
        MERCHANT.merchantNo,
        '--currency',
        currency,
        '--day',
        TO,
        '--format',
        format,
        '--stdout',
      ],
      env_,
    );
  return { env, run, folder, file, got };
}

test('a new code of ISO 4217 has its decimals, and no notice', async () => {
  const { run, got } = await published({});
  expect(run.stdout).not.toContain('is on no list');
  expect((await got('XCG', 'csv')).stdout).toMatch(/,100\.50,/);
  expect((await got('XCG', 'mt940')).stdout).toMatch(/C100,50N/);
});

test('CNH is written as it is, or with the code of ISO 4217 that the settings name', async () => {
  const asItIs = await published({});
  expect(await readFile(await asItIs.file('camt053.xml'), 'utf8')).toMatch(/<Ccy>CNH<.*Ccy="CNH"/s);
  const { env, file, got } = await published({ DAYBOOK_BANK_CURRENCIES: '{"CNH":"CNY"}' });
  const [camt, mt940] = [await file('camt053.xml'), await file('mt940')];
  const texts = [await readFile(camt, 'utf8'), await readFile(mt940, 'utf8')] as const;
  expect(texts[0]).toContain('<Ccy>CNY</Ccy>');
  expect(new Set(texts[0].match(/Ccy="\w+"/g))).toEqual(new Set(['Ccy="CNY"']));
  // The account is another one than that in CNY, and the file says what it is in.
  expect(texts[0]).toContain(`<Id>${MERCHANT.merchantNo}CNH</Id>`);
  expect(texts[0]).toContain('CNH is written as CNY');
  expect(texts[1]).toMatch(/:60F:C\d{6}CNY/);
  expect(texts[1]).toMatch(/:62F:C\d{6}CNY/);
  expect(texts[1]).toContain(`:25:${MERCHANT.merchantNo}CNH`);
  expect((await got('CNH', 'csv')).stdout).toContain('CNH');
  expect((await got('XCG', 'camt053')).stdout).toContain('Ccy="XCG"');
  // A download that was not published so, by the settings of now.
  expect(
    (await got('CNH', 'camt053', { ...asItIs.env, DAYBOOK_BANK_CURRENCIES: '{"CNH":"CNY"}' })).stdout,
  ).toContain('Ccy="CNH"');
  // Made again as it was, whatever the settings say by now.
  await writeFile(camt, 'other');
  await rm(mt940);
  const later = { ...env, DAYBOOK_BANK_CURRENCIES: '' };
  expect(await daybook(['publish', '--from', TO, '--to', TO, '--repair'], later)).toMatchObject({ code: 0 });
  expect([await readFile(camt, 'utf8'), await readFile(mt940, 'utf8')]).toEqual(texts);
  expect(await daybook(['verify', join(env.DAYBOOK_DATA_DIR, 'statements')], later)).toMatchObject({
    code: 0,
  });
});

test.each(['{"CNY":"USD"}', '{"CNH":"QQQ"}', '{"cnh":"CNY"}', 'CNY'])(
  'the setting %s is refused',
  async (value) => {
    const { code, stderr } = await daybook(['status'], { DAYBOOK_BANK_CURRENCIES: value });
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('DAYBOOK_BANK_CURRENCIES must map currency codes that ISO 4217 does not have'),
    ]);
  },
);

test('a setting with several problems is one setting, and a problem is said once', async () => {
  const { code, stderr } = await daybook(['status'], {
    ...{ PLATFORM_BASE_URL: platformUrl, PLATFORM_TIME_ZONE: ZONE },
    BOOKS_TOLERANCES: '{"USD":{"maximum":"0.50"}}',
  });
  expect(code).toBe(2);
  expect(stderr).toContain('1 setting is invalid');
  expect(stderr.match(/BOOKS_TOLERANCES/g)).toHaveLength(1);
});
