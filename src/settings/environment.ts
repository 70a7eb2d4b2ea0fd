/** Reads settings from environment variables, and reports misspelled names. */
import type { SettingsProblem } from './invalid.ts';
import { type RawSettings, SETTING_PLACES, type SettingPlace } from './schema.ts';
import { didYouMean } from './suggest.ts';

/**
 * Every variable that begins with these prefixes must be a setting. Variables with other prefixes may belong to
 * others.
 */
const OUR_PREFIX = /^(?:DAYBOOK|PLATFORM)_/;
/** It names the config file, so it cannot be a setting in that file. */
const CONFIG_NAME = 'DAYBOOK_CONFIG';

type EnvironmentSource = Pick<SettingsSource, 'env' | 'readFile' | 'otherNames'>;

/**
 * Adds the settings in the environment to `raw`; they win over those already there. Returns variables that are no
 * setting.
 */
export function readEnvironment(source: EnvironmentSource, raw: RawSettings): SettingsProblem[] {
  const { env, otherNames = [] } = source;
  const problems: SettingsProblem[] = [];
  for (const place of SETTING_PLACES) {
    const given = givenFor(place, source);
    if (given === null) continue;
    if ('problem' in given) {
      problems.push(given);
      continue;
    }
    (raw.sections[place.section] ??= {})[place.key] = given.value;
    raw.sources.set(place, given.name);
  }
  const names = SETTING_PLACES.flatMap((place) =>
    place.secret ? [place.environmentName, fileNameOf(place)] : [place.environmentName],
  );
  const known = [...names, CONFIG_NAME];
  const unknown = Object.keys(env)
    .filter((name) => OUR_PREFIX.test(name) && !known.includes(name) && !otherNames.includes(name))
    .map((name) => {
      const meant = didYouMean(name, known);
      return {
        key: name,
        problem: `is no setting${meant === null ? '' : `; did you mean ${meant}?`}`,
        example: meant ?? 'config/daybook.example.yaml lists them all',
      };
    });
  return [...problems, ...unknown];
}

/** The variable that names a file with the secret in it, as Docker and Kubernetes mount them. */
const fileNameOf = ({ environmentName }: SettingPlace): string => `${environmentName}_FILE`;

interface Given {
  /** The variable that it came from. */
  readonly name: string;
  readonly value: string;
}

/**
 * The value of a setting in the environment: the variable's own, or for a secret the text of a file; both are an
 * error.
 */
function givenFor(place: SettingPlace, { env, readFile }: EnvironmentSource): Given | SettingsProblem | null {
  const value = env[place.environmentName] ?? '';
  const name = fileNameOf(place);
  const path = place.secret ? (env[name] ?? '') : '';
  if (path === '') return value === '' ? null : { name: place.environmentName, value };
  const example = `${name}=/run/secrets/${place.environmentName.toLowerCase()}`;
  if (value !== '') {
    return {
      key: name,
      problem: `is given as well as ${place.environmentName}; keep one of the two`,
      example,
    };
  }
  try {
    // A file usually ends with a line end that is not part of the secret.
    const text = readFile(path).replace(/(?:\r?\n)+$/, '');
    return text === '' ? { key: name, problem: 'names an empty file', example } : { name, value: text };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unreadable';
    return { key: name, problem: `names a file that cannot be read (${code})`, example };
  }
}

export interface SettingsSource {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readFile: (path: string) => string;
  /** Mode of a file, to check that others cannot read it. Without this function nothing is checked. */
  readonly modeOf?: (path: string) => number;
  /** The config file; by default the one that `DAYBOOK_CONFIG` names, if any. */
  readonly configPath?: string | undefined;
  /** The folder from which a relative data directory starts; by default the process's working directory. */
  readonly cwd?: string;
  /** Parts that must be complete. `verify` and `statements` need none. */
  readonly needs?: readonly 'platform'[];
  /** Environment variables that resemble settings and are not, such as the one that `--token-env` names. */
  readonly otherNames?: readonly string[];
}
