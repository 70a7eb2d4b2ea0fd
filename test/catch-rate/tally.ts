/** Counts outcomes, for each form, for each family, and for the honest histories. */
import type { CleanOutcome } from './clean.ts';
import type { Form } from './form.ts';
import type { Ending, Outcome } from './play.ts';

export interface Count {
  readonly histories: number;
  readonly endings: Readonly<Record<Ending, number>>;
  /** The most nights after the lie's night until one was caught. */
  readonly nightsMax: number;
  /** How many were caught, in the lie's night or later. */
  readonly caught: number;
  readonly atPlace: number;
  readonly rightSentence: number;
  readonly firstRight: number;
  readonly believed: number;
  readonly wrongAsContinuous: number;
  readonly revisedUnsaid: number;
  readonly mendedUnsaid: number;
  /** How many histories had a run before the lie that was not green. */
  readonly spoiled: number;
  /** How often each exit code ended the run that caught a lie; 0 counts those never caught. */
  readonly exitCodes: ReadonlyMap<number, number>;
}

/** Counts the outcomes of a form, of a family, or of all. */
export function countOf(outcomes: readonly Outcome[]): Count {
  const count = (is: (outcome: Outcome) => boolean): number => outcomes.filter(is).length;
  const exitCodes = new Map<number, number>();
  for (const { exitCode } of outcomes) exitCodes.set(exitCode, (exitCodes.get(exitCode) ?? 0) + 1);
  const ended = (ending: Ending): number => count((one) => one.ending === ending);
  const endings = {
    'same night': ended('same night'),
    later: ended('later'),
    silent: ended('silent'),
    harmless: ended('harmless'),
  };
  return {
    histories: outcomes.length,
    endings,
    nightsMax: Math.max(
      0,
      ...outcomes.filter(({ ending }) => ending === 'later').map(({ nights }) => nights),
    ),
    caught: endings['same night'] + endings.later,
    atPlace: count(({ isAtPlace }) => isAtPlace === true),
    rightSentence: count(({ isRightSentence }) => isRightSentence === true),
    firstRight: count(({ isFirstRight }) => isFirstRight === true),
    believed: count(({ isBelieved }) => isBelieved),
    wrongAsContinuous: count(({ wrongAsContinuous }) => wrongAsContinuous),
    revisedUnsaid: count(({ revisedUnsaid }) => revisedUnsaid),
    mendedUnsaid: count(({ isMendedUnsaid }) => isMendedUnsaid),
    spoiled: count(({ spoiled }) => spoiled !== null),
    exitCodes: new Map([...exitCodes].sort(([a], [b]) => a - b)),
  };
}

export interface CleanCount {
  readonly histories: number;
  readonly runs: number;
  readonly entries: number;
  /** How many histories had a false alarm. */
  readonly alarmed: number;
  readonly harmed: number;
  /** In how many histories each sentence occurred, the most frequent first. */
  readonly sentences: readonly (readonly [string, number])[];
  readonly traits: readonly (readonly [string, { readonly histories: number; readonly alarmed: number }])[];
  /** In how many histories each was truly there. */
  readonly ingredients: readonly (readonly [string, number])[];
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
/** The sentence without figures, so that sentences of one kind are equal. */
const kindOf = (alarm: string): string => alarm.replaceAll(/\d+/g, 'N').split('\n')[0]!.slice(0, 140);

export function countClean(outcomes: readonly CleanOutcome[]): CleanCount {
  const had = Map.groupBy(
    outcomes.flatMap(({ ingredients }) => ingredients),
    (name) => name,
  );
  const sentences = new Map<string, number>();
  const traits = new Map<string, { histories: number; alarmed: number }>();
  for (const { alarms, traits: own } of outcomes) {
    for (const kind of new Set(alarms.map(kindOf))) sentences.set(kind, (sentences.get(kind) ?? 0) + 1);
    for (const name of own.length === 0 ? ['nothing of these'] : own) {
      const known = traits.get(name) ?? { histories: 0, alarmed: 0 };
      traits.set(name, {
        histories: known.histories + 1,
        alarmed: known.alarmed + (alarms.length > 0 ? 1 : 0),
      });
    }
  }
  return {
    histories: outcomes.length,
    runs: sum(outcomes.map(({ runs }) => runs)),
    entries: sum(outcomes.map(({ entries }) => entries)),
    alarmed: outcomes.filter(({ alarms }) => alarms.length > 0).length,
    harmed: outcomes.filter(({ harmed }) => harmed > 0).length,
    sentences: [...sentences].sort(([, a], [, b]) => b - a),
    traits: [...traits].sort(([a], [b]) => (a < b ? -1 : 1)),
    ingredients: [...had]
      .map(([name, all]) => [name, all.length] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  };
}

/** Outcomes grouped by form, in the order of the forms. Forms without outcomes are left out. */
export function byForm(
  forms: readonly Form[],
  outcomes: readonly Outcome[],
): readonly (readonly [Form, readonly Outcome[]])[] {
  const grouped = Map.groupBy(outcomes, ({ form }) => form);
  return forms.flatMap((form) => {
    const own = grouped.get(form.name);
    return own === undefined ? [] : [[form, own] as const];
  });
}
