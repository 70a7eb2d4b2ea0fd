/** What is asked of `npm run bench`. */
import { parseArgs } from 'node:util';
import type { Measure } from './measure.ts';

/** Cannot be used; the message says why. */
export class FlagsWrong extends Error {
  override readonly name = 'FlagsWrong';
}

export interface BenchFlags {
  readonly help: boolean;
  readonly short: boolean;
  readonly profile: boolean;
  /** How many merchants `workers-many`, `merchants-rate` and `search` have; null for what they have by themselves. */
  readonly merchants: number | null;
  readonly chosen: readonly Measure[];
}

export const usage = (measures: readonly Measure[]): string =>
  [
    'usage: npm run bench -- [--short] [--long] [--only NAME,NAME] [--part 2/3] [--merchants 10000] [--profile]',
    '',
    '  --short      small sizes, only to check that the bench works; nothing is judged',
    '  --long       also those that take minutes, marked * below',
    '  --only       only these',
    '  --part       every third of them, from the second on',
    '  --merchants  so many merchants in workers-many, merchants-rate and search',
    '  --profile    CPU profiles of daybook in bench/results',
    '',
    `names: ${measures.map(({ name, isLong }) => name + (isLong === true ? '*' : '')).join(', ')}`,
    '',
  ].join('\n');

/** Reads the flags. Throws `FlagsWrong`. */
export function readFlags(args: readonly string[], measures: readonly Measure[]): BenchFlags {
  const { only, part, merchants, ...given } = parsed(args);
  const takesAll = given.long || given.short;
  const names = only?.split(',') ?? null;
  const unknown = names?.filter((name) => !measures.some((one) => one.name === name)) ?? [];
  if (unknown.length > 0) throw new FlagsWrong(`--only: there is no measure called "${unknown.join(', ')}"`);
  const [nth, parts] = partOf(part ?? '1/1');
  const chosen = measures.filter(
    ({ name, isLong }, index) =>
      (names === null ? takesAll || isLong !== true : names.includes(name)) && index % parts === nth - 1,
  );
  if (chosen.length === 0) throw new FlagsWrong(`--part ${part} has nothing to measure`);
  return { ...given, merchants: merchants === undefined ? null : numberOf(merchants), chosen };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        help: { type: 'boolean', short: 'h', default: false },
        short: { type: 'boolean', default: false },
        long: { type: 'boolean', default: false },
        only: { type: 'string' },
        part: { type: 'string' },
        merchants: { type: 'string' },
        profile: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    throw new FlagsWrong((error as Error).message);
  }
}

/** `2/3`: which part, and of how many. */
function partOf(text: string): readonly [nth: number, parts: number] {
  const [, nth, parts] = /^([1-9]\d?)\/([1-9]\d?)$/.exec(text) ?? [];
  if (nth === undefined || Number(nth) > Number(parts))
    throw new FlagsWrong(`--part takes one like 2/3, not "${text}"`);
  return [Number(nth), Number(parts)];
}

function numberOf(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text))
    throw new FlagsWrong(`--merchants takes a number up to 999999, not "${text}"`);
  return Number(text);
}
