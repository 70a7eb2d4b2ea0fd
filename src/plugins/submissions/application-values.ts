/**
 * The kinds of value an application has: countries, dates, codes, addresses, phones
 * (docs/platform.md 2.3, 2.4).
 */
import { isDay } from '../../ledger/business-day.ts';
import { isCountryCode } from '../../ledger/countries.ts';
import type { BusinessDay } from '../../ledger/entry.ts';
import { NATURE_PROMPT_CODE } from '../../platform/wire.ts';
import {
  listOf,
  charactersIn,
  hasLatinLettersOnly,
  LIES_AHEAD,
  matching,
  oneOf,
  textsOf,
  type TextProblem,
} from '../../forms/text.ts';

const URL_CHARACTERS_MAX = 255;
const CODE_CHARACTERS_MAX = 64;
/** A limit of our own. */
const NATURE_CHARACTERS_MAX = 255;
const COUNTRY_CHARACTERS_MAX = 60;
const DATE_CHARACTERS_MAX = 10;

const formText = textsOf((value) =>
  typeof value === 'number' || typeof value === 'boolean' ? 'must be text; put it in quotes' : 'must be text',
);

/** A text of one line and at most `max` characters. `wrong` checks it further. */
export const text = (max: number, wrong: TextProblem = () => null) =>
  formText((value) => {
    const length = charactersIn(value);
    return length > max ? `has ${length} characters; the platform takes at most ${max}` : wrong(value);
  });

/** One of the codes of the document. `meanings` has a few words for each. */
export function choice(meanings: Readonly<Record<string, string>>) {
  const codes = Object.entries(meanings).map(([code, meaning]) => `${code} (${meaning})`);
  return oneOf(Object.keys(meanings), `one of ${codes.join(', ')}, in quotes`);
}

/** `0` no, `1` yes. */
export const yesOrNo = choice({ '0': 'no', '1': 'yes' });

/** The limit is far above two letters, so that a country's name is reported as no code, not as too long. */
export const country = text(COUNTRY_CHARACTERS_MAX, (code) =>
  isCountryCode(code) ? null : 'is no ISO 3166-1 country code of two capital letters, like HK',
);

export const countries = listOf({ element: () => country });

const EMAIL = /^[^\s@<>()[\],;:"\\]+@[^\s@.]+(?:\.[^\s@.]+)+$/;
export const email = text(255, matching(EMAIL, 'is no e-mail address, like name@company.example'));

export const phoneAreaCode = text(
  10,
  matching(
    /^(?=(?:\D*\d){1,9}\D*$)[+(\d][\d()+ -]*$/,
    'is no international dialling code, like +852 or 1-684',
  ),
);
export const phoneNum = text(
  32,
  matching(
    /^[\d(][\d ().-]*$/,
    'is no phone number without its area code: digits, and blanks, dots, dashes or parentheses between them',
  ),
);

/** Latin letters, digits and signs, as on a certificate in English. */
export const englishName = text(255, (name) =>
  /\p{Script=Latin}/u.test(name) && hasLatinLettersOnly(name)
    ? null
    : 'is no English name: it takes letters of the Latin alphabet',
);

/** An address as people write it, with or without a scheme. */
const isWebAddress = (value: string): boolean =>
  /^https?:\/\//i.test(value)
    ? URL.canParse(value) && new URL(value).hostname.includes('.')
    : isBareAddress(value);

/** An address without a scheme: a host with a domain that has letters, and a path. */
export const isBareAddress = (value: string): boolean =>
  /^[^\s:/?#@\\]+(?::\d+)?(?:[/?#]\S*)?$/.test(value) &&
  URL.canParse(`https://${value}`) &&
  /\.[a-z][a-z0-9-]+$/i.test(new URL(`https://${value}`).hostname);
export const webAddress = text(URL_CHARACTERS_MAX, (value) =>
  isWebAddress(value) ? null : 'is no URL, like https://www.company.example',
);

/** An app's address has a scheme of its own: market://details?id=..., itms-apps://... (docs/platform.md 2.3). */
const isAppAddress = (value: string): boolean =>
  /^[a-z][a-z\d+.-]*:\/\/[^\s/]/i.test(value) && !/^(?:https?|ftp|file):/i.test(value) && URL.canParse(value);
export const webOrAppAddress = text(URL_CHARACTERS_MAX, (value) =>
  isWebAddress(value) || isAppAddress(value)
    ? null
    : 'is no URL, like https://www.company.example or market://details?id=com.company.app',
);

/**
 * A process version is sent from V2 on only (docs/platform.md 2.3, 9). One without a number in it may be sent.
 */
export const isSuppliedVersion = (version: string): boolean => Number(/\d+/.exec(version)?.[0] ?? 2) >= 2;
export const processVersion = text(10, (version) =>
  isSuppliedVersion(version) ? null : 'is supplied from V2 on only; leave it out',
);

const NO_DATE = 'is no date of the form yyyy-MM-dd';

/** A day of the calendar, `yyyy-MM-dd`; `9999-12-31` where there is no end (docs/platform.md 2.4). */
export const date = text(DATE_CHARACTERS_MAX, (value) => (isDay(value) ? null : NO_DATE));

export const pastDate = (today: BusinessDay) =>
  text(DATE_CHARACTERS_MAX, (value) => {
    if (!isDay(value)) return NO_DATE;
    return value <= today ? null : LIES_AHEAD;
  });

/** Checks a code of the appendix that the document does not show: by the list in the settings, or else by its form. */
function wrongCode(code: string, list: readonly string[] | null, field: string): string | null {
  if (list !== null) return list.includes(code) ? null : `is not among ${field} in PLATFORM_CODE_LISTS`;
  return /^[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*$/.test(code)
    ? null
    : 'is no code: letters and digits, with dots, dashes or underscores between them';
}

/** A list of codes. Without `list`, everything of the form of a code is taken. */
export function codes(list: readonly string[] | null, field: string) {
  const code = text(CODE_CHARACTERS_MAX, (value) => wrongCode(value, list, field));
  return listOf({ element: () => code });
}

/** Whether a text among natures is none of their codes. */
export const isOwnNature = (nature: string, list: readonly string[] | null): boolean =>
  wrongCode(nature, list, 'natures') !== null;

/** Codes of natures. Next to `OTHER`, which asks for the name of a nature, any text may be one (docs/platform.md 2.2). */
export function natures(list: readonly string[] | null, given: readonly unknown[]) {
  const takesNames = given.includes(NATURE_PROMPT_CODE) && !isOwnNature(NATURE_PROMPT_CODE, list);
  if (takesNames) return listOf({ element: () => text(NATURE_CHARACTERS_MAX) });
  const hint = list === null ? `; give ${NATURE_PROMPT_CODE} as well to name a nature of its own` : '';
  const code = text(CODE_CHARACTERS_MAX, (value) => {
    const wrong = wrongCode(value, list, 'natures');
    return wrong === null ? null : `${wrong}${hint}`;
  });
  return listOf({ element: () => code });
}
