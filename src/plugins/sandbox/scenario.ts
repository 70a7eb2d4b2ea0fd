/** The scenario file: the merchants and days of the sandbox, and what is planted to go wrong. */
import { CURRENCY_CODE } from '../../ledger/money.ts';
import { messageOf } from '../../ledger/text.ts';
import { EXIT, ExpectedError } from '../../ledger/ending.ts';
import { isDay, isTimeZone } from '../../ledger/business-day.ts';
import { zoneProblem } from '../../ledger/zone-names.ts';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { HOSTILITY_OFF, hostilitySchema } from './behaviour.ts';
import { LATITUDE_DEFAULTS, latitudeSchema } from './latitude.ts';
import { PUSH_DEFAULTS, pushSchema } from './pushes.ts';
import { REFERENCE_DEFAULTS, referenceSchema } from './reference-data.ts';
import { signatureSchema } from './signatures.ts';
import { REVIEW_DEFAULTS, reviewSchema } from './reviews.ts';

const day = z
  .string()
  .refine(isDay, { error: 'must be a day of the calendar, like 2026-03-01', abort: true });

/** An entry by its place: the n-th of an account day, from 0. */
const place = { merchant: z.string(), currency: z.string(), day, nth: z.int().min(0) };

const plantedSchema = z.discriminatedUnion('what', [
  /** Never shown; the balance after it is as if it were. */
  z.strictObject({ what: z.literal('missing'), ...place }),
  /** Shown from `appears` on. */
  z.strictObject({ what: z.literal('late'), ...place, appears: z.iso.datetime({ offset: true }) }),
  /** Shown until `at`, then never again. */
  z.strictObject({ what: z.literal('vanished'), ...place, at: z.iso.datetime({ offset: true }) }),
  /** Shown with another transaction type from `at` on. */
  z.strictObject({
    what: z.literal('amended'),
    ...place,
    at: z.iso.datetime({ offset: true }),
    busiType: z.string(),
  }),
  /** Shown as a credit and a debit at once, which no client can book. */
  z.strictObject({ what: z.literal('malformed'), ...place }),
  /** So many more entries after the n-th, in the same second. */
  z.strictObject({ what: z.literal('burst'), ...place, count: z.int().min(1).max(100_000) }),
  /** The n-th entry has exactly this net amount, written exactly so (`1E+3`, `-0.1`). */
  z.strictObject({ what: z.literal('amount'), ...place, net: z.string() }),
]);
export type Planted = z.output<typeof plantedSchema>;

/** Currencies whose minor units are not two decimals. */
const MINOR_UNITS: Readonly<Record<string, number>> = { JPY: 0, KRW: 0, KWD: 3, BHD: 3 };
export const minorUnitsOf = (currency: string): number => MINOR_UNITS[currency] ?? 2;

function amountProblem(net: string, currency: string): string | null {
  const parts = /^-?\d+(?:\.(\d+))?(?:E([+-]?\d{1,2}))?$/i.exec(net);
  if (parts === null) return `${net} is not a number as JSON writes it`;
  const [, fraction = '', exponent = '0'] = parts;
  const has = minorUnitsOf(currency);
  if (fraction.length - Number(exponent) <= has) return null;
  return `${net} has more decimals than ${currency}, which has ${has}`;
}

/** The ledgers are kept in memory, and made before the first call. */
const DAYS_MAX = 4_000;
const ENTRIES_MAX = 10_000_000;

const scenarioFields = z.strictObject({
  seed: z.int().min(0).default(1),
  /** Zone of busiDate. */
  timeZone: z
    .string()
    .refine(isTimeZone, { error: ({ input }) => zoneProblem(String(input)) })
    .default('Asia/Shanghai'),
  from: day,
  to: day,
  entriesPerDay: z.int().min(0).max(2_000_000).default(40),
  /** The sandbox's own clock, by which late entries appear. Left out: the clock of the machine. */
  now: z.iso.datetime({ offset: true }).optional(),
  merchants: z
    .array(
      z.strictObject({
        merchantNo: z.string().min(1).max(32),
        token: z.string().min(1).max(32),
        currencies: z.array(z.string().regex(CURRENCY_CODE)).min(1),
      }),
    )
    .min(1),
  planted: z
    .array(
      plantedSchema.superRefine((one, context) => {
        const problem = one.what === 'amount' ? amountProblem(one.net, one.currency) : null;
        if (problem !== null) context.addIssue({ code: 'custom', path: ['net'], message: problem });
      }),
    )
    .default([]),
  /** The agent. If it has a token, sp1101 and sp2502 demand it as bearer. */
  agent: z
    .strictObject({
      referralChannel: z.string().min(1).max(16).default('A0001'),
      token: z.string().min(1).nullable().default(null),
    })
    .default({ referralChannel: 'A0001', token: null }),
  /** How each request has to be signed. Null: not at all. */
  signatures: signatureSchema.nullable().default(null),
  /** The two methods that need no bankCode (docs/platform.md 2.5, rule 1). */
  walletMethods: z.array(z.string().min(1)).default(['SBX_WALLET_1', 'SBX_WALLET_2']),
  reference: referenceSchema.default(REFERENCE_DEFAULTS),
  reviews: reviewSchema.default(REVIEW_DEFAULTS),
  pushes: pushSchema.default(PUSH_DEFAULTS),
  latitude: latitudeSchema.default(LATITUDE_DEFAULTS),
  hostility: hostilitySchema.default(HOSTILITY_OFF),
});

/** What fields ask of each other. */
export const scenarioSchema = scenarioFields.superRefine(({ from, to, entriesPerDay, ...rest }, context) => {
  const problem = (message: string, ...path: (string | number)[]) =>
    context.addIssue({ code: 'custom', path, message });
  const { merchants, planted } = rest;
  if (from > to) problem(`is before from, which is ${from}`, 'to');
  const days = (Date.parse(to) - Date.parse(from)) / 86_400_000 + 1;
  if (days > DAYS_MAX) problem(`makes a ledger of more than ${DAYS_MAX} days; choose a shorter one`, 'to');
  const accounts = merchants.reduce((sum, { currencies }) => sum + currencies.length, 0);
  const bursts = planted.reduce((sum, one) => sum + (one.what === 'burst' ? one.count : 0), 0);
  const entries = accounts * days * entriesPerDay + bursts;
  if (entries > ENTRIES_MAX)
    problem(
      `makes ${entries} entries on all days and accounts; at most ${ENTRIES_MAX} are possible`,
      'entriesPerDay',
    );
  for (const [at, { merchantNo, currencies }] of merchants.entries()) {
    if (merchants.findIndex((one) => one.merchantNo === merchantNo) < at)
      problem(`${merchantNo} is there twice`, 'merchants', at, 'merchantNo');
    if (new Set(currencies).size < currencies.length)
      problem('has a currency twice', 'merchants', at, 'currencies');
  }
});
export type Scenario = z.output<typeof scenarioSchema>;
export type ScenarioInput = z.input<typeof scenarioSchema>;

/** The scenario file cannot be used; the message names each place and problem. */
export class ScenarioInvalid extends ExpectedError {
  override readonly name = 'ScenarioInvalid';
  readonly exitCode = EXIT.usage;
}

/** Reads a scenario from YAML. Throws `ScenarioInvalid`. */
export function parseScenario(text: string, path: string): Scenario {
  let raw: unknown;
  try {
    raw = parse(text, { logLevel: 'error' });
  } catch (error) {
    throw new ScenarioInvalid(`${path} is no YAML: ${messageOf(error)}`);
  }
  const parsed = scenarioSchema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(
    (issue) => `  ${issue.path.join('.') || 'the scenario'}: ${issue.message}`,
  );
  throw new ScenarioInvalid(`${path} cannot be used:\n${problems.join('\n')}`);
}

/** Reads a scenario file. Throws `ScenarioInvalid`. */
export function readScenario(path: string): Scenario {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    throw new ScenarioInvalid(`${path} cannot be read; give the scenario's file with --scenario.`);
  }
  return parseScenario(text, path);
}
