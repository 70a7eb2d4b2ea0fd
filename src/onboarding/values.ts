/**
 * The kinds of value an application has: countries, dates, codes, addresses, phones
 * (docs/platform.md 2.3, 2.4).
 */
import { parseDay } from '../ledger/business-day.ts';
import { isCountryCode } from '../ledger/countries.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { choice, listOf, matching, text, type Reader } from './field-rules.ts';

const URL_CHARACTERS_MAX = 255;
const CODE_CHARACTERS_MAX = 64;
const COUNTRY_CHARACTERS_MAX = 60;
const DATE_CHARACTERS_MAX = 10;

/** `0` no, `1` yes. */
export const yesOrNo = choice({ '0': 'no', '1': 'yes' });

/** Longer names are told to be no code rather than too long. */
export const country = text({
  max: COUNTRY_CHARACTERS_MAX,
  wrong: (code) =>
    isCountryCode(code) ? null : 'is no ISO 3166-1 country code of two capital letters, like HK',
});

export const countries = listOf(country);

const EMAIL = /^[^\s@<>()[\],;:"\\]+@[^\s@.]+(?:\.[^\s@.]+)+$/;
export const email = (max: number): Reader =>
  matching(max, EMAIL, 'is no e-mail address, like name@company.example');

export const phoneAreaCode = matching(
  10,
  /^(?=(?:\D*\d){1,9}\D*$)[+(\d][\d()+ -]*$/,
  'is no international dialling code, like +852 or 1-684',
);
export const phoneNum = matching(
  32,
  /^[\d(][\d ().-]*$/,
  'is no phone number without its area code: digits, and blanks, dots, dashes or parentheses between them',
);

/** Latin letters, digits, signs: whatever is on a certificate in English. */
export const englishName = (max: number): Reader =>
  text({
    max,
    wrong: (name) =>
      /\p{Script=Latin}/u.test(name) && !/[^\P{L}\p{Script=Latin}]/u.test(name)
        ? null
        : 'is no English name: it takes letters of the Latin alphabet',
  });

const isWebAddress = (value: string): boolean =>
  /^https?:\/\//i.test(value) && URL.canParse(value) && new URL(value).hostname.includes('.');
export const webAddress = text({
  max: URL_CHARACTERS_MAX,
  wrong: (value) => (isWebAddress(value) ? null : 'is no URL, like https://www.company.example'),
});

/**
 * An app's address has a scheme of its own: market://details?id=..., itms-apps://... (docs/platform.md 2.3).
 */
const isAppAddress = (value: string): boolean =>
  /^[a-z][a-z\d+.-]*:\/\/[^\s/]/i.test(value) && !/^(?:https?|ftp|file):/i.test(value) && URL.canParse(value);
export const webOrAppAddress = text({
  max: URL_CHARACTERS_MAX,
  wrong: (value) =>
    isWebAddress(value) || isAppAddress(value)
      ? null
      : 'is no URL, like https://www.company.example or market://details?id=com.company.app',
});

/**
 * Whether a resubmission tells the version: only one of V2 or later is supplied (docs/platform.md 2.3, 9).
 * One without a number may be.
 */
export const isSuppliedVersion = (version: string): boolean => Number(/\d+/.exec(version)?.[0] ?? 2) >= 2;
export const processVersion = text({
  max: 10,
  wrong: (version) => (isSuppliedVersion(version) ? null : 'is supplied from V2 on only; leave it out'),
});

const isDate = (value: string): boolean => {
  try {
    parseDay(value);
    return true;
  } catch {
    return false;
  }
};

/** A day of the calendar, `yyyy-MM-dd`; `9999-12-31` where there is no end (docs/platform.md 2.4). */
export const date = text({
  max: DATE_CHARACTERS_MAX,
  wrong: (value) => (isDate(value) ? null : 'is no date of the form yyyy-MM-dd'),
});

export const pastDate = (today: BusinessDay): Reader =>
  text({
    max: DATE_CHARACTERS_MAX,
    wrong: (value) => {
      if (!isDate(value)) return 'is no date of the form yyyy-MM-dd';
      return value <= today ? null : 'lies in the future';
    },
  });

/** What is wrong with a code of an appendix the document does not show: by the settings' list, or by its looks. */
function wrongCode(code: string, list: readonly string[] | null, field: string): string | null {
  if (list !== null) return list.includes(code) ? null : `is not among ${field} in PLATFORM_CODE_LISTS`;
  return /^[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*$/.test(code)
    ? null
    : 'is no code: letters and digits, with dots, dashes or underscores between them';
}

/** `list` null: whatever looks like a code. */
export const codes = (list: readonly string[] | null, field: string): Reader =>
  listOf(text({ max: CODE_CHARACTERS_MAX, wrong: (code) => wrongCode(code, list, field) }));

/**
 * Codes of business natures. `OTHER` is the catalog's prompt to enter a name (docs/platform.md 2.2); whether
 * the appendix has it as well is not shown, so the settings' list decides, and without one it is told.
 */
export const natureCodes = (list: readonly string[] | null): Reader =>
  listOf(
    text({
      max: CODE_CHARACTERS_MAX,
      wrong: (code) => wrongCode(code, list, 'natures'),
      odd: (code) =>
        code === 'OTHER' && list === null
          ? 'is the catalog’s prompt to enter a nature; the platform may ask which one is meant'
          : null,
    }),
  );
