/**
 * Every setting, once: its type, its default, an example, whether it is secret. The environment's names follow from
 * the keys: `platform.timeoutMs` in the file is `PLATFORM_TIMEOUT_MS` in the environment.
 */
import { z } from 'zod';
import {
  baseUrl,
  cronExpression,
  currencyUnits,
  databaseUrl,
  directory,
  headerTemplates,
  instant,
  merchantNo,
  oneOf,
  positiveNumber,
  secretKeys,
  statementsUrl,
  timeZone,
  token,
  wholeNumber,
  yesOrNo,
  type SettingNotes,
} from './values.ts';

const DAY_S = 86_400;

const notes = (example: string): SettingNotes & Record<string, unknown> => ({ example });
const secret = (example: string): SettingNotes & Record<string, unknown> => ({ example, secret: true });

const DEFAULT_HEADERS = { Authorization: 'Bearer {token}', merchantNo: '{merchantNo}' };
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

export const settingsSchema = z.strictObject({
  platform: z.strictObject({
    baseUrl: baseUrl().optional().meta(notes('https://platform.example')),
    timeZone: timeZone().optional().meta(notes('Asia/Shanghai')),
    headers: headerTemplates()
      .default(DEFAULT_HEADERS)
      .meta(secret(JSON.stringify(DEFAULT_HEADERS))),
    merchantNo: merchantNo().optional().meta(notes('M0001')),
    token: token().optional().meta(secret('the token sp3101 delivered')),
    concurrency: wholeNumber(1, 64).default(8).meta(notes('8')),
    rateLimit: positiveNumber(10_000).optional().meta(notes('20')),
    timeoutMs: wholeNumber(1, 600_000).default(30_000).meta(notes('30000')),
    retriesMax: wholeNumber(0, 20).default(5).meta(notes('5')),
  }),
  daybook: z.strictObject({
    settleDelayS: wholeNumber(0, DAY_S).default(300).meta(notes('300')),
    resweepDays: wholeNumber(0, 366).default(7).meta(notes('7')),
    clockToleranceS: wholeNumber(0, 3_600).default(2).meta(notes('2')),
    now: instant().optional().meta(notes('2026-04-01T02:00:00Z')),
    dataDir: directory().default('.daybook').meta(notes('.daybook')),
    secretKeys: secretKeys().default([]).meta(secret("k1: and the output of 'openssl rand -base64 32'")),
    currencies: currencyUnits().default({}).meta(notes('{"CNH":2}')),
    scheduleNightly: cronExpression().default('30 1 * * *').meta(notes('30 1 * * *')),
    scheduleResweep: cronExpression().default('30 13 * * *').meta(notes('30 13 * * *')),
    scheduleZone: timeZone().optional().meta(notes('Asia/Shanghai')),
    logLevel: oneOf(LOG_LEVELS).default('info').meta(notes('info')),
  }),
  database: z.strictObject({
    url: databaseUrl().optional().meta(secret('postgres://daybook@db.example/daybook')),
  }),
  statements: z.strictObject({
    url: statementsUrl().optional().meta(notes('s3://bucket/statements')),
  }),
  s3: z.strictObject({
    forcePathStyle: yesOrNo().optional().meta(notes('true')),
  }),
});

export type SettingsDocument = z.output<typeof settingsSchema>;

/** One setting's place in the file, its name in the environment, and what may be said about it. */
export interface SettingPlace {
  readonly section: string;
  readonly key: string;
  readonly environmentName: string;
  readonly example: string;
  readonly secret: boolean;
}

const environmentName = (section: string, key: string): string =>
  `${section}_${key.replace(/[A-Z]/g, (letter) => `_${letter}`)}`.toUpperCase();

/** Every setting there is, in the schema's order. */
export const SETTING_PLACES: readonly SettingPlace[] = Object.entries(settingsSchema.shape).flatMap(
  ([section, { shape }]) =>
    Object.entries<z.ZodType>(shape).map(([key, schema]) => {
      const { example, secret: isSecret } = schema.meta() as unknown as SettingNotes;
      return {
        section,
        key,
        environmentName: environmentName(section, key),
        example,
        secret: isSecret === true,
      };
    }),
);

export const SECTIONS: readonly string[] = Object.keys(settingsSchema.shape);
