/** Checks the list of people who get statements by mail. Messages name the entry of the list, and never the address. */
import { z } from 'zod';
import { addedFormats, addedMonthFormats } from '../../statements/formats/registered.ts';
import type { Chosen } from '../../ledger/account-filter.ts';
import { isDay } from '../../ledger/business-day.ts';
import type { BusinessDay } from '../../ledger/entry.ts';
import { isMerchantNo } from '../../ledger/merchant-no.ts';
import { CURRENCY_CODE } from '../../ledger/money.ts';
import { jsonText } from '../../settings/values/scalars.ts';
import { mailAddress } from '../alerts/settings.ts';

/** Who gets which statements by mail. */
export interface MailedStatements {
  /** Who it is, as the record names the person. */
  readonly name: string;
  readonly to: string;
  readonly every: 'day' | 'month';
  /** The first day that is mailed, or begins a month that is. */
  readonly from: BusinessDay;
  readonly merchants: Chosen;
  readonly currencies: Chosen;
  readonly as: 'file' | 'link';
  readonly formats: readonly string[];
}

const ENTRIES_MAX = 1_000;
const CHOSEN_MAX = 10_000;
const FORMATS_MAX = 5;
const CSV = 'csv';

/** Formats of a day's file, and those of an account's month. */
export const MAILED_FORMATS: Readonly<Record<MailedStatements['every'], readonly string[]>> = {
  day: [CSV, ...addedFormats.all().map(({ name }) => name)],
  month: [
    CSV,
    ...addedFormats.all().flatMap(({ name, holdsMonth, month }) => (holdsMonth || month ? [name] : [])),
    ...addedMonthFormats.all().map(({ name }) => name),
  ],
};

const chosen = (isOne: (text: string) => boolean, error: string) =>
  z
    .custom<'all' | readonly string[]>(
      (given) =>
        given === 'all' ||
        (Array.isArray(given) &&
          given.length > 0 &&
          given.length <= CHOSEN_MAX &&
          given.every((one) => typeof one === 'string' && isOne(one))),
      { error },
    )
    .default('all')
    .transform((given): Chosen => (given === 'all' ? null : given));

const entry = z
  .strictObject({
    name: z.string({ error: 'must be text' }).regex(/^[^\p{C}\s](?:[^\p{C}]{0,98}[^\p{C}\s])?$/u, {
      error: 'must have 1 to 100 printable characters',
    }),
    to: mailAddress(),
    every: z.enum(['day', 'month'], { error: 'must be day or month' }),
    from: z
      .string({ error: 'must be the first day, YYYY-MM-DD' })
      .refine(isDay, { error: 'must be the first day, YYYY-MM-DD' }),
    merchants: chosen(
      isMerchantNo,
      'must be all, or a list of merchant numbers (in YAML, put each in quotes)',
    ),
    currencies: chosen(
      (code) => CURRENCY_CODE.test(code),
      'must be all, or a list of currency codes, like [USD, EUR]',
    ),
    as: z.enum(['file', 'link'], { error: 'must be file or link' }).default('file'),
    formats: z
      .array(z.string(), { error: 'must be a list of formats' })
      .min(1, { error: 'must name a format' })
      .max(FORMATS_MAX, { error: `must have at most ${FORMATS_MAX} formats` })
      .default([CSV]),
  })
  .superRefine(({ every, formats }, context) => {
    const unknown = formats.some((name) => !MAILED_FORMATS[every].includes(name));
    if (unknown || new Set(formats).size < formats.length)
      context.addIssue({
        ...{ code: 'custom', path: ['formats'] },
        message: `must be some of ${MAILED_FORMATS[every].join(', ')} for a ${every}, each once`,
      });
  });

const share = (one: Chosen, other: Chosen): boolean =>
  one === null || other === null || one.some((name) => other.includes(name));

/** The first two entries, counted from 1, that would mail the same statement to the same address. */
function repeated(entries: readonly MailedStatements[]): readonly [number, number] | null {
  for (const [at, one] of entries.entries()) {
    const before = entries
      .slice(0, at)
      .findIndex(
        (other) =>
          other.to.toLowerCase() === one.to.toLowerCase() &&
          other.every === one.every &&
          share(other.merchants, one.merchants) &&
          share(other.currencies, one.currencies),
      );
    if (before >= 0) return [before + 1, at + 1];
  }
  return null;
}

export const statementMail = () => {
  const error = 'must be a list of recipients (in the environment: JSON)';
  return z.preprocess(
    jsonText,
    z
      .array(z.unknown(), { error })
      .max(ENTRIES_MAX, { error: `has more than ${ENTRIES_MAX} recipients` })
      .transform((list, context): readonly MailedStatements[] => {
        const wrong = (message: string): void =>
          void context.issues.push({ code: 'custom', message, input: '' });
        const read = list.flatMap((given, at) => {
          const parsed = entry.safeParse(given);
          if (parsed.success) return [parsed.data];
          const { path, message, ...issue } = parsed.error.issues[0]!;
          const key = path[0] ?? ('keys' in issue ? issue.keys.join(', ') : '');
          wrong(
            issue.code === 'unrecognized_keys'
              ? `has in recipient ${at + 1} the unknown key ${String(key)}`
              : key === ''
                ? `has no mapping as recipient ${at + 1}`
                : `is wrong for recipient ${at + 1}: ${String(key)} ${message}`,
          );
          return [];
        });
        const twice = repeated(read);
        if (twice !== null)
          wrong(
            `has recipients ${twice[0]} and ${twice[1]} with the same address and statements: make one of them, with both formats`,
          );
        return context.issues.length > 0 ? z.NEVER : read;
      }),
  );
};
