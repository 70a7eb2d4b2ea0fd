import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { SUCCESS_CODES } from '../../src/ledger/success-codes.ts';
import { SettingsInvalid } from '../../src/settings/problem.ts';
import { alertSettings } from '../../src/plugins/alerts/settings.ts';
import { mailSettings } from '../../src/plugins/mail/settings.ts';
import { ALL_SETTINGS, loadSettings } from '../../src/settings/load.ts';
import { placeOf, setting, settingsGroup } from '../../src/settings/setting.ts';
import type { SettingsSource } from '../../src/settings/sources.ts';

const TOKEN = 'tok-3f9b1c-very-secret';
const KEY = Buffer.from(Array.from({ length: 32 }, (_, index) => (index * index * 7 + 130) % 256)).toString(
  'base64',
);
const noFile = (path: string): string => {
  throw Object.assign(new Error(path), { code: 'ENOENT' });
};
const LEAST = { PLATFORM_BASE_URL: 'https://platform.example/', PLATFORM_TIME_ZONE: 'Asia/Shanghai' };

const load = (env: Record<string, string>, more: Partial<Omit<SettingsSource, 'needs'>> = {}) =>
  mailSettings.of(alertSettings.of(loadSettings({ env, readFile: noFile, cwd: '/srv/books', ...more })));
const loadYaml = (yaml: string, env: Record<string, string> = {}) =>
  load(env, { configPath: 'books.yaml', readFile: () => yaml });
const refusal = (act: () => unknown): SettingsInvalid => {
  try {
    act();
  } catch (error) {
    if (error instanceof SettingsInvalid) return error;
    throw error;
  }
  throw new Error('settings were accepted');
};

/** Of the right form; no password has it. */
const HASH = `scrypt:15:8:3:${Buffer.alloc(16, 1).toString('base64url')}:${Buffer.alloc(32, 2).toString('base64url')}`;

describe('settings that are accepted', () => {
  test('the smallest possible set gets every default', () => {
    expect(load(LEAST)).toEqual({
      platform: {
        baseUrl: 'https://platform.example',
        timeZone: 'Asia/Shanghai',
        timeZoneProof: 'required',
        headers: { Authorization: 'Bearer {token}', merchantNo: '{merchantNo}' },
        merchant: null,
        concurrency: 8,
        rateLimitPerS: null,
        timeoutMs: 30_000,
        retriesMax: 5,
        successCodes: SUCCESS_CODES,
        agentHeaders: {},
        agentToken: null,
        referralChannel: null,
        signing: null,
        filePaths: expect.any(String) as string,
      },
      fileRules: { filePaths: expect.any(String) as string, referralChannel: null },
      walletMethods: [],
      codeLists: { sourceFunds: null, paymentPurpose: null, customerIdentity: null, natures: null },
      images: ['path', 'base64', 'dataUrl', 'url'],
      currencies: { CNH: 2 },
      bankCurrencies: {},
      settleDelayS: 300,
      merchantsAtOnce: 8,
      resweepDays: 7,
      resweepDaysMax: 31,
      lateSweepDays: 14,
      clockToleranceS: 2,
      checks: ['frontier', 'wide', 'zone', 'empty', 'first', 'shared'],
      nowMs: null,
      databaseUrl: null,
      connectionsMax: 7,
      statementsUrl: 'file:///srv/books/.daybook/statements',
      s3ForcePathStyle: null,
      dataDir: '/srv/books/.daybook',
      secretKeys: [],
      signingKey: null,
      books: {
        ...{
          rules: ['reference', 'same-time', 'same-day', 'near-day', 'sum', 'tolerance'],
          days: 3,
          sumEntriesMax: 6,
        },
        ...{ tolerances: new Map(), approvalAbove: new Map(), closeNeedsMatch: false },
      },
      closeApproval: 'none',
      cookieKeys: [],
      statementFormats: ['csv'],
      schedule: {
        nightly: '30 1 * * *',
        resweep: '30 13 * * *',
        reference: '0 3 * * 1',
        zone: 'Asia/Shanghai',
      },
      workers: 'none',
      referenceCountries: [],
      publicUrl: null,
      listen: { host: '127.0.0.1', port: 8080 },
      allowInsecure: [],
      pagesListen: null,
      healthListen: null,
      metricsMerchants: false,
      trustedProxies: ['127.0.0.0/8', '::1'],
      access: {
        users: new Map(),
        roles: new Map(),
        proxy: null,
        oidc: null,
        pagesUrl: null,
        sessionHours: 12,
        idleMinutes: 30,
      },
      alerts: { webhooks: [], secret: null, mail: null, pingUrl: null },
      statementMail: null,
      logLevel: 'info',
    });
  });

  test('the settings can be given by the environment', () => {
    const settings = load({
      PLATFORM_BASE_URL: 'http://127.0.0.1:4010/pay/',
      PLATFORM_TIME_ZONE: 'Europe/Berlin',
      PLATFORM_TIME_ZONE_PROOF: 'trusted',
      PLATFORM_HEADERS: '{"X-Auth":"{token}"}',
      PLATFORM_MERCHANT_NO: '00012',
      PLATFORM_TOKEN: TOKEN,
      PLATFORM_CONCURRENCY: '3',
      PLATFORM_RATE_LIMIT: '0.5',
      PLATFORM_TIMEOUT_MS: '100',
      PLATFORM_RETRIES_MAX: '0',
      PLATFORM_SUCCESS_CODES: 'S00000,1',
      PLATFORM_AGENT_HEADERS: '{"X-Agent":"{referralChannel} {agentToken} {signature}"}',
      PLATFORM_SIGNATURE_TEMPLATE: '{timestampS}{body}',
      PLATFORM_SIGNATURE_KEY: 'a signature key',
      PLATFORM_AGENT_TOKEN: `agent-${TOKEN}`,
      PLATFORM_REFERRAL_CHANNEL: 'A0001',
      PLATFORM_WALLET_METHODS: 'WALLET_A, WALLET_B',
      PLATFORM_CODE_LISTS: '{"sourceFunds":["01","02"],"natures":null}',
      PLATFORM_FILE_PATHS: '/upload/.+',
      PLATFORM_IMAGES: 'base64',
      DAYBOOK_SETTLE_DELAY_S: '0',
      DAYBOOK_MERCHANTS_AT_ONCE: '16',
      DAYBOOK_RESWEEP_DAYS: '2',
      DAYBOOK_RESWEEP_DAYS_MAX: '45',
      DAYBOOK_LATE_SWEEP_DAYS: '30',
      DAYBOOK_CLOCK_TOLERANCE_S: '5',
      DAYBOOK_CHECKS: 'wide, zone',
      DAYBOOK_NOW: '2026-04-01T10:00:00+08:00',
      DAYBOOK_DATA_DIR: 'books',
      DAYBOOK_SECRET_KEYS: `k2:${KEY}, k1:${KEY}`,
      DAYBOOK_STATEMENT_FORMATS: 'csv',
      DAYBOOK_BANK_CURRENCIES: '{"CNH":"CNY"}',
      DAYBOOK_CURRENCIES: '{"XBT":6}',
      DAYBOOK_SCHEDULE_NIGHTLY: '0 3 * * *',
      DAYBOOK_SCHEDULE_RESWEEP: '0 12 * * 1',
      DAYBOOK_SCHEDULE_REFERENCE: '0 4 * * *',
      DAYBOOK_SCHEDULE_ZONE: 'UTC',
      DAYBOOK_WORKERS: 'queue',
      DAYBOOK_REFERENCE_COUNTRIES: '["CN","US"]',
      DAYBOOK_PUBLIC_URL: 'https://books.example/daybook/',
      DAYBOOK_LISTEN: '[::1]:0',
      DAYBOOK_ALLOW_INSECURE: 'database, statements',
      DAYBOOK_PAGES_LISTEN: '127.0.0.1:8082',
      DAYBOOK_HEALTH_LISTEN: '127.0.0.1:8081',
      DAYBOOK_METRICS_MERCHANTS: 'true',
      DAYBOOK_TRUSTED_PROXIES: '10.0.0.0/8, 2001:db8::7',
      DAYBOOK_PAGES_URL: 'https://pages.example/',
      DAYBOOK_ACCESS_USERS: `{"ada":"${HASH}"}`,
      DAYBOOK_ACCESS_ROLES: '{"ada":"operator","group:shops":{"role":"viewer","merchants":["10001"]}}',
      DAYBOOK_ACCESS_HOURS: '8',
      DAYBOOK_ACCESS_PROXY_HEADER: 'X-Forwarded-User',
      DAYBOOK_ACCESS_PROXIES: '10.0.0.7',
      DAYBOOK_OIDC_ISSUER: 'https://login.example/realms/books',
      DAYBOOK_OIDC_CLIENT_ID: 'daybook',
      DAYBOOK_OIDC_CLIENT_SECRET: 'a-made-up-secret',
      DAYBOOK_OIDC_NAME_CLAIM: 'preferred_username',
      DAYBOOK_OIDC_GROUPS_CLAIM: 'roles',
      DAYBOOK_ALERT_URL:
        'https://ops.example/a,b?c=1,2 slack+https://chat.example/key\nhttps://hooks.slack.com/services/T/B/key,http://127.0.0.1:9/x',
      DAYBOOK_ALERT_SECRET: 'a secret of the receiver',
      DAYBOOK_ALERT_MAIL_TO: 'ops@company.example, late@company.example',
      DAYBOOK_ALERT_MAIL_FROM: 'daybook@company.example',
      DAYBOOK_SMTP_URL: 'smtps://user:p%40ss@mail.example:465',
      DAYBOOK_PING_URL: 'https://hc-ping.com/your-uuid',
      DAYBOOK_LOG_LEVEL: 'debug',
      BOOKS_RULES: 'reference,sum',
      BOOKS_DAYS: '2',
      BOOKS_SUM_ENTRIES_MAX: '4',
      BOOKS_TOLERANCES: '{"USD":{"max":"0.50","type":"fee"}}',
      BOOKS_APPROVAL_ABOVE: '{"USD":"10000"}',
      BOOKS_CLOSE_NEEDS_MATCH: 'true',
      BOOKS_ALERT_DAYS: '7',
      DATABASE_URL: 'postgres://u:p%40ss@db/books',
      DATABASE_POOL_SIZE: '2',
      STATEMENTS_URL: 's3://bucket/prefix',
      S3_FORCE_PATH_STYLE: 'false',
    });
    expect(settings).toEqual({
      platform: {
        baseUrl: 'http://127.0.0.1:4010/pay',
        timeZone: 'Europe/Berlin',
        timeZoneProof: 'trusted',
        headers: { 'X-Auth': '{token}' },
        merchant: { merchantNo: '00012', token: TOKEN },
        concurrency: 3,
        rateLimitPerS: 0.5,
        timeoutMs: 100,
        retriesMax: 0,
        successCodes: ['S00000', '1'],
        agentHeaders: { 'X-Agent': '{referralChannel} {agentToken} {signature}' },
        agentToken: `agent-${TOKEN}`,
        referralChannel: 'A0001',
        signing: { template: '{timestampS}{body}', key: 'a signature key' },
        filePaths: '^(?:/upload/.+)$',
      },
      fileRules: { filePaths: '^(?:/upload/.+)$', referralChannel: 'A0001' },
      walletMethods: ['WALLET_A', 'WALLET_B'],
      codeLists: { sourceFunds: ['01', '02'], paymentPurpose: null, customerIdentity: null, natures: null },
      images: ['base64'],
      currencies: { CNH: 2, XBT: 6 },
      bankCurrencies: { CNH: 'CNY' },
      settleDelayS: 0,
      merchantsAtOnce: 16,
      resweepDays: 2,
      resweepDaysMax: 45,
      lateSweepDays: 30,
      clockToleranceS: 5,
      checks: ['wide', 'zone'],
      nowMs: Date.UTC(2026, 3, 1, 2),
      databaseUrl: 'postgres://u:p%40ss@db/books',
      connectionsMax: 2,
      statementsUrl: 's3://bucket/prefix',
      s3ForcePathStyle: false,
      dataDir: '/srv/books/books',
      secretKeys: [
        { id: 'k2', key: Buffer.from(KEY, 'base64') },
        { id: 'k1', key: Buffer.from(KEY, 'base64') },
      ],
      signingKey: null,
      books: {
        ...{ rules: ['reference', 'sum'], days: 2, sumEntriesMax: 4, closeNeedsMatch: true, alertDays: 7 },
        tolerances: new Map([['USD', { max: '0.50', type: 'fee' }]]),
        approvalAbove: new Map([['USD', '10000']]),
      },
      closeApproval: 'none',
      cookieKeys: [],
      statementFormats: ['csv'],
      schedule: { nightly: '0 3 * * *', resweep: '0 12 * * 1', reference: '0 4 * * *', zone: 'UTC' },
      workers: 'queue',
      referenceCountries: ['CN', 'US'],
      publicUrl: 'https://books.example/daybook',
      listen: { host: '::1', port: 0 },
      allowInsecure: ['database', 'statements'],
      pagesListen: { host: '127.0.0.1', port: 8082 },
      healthListen: { host: '127.0.0.1', port: 8081 },
      metricsMerchants: true,
      trustedProxies: ['10.0.0.0/8', '2001:db8::7'],
      access: {
        users: new Map([
          [
            'ada',
            { cost: 15, blockSize: 8, parallel: 3, salt: Buffer.alloc(16, 1), hash: Buffer.alloc(32, 2) },
          ],
        ]),
        roles: new Map([
          ['ada', { role: 'operator', merchants: null }],
          ['group:shops', { role: 'viewer', merchants: ['10001'] }],
        ]),
        proxy: { header: 'x-forwarded-user', from: ['10.0.0.7'] },
        oidc: {
          issuer: 'https://login.example/realms/books',
          clientId: 'daybook',
          clientSecret: 'a-made-up-secret',
          nameClaim: 'preferred_username',
          groupsClaim: 'roles',
        },
        pagesUrl: 'https://pages.example',
        sessionHours: 8,
        idleMinutes: 30,
      },
      statementMail: null,
      alerts: {
        webhooks: [
          { kind: 'json', url: 'https://ops.example/a,b?c=1,2' },
          { kind: 'slack', url: 'https://chat.example/key' },
          { kind: 'slack', url: 'https://hooks.slack.com/services/T/B/key' },
          { kind: 'json', url: 'http://127.0.0.1:9/x' },
        ],
        secret: 'a secret of the receiver',
        mail: {
          to: ['ops@company.example', 'late@company.example'],
          from: 'daybook@company.example',
          smtpUrl: 'smtps://user:p%40ss@mail.example:465',
        },
        pingUrl: 'https://hc-ping.com/your-uuid',
      },
      logLevel: 'debug',
    });
  });

  test('the environment wins over the file, but an empty variable does not', () => {
    const yaml = `
platform: { baseUrl: https://file.example, timeZone: Asia/Tokyo, concurrency: 2, headers: { A: '{token}' } }
daybook:
`;
    const settings = loadYaml(yaml, { PLATFORM_CONCURRENCY: '4', PLATFORM_TIME_ZONE: '' });
    expect(settings.platform).toMatchObject({
      baseUrl: 'https://file.example',
      timeZone: 'Asia/Tokyo',
      concurrency: 4,
      headers: { A: '{token}' },
    });
  });

  test('DAYBOOK_CONFIG names the file if --config does not', () => {
    const read: string[] = [];
    const readFile = (path: string): string => {
      read.push(path);
      return 'platform: { baseUrl: https://a.example, timeZone: UTC }';
    };
    load({ DAYBOOK_CONFIG: 'env.yaml' }, { readFile });
    load({ DAYBOOK_CONFIG: 'env.yaml' }, { readFile, configPath: 'flag.yaml' });
    expect(read).toEqual(['env.yaml', 'flag.yaml']);
  });

  test('a command that needs no platform runs without one, and still refuses a bad one', () => {
    expect(loadSettings({ env: {}, readFile: noFile, needs: [] }).platform).toBeNull();
    expect(loadSettings({ env: LEAST, readFile: noFile, needs: [] }).platform?.timeZone).toBe(
      'Asia/Shanghai',
    );
    const wrong = { env: { PLATFORM_TIME_ZONE: 'Mars/Base' }, readFile: noFile, needs: [] } as const;
    expect(refusal(() => loadSettings(wrong)).problems).toHaveLength(1);
  });

  test('the annotated example is accepted and names every setting', () => {
    const example = readFileSync('config/daybook.example.yaml', 'utf8');
    expect(loadYaml(example).platform.baseUrl).toBe('https://platform.example');
    for (const [name, { about }] of Object.entries(ALL_SETTINGS)) {
      const { section, key } = placeOf(name);
      expect(about, name).not.toBe('');
      expect(example).toMatch(new RegExp(`^${section}:\\n(?:[ \\n#].*\\n|\\n)*?  ${key}:`, 'm'));
    }
  });
});

describe('alerts', () => {
  const MAIL = { DAYBOOK_ALERT_MAIL_TO: 'ops@company.example' };

  test('in the file are a list; over plain http they go where somebody answers for it', () => {
    const yaml = `
platform: { baseUrl: https://a.example, timeZone: UTC }
daybook:
  alertUrl: ['http://ops.example/x', slack+https://chat.example/key]
  alertSecret: a secret of the receiver
  allowInsecure: [alerts]
`;
    expect(loadYaml(yaml).alerts.webhooks).toEqual([
      { kind: 'json', url: 'http://ops.example/x' },
      { kind: 'slack', url: 'https://chat.example/key' },
    ]);
  });

  test('say what lacks, and repeat no address', () => {
    const problemsOf = (env: Record<string, string>) =>
      refusal(() => load({ ...LEAST, ...env })).problems.map(({ key }) => key);
    expect(problemsOf({ DAYBOOK_ALERT_URL: 'https://ops.example/x' })).toEqual(['DAYBOOK_ALERT_SECRET']);
    expect(problemsOf(MAIL)).toEqual(['DAYBOOK_ALERT_MAIL_FROM', 'DAYBOOK_SMTP_URL']);
    expect(load({ ...LEAST, DAYBOOK_ALERT_URL: 'slack+https://chat.example/key' }).alerts.secret).toBeNull();
    const reported = refusal(() =>
      load({
        ...LEAST,
        DAYBOOK_ALERT_URL: 'http://ops.example/secret-part',
        DAYBOOK_SMTP_URL: 'secret-part',
      }),
    );
    expect(reported.message).not.toContain('secret-part');
  });

  test('can come from a file, an address a line', () => {
    const files = { readFile: () => 'https://ops.example/x\nslack+https://chat.example/key\n' };
    const env = {
      ...LEAST,
      DAYBOOK_ALERT_URL_FILE: '/run/secrets/urls',
      DAYBOOK_ALERT_SECRET: 'sixteen letters!',
    };
    expect(load(env, files).alerts.webhooks.map(({ kind }) => kind)).toEqual(['json', 'slack']);
  });
});

describe('statements by mail', () => {
  const ANNA = { name: 'Anna Berg', to: 'anna@finance.example', every: 'day', from: '2026-03-01' };
  const server = { DAYBOOK_ALERT_MAIL_FROM: 'daybook@company.example', DAYBOOK_SMTP_URL: 'smtp://127.0.0.1' };
  const mailed = (...entries: readonly unknown[]) => ({
    ...{ ...LEAST, ...server },
    DAYBOOK_STATEMENT_MAIL: JSON.stringify(entries),
  });

  test('are a list in the file, or JSON; merchants, currencies and formats may be left out', () => {
    const expected = {
      from: 'daybook@company.example',
      smtpUrl: 'smtp://127.0.0.1',
      recipients: [{ ...ANNA, merchants: null, currencies: null, as: 'file', formats: ['csv'] }],
    };
    expect(load(mailed(ANNA)).statementMail).toEqual(expected);
    const yaml = `
platform: { baseUrl: https://a.example, timeZone: UTC }
daybook:
  alertMailFrom: daybook@company.example
  smtpUrl: smtp://127.0.0.1
  statementMail: [{ name: Anna Berg, to: anna@finance.example, every: day, from: 2026-03-01, merchants: all }]
`;
    expect(loadYaml(yaml).statementMail).toEqual(expected);
  });

  test.each([
    [
      'a server and a sender',
      { ...LEAST, DAYBOOK_STATEMENT_MAIL: JSON.stringify([ANNA]) },
      ['DAYBOOK_ALERT_MAIL_FROM', 'DAYBOOK_SMTP_URL'],
    ],
    ['an address of the pages for links', mailed({ ...ANNA, as: 'link' }), ['DAYBOOK_PAGES_URL']],
  ])('need %s', (_, env, keys) => {
    expect(refusal(() => load(env)).problems.map(({ key }) => key)).toEqual(keys);
  });

  test.each<[string, readonly unknown[], string]>([
    [
      'an address that is none',
      [ANNA, { ...ANNA, to: 'anna' }],
      'is wrong for recipient 2: to must be a mail address',
    ],
    [
      'no name',
      [{ ...ANNA, name: '' }],
      'is wrong for recipient 1: name must have 1 to 100 printable characters',
    ],
    [
      'a day that is none',
      [{ ...ANNA, from: '2026-02-30' }],
      'recipient 1: from must be the first day, YYYY-MM-DD',
    ],
    [
      'a merchant as a number',
      [{ ...ANNA, merchants: [10001] }],
      'recipient 1: merchants must be all, or a list of merchant numbers',
    ],
    [
      'an empty list of currencies',
      [{ ...ANNA, currencies: [] }],
      'recipient 1: currencies must be all, or a list',
    ],
    [
      'a format of months for a day',
      [{ ...ANNA, formats: ['workbook'] }],
      'recipient 1: formats must be some of csv, xlsx, camt053, mt940, pdf for a day',
    ],
    [
      'a format of days for a month',
      [{ ...ANNA, every: 'month', formats: ['xlsx'] }],
      'must be some of csv, camt053, mt940, pdf, workbook for a month',
    ],
    ['a key that is none', [{ ...ANNA, merchant: 'M1' }], 'has in recipient 1 the unknown key merchant'],
    ['what is no mapping', ['anna@finance.example'], 'has no mapping as recipient 1'],
    [
      'the same statement twice',
      [ANNA, { ...ANNA, to: 'Anna@Finance.example', merchants: ['M1'], formats: ['pdf'] }],
      'has recipients 1 and 2 with the same address and statements',
    ],
  ])('refuse %s, and name the entry but no address', (_, entries, problem) => {
    const { problems, message } = refusal(() => load(mailed(...entries)));
    expect(problems).toEqual([
      {
        key: 'DAYBOOK_STATEMENT_MAIL',
        problem: expect.stringContaining(problem),
        example: expect.any(String),
      },
    ]);
    expect(message).not.toMatch(/anna@finance/i);
  });

  test('one address may get days and months, and other merchants or currencies in another way', () => {
    const others = [
      { ...ANNA, every: 'month' },
      { ...ANNA, merchants: ['M1'], currencies: ['USD'] },
    ];
    const { statementMail } = load(
      mailed(...others, { ...ANNA, merchants: ['M2'] }, { ...ANNA, merchants: ['M1'], currencies: ['EUR'] }),
    );
    expect(statementMail!.recipients).toHaveLength(4);
  });

  test('are refused where no package sends them', () => {
    const isInstalled = (name: string): boolean => !['nodemailer', 'pdfkit'].includes(name);
    const { problems } = refusal(() => load(mailed({ ...ANNA, formats: ['pdf'] }), { isInstalled }));
    expect(problems.map(({ key, problem }) => `${key} ${problem}`)).toEqual([
      expect.stringMatching(/^DAYBOOK_STATEMENT_MAIL asks for PDF statements, and pdfkit is not installed/),
      expect.stringMatching(
        /^DAYBOOK_STATEMENT_MAIL asks for statements by mail, and nodemailer is not installed/,
      ),
    ]);
  });
});

describe('settings that are refused', () => {
  test('all problems are listed at once, with key, problem and example', () => {
    const { problems, message } = refusal(() =>
      load({
        PLATFORM_BASE_URL: 'http://platform.example',
        PLATFORM_TIMEOUT_MS: 'soon',
        PLATFORM_TIMEZONE: 'UTC',
      }),
    );
    expect(problems).toEqual([
      {
        key: 'PLATFORM_TIMEZONE',
        problem: 'is no setting; did you mean PLATFORM_TIME_ZONE?',
        example: 'PLATFORM_TIME_ZONE',
      },
      {
        key: 'PLATFORM_BASE_URL',
        problem: "must be https; plain http is for loopback only (it is 'http://platform.example')",
        example: 'https://platform.example',
      },
      {
        key: 'PLATFORM_TIMEOUT_MS',
        problem: "must be an integer from 1 to 600000 (it is 'soon')",
        example: '30000',
      },
      {
        key: 'PLATFORM_TIME_ZONE',
        problem: 'is required: the zone of the platform’s timestamps',
        example: 'Asia/Shanghai',
      },
    ]);
    for (const { key, problem, example } of problems)
      expect(message).toContain(`${key} ${problem}${problem.endsWith('?') ? '' : '.'} Example: ${example}`);
  });

  test.each([
    ['PLATFORM_BASE_URL', 'platform.example', 'is not a URL'],
    ['PLATFORM_BASE_URL', 'ftp://platform.example', 'must be https'],
    ['PLATFORM_BASE_URL', 'http://127.0.0.1.evil.example', 'must be https'],
    ['PLATFORM_BASE_URL', 'https://platform.example/?a=1', 'without ? or #'],
    ['PLATFORM_TIME_ZONE', '+08:00', 'is no IANA time zone'],
    ['PLATFORM_HEADERS', 'Authorization', 'must be a mapping'],
    ['PLATFORM_HEADERS', '{"A":1}', 'must be a mapping'],
    ['PLATFORM_HEADERS', '{"A":"{tokn}"}', 'in header 1 that is none of {token}, {merchantNo}, {timestamp}'],
    ['PLATFORM_HEADERS', '{"A b":"x"}', 'no valid name in header 1'],
    ['PLATFORM_HEADERS', '{"A":"x\\r\\nB: y"}', 'more than printable ASCII'],
    ['PLATFORM_HEADERS', '{"Content-Length":"3"}', 'which the client sets itself'],
    ['PLATFORM_CONCURRENCY', '0', 'integer from 1 to 64'],
    ['PLATFORM_CONCURRENCY', '8.5', 'integer from 1 to 64'],
    ['PLATFORM_RATE_LIMIT', '0', 'above 0'],
    ['DAYBOOK_RESWEEP_DAYS', '-1', 'integer'],
    ['DAYBOOK_NOW', '2026-04-01 02:00', 'an instant with its offset'],
    ['DAYBOOK_NOW', '2026-13-01T02:00:00Z', 'an instant with its offset'],
    ['DATABASE_URL', 'mysql://db/books', 'must begin with postgres://'],
    ['DATABASE_POOL_SIZE', '1', '2 to 100'],
    ['STATEMENTS_URL', '/srv/statements', 'is not a URL'],
    ['STATEMENTS_URL', 'file://relative/path', 'three slashes'],
    ['BOOKS_TOLERANCES', '{"USD":0.5}', 'must map currency codes to max and type'],
    ['BOOKS_TOLERANCES', '{"USD":{"max":"-1","type":"fee"}}', 'must map currency codes to max and type'],
    ['BOOKS_APPROVAL_ABOVE', '{"usd":"1"}', 'must map currency codes to amounts in quotes'],
    ['BOOKS_RULES', 'guess', 'must be a list of reference'],
    ['STATEMENTS_URL', 'https://bucket/x', 'file:// or s3://'],
    ['S3_FORCE_PATH_STYLE', 'maybe', 'must be true or false'],
    ['DAYBOOK_SECRET_KEYS', `k1:${KEY},k1:${KEY}`, 'two keys the same id'],
    ['DAYBOOK_SECRET_KEYS', 'k1:AAAA', 'has 3 bytes in key 1, where 32 are needed'],
    ['DAYBOOK_SECRET_KEYS', `k1:${Buffer.alloc(32).toString('base64')}`, 'the same few bytes again'],
    [
      'DAYBOOK_SECRET_KEYS',
      `k1:${KEY},k2:${Buffer.alloc(32, 255).toString('base64')}`,
      'in key 2: the same few',
    ],
    ['DAYBOOK_SECRET_KEYS', `k1:${Buffer.from('\u0001\u0002345678'.repeat(4)).toString('base64')}`, 'same'],
    [
      'DAYBOOK_SECRET_KEYS',
      `k1:${Buffer.from('correct horse battery staple, ok').toString('base64')}`,
      ': text,',
    ],
    ['DAYBOOK_SECRET_KEYS', `k1:${Buffer.from([...Array(32).keys()]).toString('base64')}`, 'count up'],
    [
      'DAYBOOK_SECRET_KEYS',
      `k1:${Buffer.from([...Array(32).keys()].reverse()).toString('base64')}`,
      'count up or down',
    ],
    ['DAYBOOK_STATEMENT_FORMATS', 'csv,docx', 'must be a list of csv'],
    ['DAYBOOK_ALLOW_INSECURE', 'database,everything', 'a list of database, statements, certificates'],
    ['PLATFORM_BASE_URL', 'http://platform.localhost', 'must be https'],
    ['PLATFORM_BASE_URL', 'http://localhost.', 'must be https'],
    ['DAYBOOK_PUBLIC_URL', 'http://books.localhost:8080', 'must be https'],
    ['DAYBOOK_CURRENCIES', '{"cnh":2}', 'three-letter codes'],
    ['DAYBOOK_SCHEDULE_NIGHTLY', '61 * * * *', 'is no cron expression'],
    ['DAYBOOK_LOG_LEVEL', 'loud', 'must be one of fatal'],
    ['DAYBOOK_SCHEDULE_REFERENCE', 'weekly', 'is no cron expression'],
    // One of the two cron libraries accepts each of these and the other does not, or they read it differently.
    ['DAYBOOK_SCHEDULE_REFERENCE', '0 3 * * Monday', "its weekday 'Monday' cannot be read"],
    ['DAYBOOK_SCHEDULE_REFERENCE', '0 3 * January *', "its month 'January' cannot be read"],
    ['DAYBOOK_SCHEDULE_NIGHTLY', '0 3 15W * *', "its day '15W' cannot be read"],
    ['DAYBOOK_SCHEDULE_NIGHTLY', '0 3 L-3 * *', "its day 'L-3' cannot be read"],
    ['DAYBOOK_SCHEDULE_NIGHTLY', '0 3 * jan2 *', "its month 'jan2' cannot be read"],
    ['DAYBOOK_SCHEDULE_NIGHTLY', 'H 3 * * *', "its minute 'H' cannot be read"],
    ['DAYBOOK_SCHEDULE_RESWEEP', '0 30 13 * * *', 'it has 6 fields instead of 5'],
    ['DAYBOOK_SCHEDULE_RESWEEP', '30 13 * *', 'it has 4 fields instead of 5'],
    ['DAYBOOK_SCHEDULE_RESWEEP', '@daily', 'nicknames like @daily are not taken'],
    ['DAYBOOK_SCHEDULE_RESWEEP', '0 3 30 2 *', 'no such day ever comes'],
    ['DAYBOOK_SCHEDULE_RESWEEP', '0 3 * * 5-1', 'a range goes backwards'],
    ['DAYBOOK_SCHEDULE_RESWEEP', '0 3 * abc *', 'a name is none'],
    ['DAYBOOK_REFERENCE_COUNTRIES', 'CN,usa', 'alpha-2 country codes'],
    ['DAYBOOK_REFERENCE_COUNTRIES', 'GB,UK,EN', 'alpha-2 country codes'],
    ['PLATFORM_CODE_LISTS', '{"sourceFunds":[1,2]}', 'must map sourceFunds'],
    ['DAYBOOK_ALERT_URL', 'ops.example', 'has an address that is not a URL'],
    ['DAYBOOK_ALERT_URL', 'ftp://ops.example', 'has an address that must begin with https://'],
    ['DAYBOOK_ALERT_URL', 'https://user:pass@ops.example', 'must not carry a user or password'],
    ['DAYBOOK_ALERT_URL', 'slack+http://ops.example/key', 'must be https; plain http is for loopback only'],
    ['DAYBOOK_PING_URL', 'http://ops.example/key', 'must be https; plain http is for loopback only'],
    ['DAYBOOK_ALERT_SECRET', 'short', 'at least 16 characters'],
    ['DAYBOOK_ALERT_MAIL_FROM', 'daybook', 'must be a mail address'],
    ['DAYBOOK_SMTP_URL', 'https://mail.example', 'must begin with smtps://'],
    ['DAYBOOK_SMTP_URL', 'smtps://', 'names no server'],
    ['DAYBOOK_SMTP_URL', 'smtps://mail.example?a=1', 'must end with the server and its port'],
    ['DAYBOOK_SMTP_URL', 'smtps://mail.example#a', 'must end with the server and its port'],
    ['DAYBOOK_SMTP_URL', 'smtps://mail.example/a', 'must end with the server and its port'],
    ['DAYBOOK_PUBLIC_URL', 'http://books.example', 'must be https'],
    ['DAYBOOK_PUBLIC_URL', 'https://user@books.example', 'must not carry a user'],
    ['DAYBOOK_PUBLIC_URL', 'https://books.example/?a=1', 'without ? or #'],
    ['DAYBOOK_PUBLIC_URL', `https://books.example/${'x'.repeat(180)}`, 'leave space for the path'],
    ['DAYBOOK_PAGES_URL', 'https://books.example/daybook', 'without a path'],
    ['DAYBOOK_PAGES_URL', 'http://books.example', 'must be https'],
    ['DAYBOOK_LISTEN', '8080', 'a host and a port'],
    ['DAYBOOK_PAGES_LISTEN', '8080', 'a host and a port'],
    ['DAYBOOK_HEALTH_LISTEN', '8080', 'a host and a port'],
    ['DAYBOOK_TRUSTED_PROXIES', '10.0.0.0/33', 'IP addresses or networks'],
    ['DAYBOOK_TRUSTED_PROXIES', 'proxy.example', 'IP addresses or networks'],
    ['DAYBOOK_LISTEN', 'localhost:70000', 'a port above 65535'],
    [
      'PLATFORM_AGENT_HEADERS',
      '{"A":"{token}"}',
      'in header 1 that is none of {agentToken}, {referralChannel}, {timestamp}',
    ],
    ['PLATFORM_AGENT_HEADERS', '{"A":"{agentToken}"}', 'PLATFORM_AGENT_TOKEN'],
    ['PLATFORM_AGENT_HEADERS', '{"A":"{referralChannel}"}', 'PLATFORM_REFERRAL_CHANNEL'],
    ['PLATFORM_SIGNATURE_KEY', 'key', 'nothing would be signed'],
    ['PLATFORM_SIGNATURE_TEMPLATE', '{body}', 'nothing would be signed'],
    ['PLATFORM_SIGNATURE_TEMPLATE', '{body}{signature}', 'has something in braces that is none of {token}'],
    ['PLATFORM_SIGNATURE_TEMPLATE', 'a'.repeat(4_097), 'has more than 4096 characters'],
    ['PLATFORM_REFERRAL_CHANNEL', 'A'.repeat(17), '1 to 16 printable'],
    ['PLATFORM_WALLET_METHODS', 'A,,B', 'a list of codes'],
    ['PLATFORM_CODE_LISTS', '{"sourceFund":["01"]}', 'must map sourceFunds'],
    ['PLATFORM_CODE_LISTS', '{"sourceFunds":"01"}', 'must map sourceFunds'],
    ['PLATFORM_FILE_PATHS', '(/upload', 'is no regular expression'],
  ])('%s=%s: %s', (name, value, said) => {
    const { problems } = refusal(() => load({ ...LEAST, [name]: value }));
    expect(problems).toHaveLength(1);
    // If half of a pair is missing, the problem has the name of the missing half.
    expect(problems[0]!.key).toBe(said.startsWith('PLATFORM_') ? said : name);
    expect(`${problems[0]!.key} ${problems[0]!.problem}`).toContain(said);
    expect(problems[0]!.example).not.toBe('');
  });

  test.each([
    ['PLATFORM_HEADERS', '{"A":"{signature}"}', {}, ['KEY', 'TEMPLATE']],
    ['PLATFORM_AGENT_HEADERS', '{"A":"v1={signatureBase64}"}', {}, ['KEY', 'TEMPLATE']],
    ['PLATFORM_HEADERS', '{"A":"{signature}"}', { PLATFORM_SIGNATURE_KEY: 'key' }, ['TEMPLATE']],
    ['PLATFORM_HEADERS', '{"A":"{signature}"}', { PLATFORM_SIGNATURE_TEMPLATE: '{body}' }, ['KEY']],
  ])('%s=%s, a signature without what makes it', (name, value, given, missing) => {
    const { problems } = refusal(() => load({ ...LEAST, [name]: value, ...given }));
    expect(problems.map(({ key }) => key)).toEqual(missing.map((one) => `PLATFORM_SIGNATURE_${one}`));
  });

  test('a merchant number that cannot be printed, or half of a pair', () => {
    const hidden = { ...LEAST, PLATFORM_MERCHANT_NO: 'M\u202e1', PLATFORM_TOKEN: TOKEN };
    expect(refusal(() => load(hidden)).problems[0]!.key).toBe('PLATFORM_MERCHANT_NO');
    expect(refusal(() => load({ ...LEAST, PLATFORM_TOKEN: TOKEN })).problems[0]!.key).toBe(
      'PLATFORM_MERCHANT_NO',
    );
    expect(refusal(() => load({ ...LEAST, PLATFORM_MERCHANT_NO: 'M1' })).problems[0]!.key).toBe(
      'PLATFORM_TOKEN',
    );
  });

  test('a queue for workers in the embedded database, which belongs to one process', () => {
    const alone = { ...LEAST, DAYBOOK_WORKERS: 'queue' };
    expect(refusal(() => load(alone)).problems).toEqual([
      {
        key: 'DATABASE_URL',
        problem: 'is required where DAYBOOK_WORKERS is queue: workers share a server',
        example: expect.any(String),
      },
    ]);
    expect(load({ ...alone, DATABASE_URL: 'postgres://db/books' }).workers).toBe('queue');
  });

  test('what needs a package that is not installed, each with the command that installs it', () => {
    const { peerDependencies } = JSON.parse(
      readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
    ) as { peerDependencies: Record<string, string> };
    const asked = {
      ...LEAST,
      DATABASE_URL: 'postgres://db/books',
      DAYBOOK_ALERT_MAIL_TO: 'ops@company.example',
      DAYBOOK_ALERT_MAIL_FROM: 'daybook@company.example',
      DAYBOOK_SMTP_URL: 'smtps://mail.example',
      DAYBOOK_OIDC_ISSUER: 'https://login.example',
      DAYBOOK_OIDC_CLIENT_ID: 'daybook',
      DAYBOOK_OIDC_CLIENT_SECRET: 'a-secret-of-the-client',
      DAYBOOK_PAGES_URL: 'https://books.example',
      DAYBOOK_ACCESS_ROLES: '{"ada":"viewer"}',
      DAYBOOK_WORKERS: 'queue',
    };
    const without = (missing: readonly string[]) => ({
      isInstalled: (name: string) => !missing.includes(name),
    });
    const problem = (use: string, name: string) => ({
      problem: `asks for ${use}, and ${name} is not installed; install it next to daybook`,
      example: `npm install ${name}@${peerDependencies[name]!}`,
    });
    const missing = ['nodemailer', 'openid-client', 'pg-boss'];
    expect(refusal(() => load(asked, without(missing))).problems).toEqual([
      { key: 'DAYBOOK_WORKERS', ...problem('the queue of workers', 'pg-boss') },
      { key: 'DAYBOOK_ALERT_MAIL_TO', ...problem('alerts by mail', 'nodemailer') },
      { key: 'DAYBOOK_OIDC_ISSUER', ...problem('a login by OpenID Connect', 'openid-client') },
    ]);
    expect(load(asked, without([])).workers).toBe('queue');
    // What no setting asks for may be missing.
    expect(load(LEAST, without(missing)).workers).toBe('none');
  });

  test.each([
    ['DAYBOOK_ALERT_URL', 'https://hooks.slack.com/services/T/B/key'],
    ['DAYBOOK_STATEMENT_MAIL', '[]'],
    ['DAYBOOK_WORKERS', 'queue'],
    ['DAYBOOK_STATEMENT_FORMATS', 'csv'],
    ['PLATFORM_WALLET_METHODS', 'A'],
  ])('%s of a plugin that is not there is no setting', (name, value) => {
    const { exitCode, problems } = refusal(() => load({ ...LEAST, [name]: value }, { groups: [] }));
    expect(exitCode).toBe(2);
    expect(problems).toEqual([
      { key: name, problem: expect.stringMatching(/^is no setting/), example: expect.any(String) },
    ]);
  });

  test('a plugin that is not there has no place in the file, and is not meant by a wrong name', () => {
    const yaml = 'platform: { baseUrl: https://a.example, timeZone: UTC }\nbooks: { days: 2 }\n';
    const without = { groups: [], configPath: 'books.yaml', readFile: () => yaml };
    expect(refusal(() => load({ DAYBOOK_WORKER: 'queue' }, without)).problems).toEqual([
      {
        key: 'books',
        problem: 'is no setting',
        example: 'one of platform, daybook, database, statements, s3',
      },
      {
        key: 'DAYBOOK_WORKER',
        problem: expect.not.stringContaining('DAYBOOK_WORKERS'),
        example: expect.any(String),
      },
    ]);
    expect(refusal(() => load({ ...LEAST, DAYBOOK_WORKER: 'queue' })).problems).toEqual([
      {
        key: 'DAYBOOK_WORKER',
        problem: 'is no setting; did you mean DAYBOOK_WORKERS?',
        example: 'DAYBOOK_WORKERS',
      },
    ]);
  });

  test('unknown keys of the file, at both levels, with the likely right name', () => {
    const yaml = 'platform: { baseUrl: https://a.example, timeZone: UTC, timeOut: 5 }\nplatfrom: {}\n';
    expect(refusal(() => loadYaml(yaml)).problems).toEqual([
      { key: 'platform.timeOut', problem: 'is no setting; did you mean timeoutMs?', example: 'timeoutMs' },
      { key: 'platfrom', problem: 'is no setting; did you mean platform?', example: 'platform' },
    ]);
  });

  test('a number where text is needed, with its place in the file', () => {
    const yaml = 'platform: { baseUrl: https://a.example, timeZone: UTC, merchantNo: 0012, token: abc }';
    const [problem] = refusal(() => loadYaml(yaml)).problems;
    expect(problem!.key).toBe('platform.merchantNo in books.yaml');
    expect(problem!.problem).toContain('put it in quotes');
  });

  test('a file that cannot be read, is no YAML, or holds no mapping', () => {
    expect(refusal(() => load(LEAST, { configPath: 'gone.yaml' })).message).toContain(
      'gone.yaml cannot be read (ENOENT)',
    );
    expect(refusal(() => loadYaml(`platform:\n  token: ${TOKEN}\n  token: x\n`, LEAST)).message).toContain(
      'line 3',
    );
    expect(refusal(() => loadYaml('- a', LEAST)).message).toContain('must be a mapping of sections');
    expect(refusal(() => loadYaml('platform: here', LEAST)).message).toContain(
      'platform in books.yaml must be a mapping',
    );
  });

  test('another tool’s variable is accepted if the caller names it', () => {
    const env = { ...LEAST, PLATFORM_TOKEN_OF_M2: TOKEN };
    expect(refusal(() => load(env)).problems).toHaveLength(1);
    expect(load(env, { otherNames: ['PLATFORM_TOKEN_OF_M2'] }).platform.merchant).toBeNull();
  });
});

test.each([
  ['/upload/2026/licence-1.png', true],
  ['/kyc/M1/front image.png', true],
  ['kyc/2026/licence.png', true],
  ['licence.png', false],
  ['/licence.png', true],
  ['www.files.example/licence.png', false],
  ['//files.example/licence.png', false],
  ['/kyc/', false],
  ['C:/kyc/licence.png', false],
  ['C:\\kyc\\licence.png', false],
  ['https://files.example/kyc/licence.png', false],
  ['sftp://files.example/kyc/licence.png', false],
  ['/kyc/licence #1?.png', true],
])('the default form of a file path accepts %s: %s', (path, isOne) => {
  expect(new RegExp(load(LEAST).platform.filePaths, 'u').test(path)).toBe(isOne);
});

test('a random key is never taken for a trivial one', () => {
  for (let n = 0; n < 2_000; n += 1) {
    const key = randomBytes(32);
    expect(
      load({ ...LEAST, DAYBOOK_SECRET_KEYS: `k1:${key.toString('base64')}` }).secretKeys[0]!.key,
    ).toEqual(key);
  }
});

test('a declaration is all that a setting needs: its key, NAME_FILE, its type, its rules and what is said of it follow', () => {
  const made = settingsGroup(
    {
      DAYBOOK_MADE_UP_KEYS: setting(
        z
          .string()
          .min(4, { error: 'is short' })
          .transform((text) => text.split('-'))
          .optional(),
        'made up',
        { example: 'ab-cd', secret: true },
      ),
    },
    {
      value: ({ madeUpKeys = [] }) => ({ made: madeUpKeys }),
      rules: ({ madeUpKeys = [] }) => ({ 'DAYBOOK_MADE_UP_KEYS has too many': madeUpKeys.length > 2 }),
    },
  );
  const madeOf = (env: Record<string, string>, yaml = '') => {
    const readFile = (path: string): string => (path === 'keys' ? 'from-file\n' : yaml);
    const source = { env: { ...LEAST, ...env }, readFile, configPath: 'books.yaml', groups: [made] };
    return made.of(loadSettings(source)).made satisfies readonly string[];
  };
  expect(madeOf({})).toEqual([]);
  expect(madeOf({ DAYBOOK_MADE_UP_KEYS: 'ab-cd' })).toEqual(['ab', 'cd']);
  expect(madeOf({}, 'daybook: { madeUpKeys: of-yaml }')).toEqual(['of', 'yaml']);
  expect(madeOf({ DAYBOOK_MADE_UP_KEYS_FILE: 'keys' }, 'daybook: { madeUpKeys: of-yaml }')).toEqual([
    'from',
    'file',
  ]);
  const said = (env: Record<string, string>, yaml = '') =>
    refusal(() => madeOf(env, yaml)).problems.map(({ key, problem }) => `${key} ${problem}`);
  expect(said({ DAYBOOK_MADE_UP_KEYS: 'xyz' })).toEqual(['DAYBOOK_MADE_UP_KEYS is short']);
  expect(said({}, 'daybook: { madeUpKeys: xyz }')).toEqual(['daybook.madeUpKeys in books.yaml is short']);
  expect(said({ DAYBOOK_MADE_UP_KEYS: 'a-b-c' })).toEqual(['DAYBOOK_MADE_UP_KEYS has too many']);
  expect(said({}, 'daybook: { madeUpKey: of-yaml }')).toEqual([
    'daybook.madeUpKey is no setting; did you mean madeUpKeys?',
  ]);
});

describe('a secret from a file', () => {
  const files: Readonly<Record<string, string>> = {
    '/run/secrets/token': `${TOKEN}\n`,
    '/run/secrets/agent': `agent-${TOKEN}\r\n`,
    '/run/secrets/keys': `k1:${KEY}\n`,
    '/run/secrets/url': 'postgres://u:p@db/books',
    '/run/secrets/headers': '{"X-Auth":"{token}","X-Sign":"{signature}"}\n',
    '/run/secrets/signature': ' a key with blanks \n',
    '/run/secrets/empty': '\n',
  };
  const loadFiles = (env: Record<string, string>) =>
    load(env, { readFile: (path) => files[path] ?? noFile(path) });

  test('is read for every secret setting, without its last line end', () => {
    const settings = loadFiles({
      ...LEAST,
      PLATFORM_MERCHANT_NO: 'M1',
      PLATFORM_TOKEN_FILE: '/run/secrets/token',
      PLATFORM_AGENT_TOKEN_FILE: '/run/secrets/agent',
      PLATFORM_HEADERS_FILE: '/run/secrets/headers',
      PLATFORM_SIGNATURE_KEY_FILE: '/run/secrets/signature',
      PLATFORM_SIGNATURE_TEMPLATE: '{method}\\n{body}\nend',
      DAYBOOK_SECRET_KEYS_FILE: '/run/secrets/keys',
      DATABASE_URL_FILE: '/run/secrets/url',
      PLATFORM_AGENT_HEADERS_FILE: '',
    });
    expect(settings).toMatchObject({
      platform: {
        merchant: { merchantNo: 'M1', token: TOKEN },
        agentToken: `agent-${TOKEN}`,
        headers: { 'X-Auth': '{token}', 'X-Sign': '{signature}' },
        signing: { key: ' a key with blanks ', template: '{method}\n{body}\nend' },
      },
      secretKeys: [{ id: 'k1' }],
      databaseUrl: 'postgres://u:p@db/books',
    });
  });

  test('wins over the settings file, and other settings have no such file', () => {
    const env = { ...LEAST, PLATFORM_MERCHANT_NO: 'M1', PLATFORM_TOKEN_FILE: 'token' };
    const source = {
      configPath: 'books.yaml',
      readFile: (path: string) => (path === 'token' ? 'from-the-file' : `platform: { token: ${TOKEN} }`),
    };
    expect(load(env, source).platform.merchant!.token).toBe('from-the-file');
    expect(refusal(() => load({ ...LEAST, PLATFORM_TIME_ZONE_FILE: 'zone' })).problems[0]!.key).toBe(
      'PLATFORM_TIME_ZONE_FILE',
    );
  });

  test.each([
    [
      { PLATFORM_TOKEN: TOKEN, PLATFORM_TOKEN_FILE: '/run/secrets/token' },
      'is given as well as PLATFORM_TOKEN',
    ],
    [{ PLATFORM_TOKEN_FILE: '/run/secrets/gone' }, 'names a file that cannot be read (ENOENT)'],
    [{ PLATFORM_TOKEN_FILE: '/run/secrets/empty' }, 'names an empty file'],
  ])('%o is refused', (env, said) => {
    const { message, problems } = refusal(() => loadFiles({ ...LEAST, PLATFORM_MERCHANT_NO: 'M1', ...env }));
    expect(message).toContain(`PLATFORM_TOKEN_FILE ${said}`);
    expect(JSON.stringify([message, problems])).not.toContain(TOKEN);
  });

  test('that is wrong is not shown; the message names its variable', () => {
    const wrong = refusal(() =>
      load({ ...LEAST, DAYBOOK_SECRET_KEYS_FILE: 'keys' }, { readFile: () => TOKEN }),
    );
    expect(wrong.problems[0]!.key).toBe('DAYBOOK_SECRET_KEYS_FILE');
    expect(wrong.message).not.toContain(TOKEN);
  });
});

describe('a settings file that others may open', () => {
  const loadMode = (mode: number, yaml: string) =>
    load(LEAST, { configPath: '/etc/my books.yaml', readFile: () => yaml, modeOf: () => 0o100000 | mode });
  const withKeys = `daybook: { secretKeys: 'k1:${KEY}' }`;

  test.each([
    [0o644, withKeys],
    [0o666, withKeys],
    [0o620, withKeys],
    [0o604, `platform: { merchantNo: M1, token: ${TOKEN} }`],
    [0o644, 'database: { url: "postgres://u:secret@db/books" }'],
    [0o644, 'database: { url: "postgres://db/books?user=u&password=secret" }'],
    [0o644, `platform: { headers: { Authorization: 'Basic ${TOKEN}' } }`],
  ])('with mode %o is refused if it holds secrets: %s', (mode, yaml) => {
    expect(refusal(() => loadMode(mode, yaml)).problems).toEqual([
      {
        key: '/etc/my books.yaml',
        problem: `holds secrets, and others may open it (mode 0${mode.toString(8)})`,
        example: "chmod g-w,o= '/etc/my books.yaml'",
      },
    ]);
  });

  test.each([
    [0o600, withKeys],
    [0o640, withKeys],
    [0o644, 'database: { url: "postgres://u@db/books" }'],
    [0o644, "platform: { headers: { Authorization: 'Bearer {token}', merchantNo: '{merchantNo}' } }"],
    [0o644, 'daybook: { secretKeys: }'],
  ])(
    'with mode %o is accepted if it holds no secrets, or if only the group may read it: %s',
    (mode, yaml) => {
      expect(loadMode(mode, yaml).platform.timeZone).toBe('Asia/Shanghai');
    },
  );
});

test('addresses of own books are no settings, whatever else has their beginning', () => {
  expect(load({ ...LEAST, DAYBOOK_BOOKS_ERP_URL: 'postgres://erp' }).platform.timeZone).toBe('Asia/Shanghai');
  const { problems } = refusal(() => load({ ...LEAST, DAYBOOK_BOOKS_TOLERANCES: '{}' }));
  expect(problems).toMatchObject([{ key: 'DAYBOOK_BOOKS_TOLERANCES' }]);
});

describe('a secret’s file that others may open', () => {
  const loadFile = (path: string, mode: number, kind = 0o100_000) =>
    load(
      { ...LEAST, DAYBOOK_SECRET_KEYS_FILE: path },
      { readFile: () => `k1:${KEY}`, modeOf: () => kind | mode },
    );

  test.each([0o644, 0o604, 0o620, 0o666])('with mode %o is refused', (mode) => {
    expect(refusal(() => loadFile('/etc/my keys', mode)).problems).toEqual([
      {
        key: 'DAYBOOK_SECRET_KEYS_FILE',
        problem: `names a secret that others may open (mode 0${mode.toString(8)})`,
        example: "chmod g-w,o= '/etc/my keys'",
      },
    ]);
  });

  test.each([
    ['/etc/keys', 0o600],
    ['/etc/keys', 0o440],
    // As Compose and Kubernetes mount them, in a container of daybook's own.
    ['/run/secrets/secret_keys', 0o444],
    ['/var/run/secrets/daybook/secret_keys', 0o644],
  ])('%s with mode %o is accepted', (path, mode) => {
    expect(loadFile(path, mode).secretKeys).toHaveLength(1);
  });

  test('is no mount of secrets because its path begins like one', () => {
    expect(() => loadFile('/run/secrets/../../etc/keys', 0o644)).toThrow(/others may open/);
    expect(() => loadFile('run/secrets/keys', 0o644)).toThrow(/others may open/);
  });

  test('a pipe is nobody else’s, whatever its mode', () => {
    expect(loadFile('/dev/fd/63', 0o666, 0o010_000).secretKeys).toHaveLength(1);
  });
});

test('certificates are checked, unless a person has explicitly allowed otherwise', () => {
  const env = { ...LEAST, NODE_TLS_REJECT_UNAUTHORIZED: '0' };
  const { problems } = refusal(() => load(env));
  expect(problems).toHaveLength(1);
  expect(problems[0]!.key).toBe('NODE_TLS_REJECT_UNAUTHORIZED');
  expect(problems[0]!.problem).toContain('DAYBOOK_ALLOW_INSECURE=certificates');
  expect(load({ ...env, DAYBOOK_ALLOW_INSECURE: 'certificates' }).allowInsecure).toEqual(['certificates']);
  expect(load({ ...LEAST, NODE_TLS_REJECT_UNAUTHORIZED: '1' }).allowInsecure).toEqual([]);
});

test('no secret is ever shown, even in the wrong place', () => {
  const secrets = `${TOKEN} with a space`;
  const refusals = [
    refusal(() => load({ ...LEAST, PLATFORM_TOKEN: secrets, PLATFORM_MERCHANT_NO: 'M1' })),
    refusal(() => load({ ...LEAST, PLATFORM_HEADERS: `Bearer ${TOKEN}` })),
    refusal(() => load({ ...LEAST, PLATFORM_HEADERS: `{"Authorization ${TOKEN}":"{x}"}` })),
    refusal(() => load({ ...LEAST, PLATFORM_BASE_URL: `https://user:${TOKEN}@platform.example` })),
    refusal(() => load({ ...LEAST, PLATFORM_BASE_URL: `http://platform.example/?key=${TOKEN}` })),
    refusal(() => load({ ...LEAST, DATABASE_URL: `mysql://u:${TOKEN}@db/books` })),
    refusal(() => load({ ...LEAST, DATABASE_URL: `u:${TOKEN}@db` })),
    refusal(() => load({ ...LEAST, STATEMENTS_URL: `s3://id:${TOKEN}@bucket` })),
    refusal(() => load({ ...LEAST, PLATFORM_AGENT_TOKEN: secrets })),
    refusal(() => load({ ...LEAST, PLATFORM_AGENT_HEADERS: `{"A":"{${TOKEN}}"}` })),
    refusal(() => load({ ...LEAST, DAYBOOK_PUBLIC_URL: `https://u:${TOKEN}@books.example` })),
    refusal(() => load({ ...LEAST, DAYBOOK_SECRET_KEYS: TOKEN })),
    refusal(() => load({ ...LEAST, DAYBOOK_SECRET_KEYS: `${TOKEN}:AAAA` })),
    refusal(() => loadYaml(`platform: { token: [${TOKEN}] }\n`, LEAST)),
    refusal(() => loadYaml(`platform:\n  token: "${TOKEN}\n`, LEAST)),
    refusal(() => loadYaml(`platform:\n  token: *${TOKEN}\n`, LEAST)),
    refusal(() => loadYaml(`platform: { baseUrl: { token: ${TOKEN} } }\n`, { PLATFORM_TIME_ZONE: 'UTC' })),
    refusal(() => loadYaml(`platform: ${TOKEN}\n`, LEAST)),
  ];
  for (const { message, problems } of refusals)
    expect(JSON.stringify([message, problems])).not.toContain(TOKEN);
});

test('a check is switched off by leaving out its name, all of them by the word none', () => {
  expect(load({ ...LEAST, DAYBOOK_CHECKS: 'none' }).checks).toEqual([]);
  expect(load({ ...LEAST, DAYBOOK_CHECKS: '["first"]' }).checks).toEqual(['first']);
  expect(() => load({ ...LEAST, DAYBOOK_CHECKS: 'none, wide' })).toThrow(
    'must be none, or a list of frontier, wide, zone, empty, first, shared',
  );
});
