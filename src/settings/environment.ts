/** Takes settings out of the environment, and notices names that were meant to be settings. */
import type { SettingsProblem } from './invalid.ts';
import type { RawSettings } from './raw.ts';
import { SETTING_PLACES } from './schema.ts';
import { didYouMean } from './suggest.ts';

/** Names of the environment that begin like ours are ours, or a slip. Other prefixes belong to others too. */
const OUR_PREFIX = /^(?:DAYBOOK|PLATFORM)_/;
/** Says where the file is, so it cannot stand in it. */
const CONFIG_NAME = 'DAYBOOK_CONFIG';

/** Puts what the environment gives over what stands in `raw`; returns what is no setting. */
export function readEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  otherNames: readonly string[],
  raw: RawSettings,
): SettingsProblem[] {
  for (const place of SETTING_PLACES) {
    const value = env[place.environmentName];
    if (value === undefined || value === '') continue;
    (raw.sections[place.section] ??= {})[place.key] = value;
    raw.sources.set(place, place.environmentName);
  }
  const known = [...SETTING_PLACES.map(({ environmentName }) => environmentName), CONFIG_NAME];
  return Object.keys(env)
    .filter((name) => OUR_PREFIX.test(name) && !known.includes(name) && !otherNames.includes(name))
    .map((name) => {
      const meant = didYouMean(name, known);
      return {
        key: name,
        problem: `is no setting${meant === null ? '' : `; did you mean ${meant}?`}`,
        example: meant ?? 'config/daybook.example.yaml lists them all',
      };
    });
}
