/** Settings of calls to the platform. */
import { z } from 'zod';
import { isMerchantNo, MERCHANT_NO_RULE, TOKEN, TOKEN_RULE } from '../ledger/merchant-no.ts';
import { areSigned, SIGNED_PLACEHOLDERS, TRY_PLACEHOLDERS } from '../ledger/placeholders.ts';
import { SUCCESS_CODES } from '../ledger/success-codes.ts';
import { read, setting, type Given, type Read, type Rules } from '../settings/setting.ts';
import { addressOf } from '../settings/values/addresses.ts';
import { codes } from '../settings/values/lists.ts';
import {
  integer,
  jsonText,
  oneOf,
  pattern,
  positiveNumber,
  reading,
  text,
  timeZone,
  Wrong,
} from '../settings/values/scalars.ts';

const DEFAULT_HEADERS = { Authorization: 'Bearer {token}', merchantNo: '{merchantNo}' };
const AGENT_HEADERS_EXAMPLE = { Authorization: 'Bearer {agentToken}' };
/** A path with a slash, absolute or not. No bare file name, no drive, no URL (docs/platform.md 4.3). */
const FILE_PATHS = '(?![A-Za-z][A-Za-z0-9+.-]*:|~|www\\.|\\.{1,2}/)(?:/|[^/\\\\]+/)(?:[^/\\\\]+/)*[^/\\\\]+';

/** The address of the platform. */
const baseUrl = () => reading((value) => addressOf(value, '; credentials go into PLATFORM_HEADERS'));

const merchantNo = () => text().refine(isMerchantNo, { error: MERCHANT_NO_RULE });

const token = () => text().regex(TOKEN, { error: TOKEN_RULE });

/** Signs requests to the platform: its bytes are those of the text. */
const signatureKey = () => text().regex(/^[^\p{C}]{1,4096}$/u, { error: 'must be one line of text' });

/** The agent's number that sp1101 sends (docs/platform.md 2.3, 5). */
const referralChannel = () =>
  text().regex(/^[\x21-\x7e]{1,16}$/, {
    error: 'must be 1 to 16 printable ASCII characters without spaces',
  });

/** Headers that the HTTP client sets itself. */
const CLIENT_HEADERS = [
  ...['connection', 'content-length', 'content-type', 'host', 'transfer-encoding', 'upgrade'],
];

/** The first problem of the header templates. It does not repeat their contents. */
function headersProblem(
  headers: Readonly<Record<string, string>>,
  placeholders: readonly string[],
): string | null {
  for (const [index, [name, template]] of Object.entries(headers).entries()) {
    const which = `header ${index + 1}`;
    if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/.test(name)) return `has no valid name in ${which}`;
    if (CLIENT_HEADERS.includes(name.toLowerCase())) return `sets ${name}, which the client sets itself`;
    if (!/^[\x20-\x7e]*$/.test(template)) return `has more than printable ASCII in the value of ${which}`;
    const problem = bracesProblem(template, placeholders, ` in ${which}`);
    if (problem !== null) return problem;
  }
  return null;
}

function bracesProblem(template: string, placeholders: readonly string[], where = ''): string | null {
  const isKnown = [...template.matchAll(/\{([^{}]*)\}/g)].every(([, name = '']) =>
    placeholders.includes(name),
  );
  const known = placeholders.map((name) => `{${name}}`).join(', ');
  return isKnown ? null : `has something in braces${where} that is none of ${known}`;
}

const SIGNED_CHARACTERS_MAX = 4_096;

/** The template of the text that is signed; `\n` in it is a line break. */
const signedTemplate = (...own: readonly string[]) =>
  reading((value) => {
    if (value.length > SIGNED_CHARACTERS_MAX)
      throw new Wrong(`has more than ${SIGNED_CHARACTERS_MAX} characters`);
    const problem = bracesProblem(value, [...own, ...SIGNED_PLACEHOLDERS]);
    if (problem !== null) throw new Wrong(problem);
    return value.replaceAll('\\n', '\n');
  });

/** Texts by header's name, with the given names in braces, or those of one try of a call. */
const headerTemplates = (...own: readonly string[]) => {
  const placeholders = [...own, ...TRY_PLACEHOLDERS];
  const error = 'must be a mapping of header names to texts (in the environment: JSON)';
  return z.preprocess(
    jsonText,
    z.record(z.string(), z.string({ error }), { error }).superRefine((headers, context) => {
      const problem = headersProblem(headers, placeholders);
      if (problem !== null) context.addIssue({ code: 'custom', message: problem });
    }),
  );
};

export const PLATFORM = {
  PLATFORM_BASE_URL: setting(baseUrl().optional(), 'https, or http on loopback. Required.', {
    example: 'https://platform.example',
  }),
  PLATFORM_TIME_ZONE: setting(
    timeZone().optional(),
    "IANA zone of the platform's timestamps, and of business days. Required. It is proven before the first row is written.",
    { example: 'Asia/Shanghai' },
  ),
  PLATFORM_TIME_ZONE_PROOF: setting(
    oneOf(['required', 'trusted']).default('required'),
    "required: nothing is written before one entry was found at the time this zone gives it, and nowhere else. trusted: you vouch for the zone, because the platform's filters allow no proof. Reports, status and manifests then say so.",
    { example: 'required' },
  ),
  PLATFORM_HEADERS: setting(
    headerTemplates('token', 'merchantNo').default(DEFAULT_HEADERS),
    "Header templates, as the platform's document names no header. {token} and {merchantNo} are filled in for each call. Each try of a call has its own {timestamp} (Unix ms), {timestampS} (seconds), {nonce}, {bodySha256} (of the bytes sent, hexadecimal), {signature} (hexadecimal) and {signatureBase64}. In the environment this is JSON.",
    { example: JSON.stringify(DEFAULT_HEADERS), secret: true },
  ),
  PLATFORM_MERCHANT_NO: setting(
    merchantNo().optional(),
    "The only merchant in a simple setup; give it together with its token, or neither. Add more with 'daybook merchants add'. Put numbers in quotes, or YAML drops their leading zeros.",
    { example: 'M0001' },
  ),
  PLATFORM_TOKEN: setting(token().optional(), 'The token of that merchant.', {
    example: 'the token sp3101 delivered',
    secret: true,
  }),
  PLATFORM_CONCURRENCY: setting(
    integer(1, 64).default(8),
    'Most calls at the same time, over all merchants. Each process has its own.',
    { example: '8' },
  ),
  PLATFORM_RATE_LIMIT: setting(
    positiveNumber(10_000).optional(),
    'Most calls per second, over all merchants and all processes on one PostgreSQL. Without it: no limit.',
    { example: '20' },
  ),
  PLATFORM_TIMEOUT_MS: setting(
    integer(1, 600_000).default(30_000),
    'Time limit of one call, from sending to the last byte of the reply.',
    { example: '30000' },
  ),
  PLATFORM_RETRIES_MAX: setting(
    integer(0, 20).default(5),
    'How often a call is repeated after a temporary failure.',
    { example: '5' },
  ),
  PLATFORM_SUCCESS_CODES: setting(
    codes().default(SUCCESS_CODES),
    'Values of a code, status or flag in a reply that mean success. A reply with any other is a refusal, whatever else it holds. Case does not matter. In the environment: words separated by commas.',
    { example: 'S00000,S00001,0' },
  ),
  PLATFORM_AGENT_HEADERS: setting(
    headerTemplates('agentToken', 'referralChannel').default({}),
    "Header templates of calls that belong to no merchant (reference data, applications), as the document does not show how an agent authenticates. {agentToken} and {referralChannel} are filled in, and what each try has in 'headers'. In the environment this is JSON.",
    { example: JSON.stringify(AGENT_HEADERS_EXAMPLE), secret: true },
  ),
  PLATFORM_AGENT_TOKEN: setting(token().optional(), 'The token of the agent, for agentHeaders.', {
    example: 'the token the platform gave the agent',
    secret: true,
  }),
  PLATFORM_REFERRAL_CHANNEL: setting(
    referralChannel().optional(),
    "The agent's number. It is sent with an application that names none.",
    { example: 'A0001' },
  ),
  PLATFORM_SIGNATURE_TEMPLATE: setting(
    signedTemplate('token', 'merchantNo', 'agentToken', 'referralChannel').optional(),
    'What {signature} in a header signs, by HMAC-SHA256: a text with {method}, {path}, {timestamp}, {timestampS}, {nonce}, {body}, {bodySha256}, {token}, {merchantNo}, {agentToken}, {referralChannel}; \\n is a line break. What a call does not have is empty in it.',
    { example: '{method}\\n{path}\\n{timestamp}\\n{nonce}\\n{bodySha256}', secret: true },
  ),
  PLATFORM_SIGNATURE_KEY: setting(
    signatureKey().optional(),
    'The key of that, as text: its UTF-8 bytes sign.',
    { example: 'the key the platform gave for signatures', secret: true },
  ),
  PLATFORM_FILE_PATHS: setting(
    pattern().default(`^(?:${FILE_PATHS})$`),
    "Regular expression that a path from the platform's file upload must match in full.",
    { example: '/upload/.+' },
  ),
};

type PlatformRead = Read<typeof PLATFORM>;

/** The only merchant in a simple setup. Further ones are in the database. */
export interface SettingsMerchant {
  readonly merchantNo: string;
  readonly token: string;
}

type OfPlatform =
  | 'baseUrl'
  | 'timeZone'
  | 'agentToken'
  | 'referralChannel'
  | 'merchantNo'
  | 'token'
  | 'rateLimit'
  | 'signatureTemplate'
  | 'signatureKey';

export interface PlatformSection extends Omit<PlatformRead, OfPlatform> {
  readonly baseUrl: string;
  readonly timeZone: string;
  readonly merchant: SettingsMerchant | null;
  readonly rateLimitPerS: number | null;
  readonly agentToken: string | null;
  /** The agent's own number. sp1101 sends it if the application names none (docs/platform.md 5). */
  readonly referralChannel: string | null;
  /** How requests are signed. Null where no header has a signature. */
  readonly signing: { readonly template: string; readonly key: string } | null;
}

export function platformOf(section: PlatformRead): PlatformSection | null {
  const { baseUrl, timeZone, merchantNo, token, rateLimit, agentToken, referralChannel, ...others } = section;
  const { signatureTemplate: template, signatureKey: key, ...rest } = others;
  if (baseUrl === undefined || timeZone === undefined) return null;
  return {
    ...rest,
    ...{ baseUrl, timeZone },
    merchant: merchantNo === undefined || token === undefined ? null : { merchantNo, token },
    rateLimitPerS: rateLimit ?? null,
    agentToken: agentToken ?? null,
    referralChannel: referralChannel ?? null,
    signing: template === undefined || key === undefined ? null : { template, key },
  };
}

/** A required setting is missing, or only one half of a pair is given. `lacks` knows what was given, even if it is wrong. */
export function requiredRules(lacks: (name: keyof typeof PLATFORM) => boolean, isNeeded: boolean): Rules {
  const [lacksNo, lacksToken] = [lacks('PLATFORM_MERCHANT_NO'), lacks('PLATFORM_TOKEN')];
  return {
    'PLATFORM_BASE_URL is required': isNeeded && lacks('PLATFORM_BASE_URL'),
    'PLATFORM_TIME_ZONE is required: the zone of the platform’s timestamps':
      isNeeded && lacks('PLATFORM_TIME_ZONE'),
    'PLATFORM_MERCHANT_NO is required where PLATFORM_TOKEN is given': lacksNo && !lacksToken,
    'PLATFORM_TOKEN is required where PLATFORM_MERCHANT_NO is given': lacksToken && !lacksNo,
  };
}

/** Agent headers with a placeholder whose setting is not given. A signature without what makes it, and a key that would sign nothing. */
export function callRules(given: Given): Rules {
  const { headers, agentHeaders, ...platform } = read(PLATFORM, given);
  const { agentToken, referralChannel, signatureKey, signatureTemplate } = platform;
  const has = (placeholder: string): boolean =>
    Object.values(agentHeaders).some((template) => template.includes(placeholder));
  const isSigned = areSigned(headers) || areSigned(agentHeaders);
  const where = 'PLATFORM_HEADERS or PLATFORM_AGENT_HEADERS';
  const unused = `is given, and no header of ${where} has {signature}: nothing would be signed`;
  return {
    'PLATFORM_AGENT_TOKEN is required where PLATFORM_AGENT_HEADERS has {agentToken}':
      has('{agentToken}') && agentToken === undefined,
    'PLATFORM_REFERRAL_CHANNEL is required where PLATFORM_AGENT_HEADERS has {referralChannel}':
      has('{referralChannel}') && referralChannel === undefined,
    [`PLATFORM_SIGNATURE_KEY is required where ${where} has {signature}`]:
      isSigned && signatureKey === undefined,
    [`PLATFORM_SIGNATURE_TEMPLATE is required where ${where} has {signature}: what is signed`]:
      isSigned && signatureTemplate === undefined,
    [`PLATFORM_SIGNATURE_KEY ${unused}`]: !isSigned && signatureKey !== undefined,
    [`PLATFORM_SIGNATURE_TEMPLATE ${unused}`]: !isSigned && signatureTemplate !== undefined,
  };
}
