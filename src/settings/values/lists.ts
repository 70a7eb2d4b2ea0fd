/** Checks lists and mappings in settings: codes, currencies, networks. */
import { createCurrencies, CURRENCY_CODE } from '../../ledger/money.ts';
import { isIP } from 'node:net';
import { z } from 'zod';
import { givenList, jsonText } from './scalars.ts';

const LIST_LENGTH_MAX = 1_000;
const CODE = /^[^\p{C}\s](?:[^\p{C}]{0,62}[^\p{C}\s])?$/u;

/** A list of words. Gives one problem, however many words are wrong. */
export const listOf = <Word extends string>(isWord: (text: string) => text is Word, error: string) =>
  z
    .array(z.unknown(), { error })
    .max(LIST_LENGTH_MAX, { error: `has more than ${LIST_LENGTH_MAX} elements` })
    .refine((list): list is Word[] => list.every((one) => typeof one === 'string' && isWord(one)), { error })
    .readonly();

export const isCode = (text: string): text is string => CODE.test(text);

export const codes = () =>
  z.preprocess(givenList, listOf(isCode, 'must be a list of codes, 1 to 64 printable characters each'));

const wordsAmong = <Word extends string>(words: readonly Word[], error: string) =>
  listOf((text): text is Word => words.some((word) => word === text), error);

/** Any of the given words. */
export const someOf = <const Word extends string>(words: readonly Word[]) =>
  z.preprocess(givenList, wordsAmong(words, `must be a list of ${words.join(', ')}`));

/** Any of the given words. `none` means an empty list, because an empty value means that nothing was given. */
export const someOrNone = <const Word extends string>(words: readonly Word[]) =>
  z.preprocess(
    (value) => (value === 'none' ? [] : givenList(value)),
    wordsAmong(words, `must be none, or a list of ${words.join(', ')}`),
  );

/** Whether it is an address, or a network like `10.0.0.0/8`. */
function isNetwork(text: string): text is string {
  const [address = '', bits, ...more] = text.split('/');
  const family = isIP(address);
  if (family === 0 || more.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 6 ? 128 : 32));
}

export const networks = () =>
  z.preprocess(
    givenList,
    listOf(isNetwork, 'must be a list of IP addresses or networks, such as 192.0.2.7 or 10.0.0.0/8'),
  );

const ISO_4217 = createCurrencies({});

export const currencyUnits = () => {
  const error = 'must map three-letter codes to their number of decimals, 0 to 8 (in the environment: JSON)';
  return z.preprocess(
    jsonText,
    z.record(
      z.string({ error }).regex(CURRENCY_CODE, { error }),
      z.int({ error }).min(0, { error }).max(8, { error }),
      {
        error,
      },
    ),
  );
};

/** A code of ISO 4217 by the currency that is written with it. */
export const bankCurrencies = () => {
  const error =
    'must map currency codes that ISO 4217 does not have to codes that it has, like {"CNH":"CNY"} (in the environment: JSON)';
  const own = z
    .string({ error })
    .regex(CURRENCY_CODE, { error })
    .refine((code) => !ISO_4217.isKnown(code), { error });
  const iso = z.string({ error }).refine((code) => ISO_4217.isKnown(code), { error });
  return z.preprocess(jsonText, z.record(own, iso, { error }));
};
