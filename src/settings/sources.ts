/**
 * Reads settings from the YAML file and from environment variables, and reports misspelled names. Messages never repeat
 * the file's contents, as it may hold secrets.
 */
import { createRequire } from 'node:module';
import type * as Yaml from 'yaml';
import { chmodText, isTooOpen, modeText } from '../host/files.ts';
import { BOOK_CONNECTION } from '../ledger/own-books.ts';
import { didYouMean, type SettingsProblem } from './problem.ts';
import { type RawSettings, SETTING_PLACES, type SettingPlace } from './schema.ts';

/** Loaded where there is a file to read. */
const loadYaml = (): typeof Yaml => createRequire(import.meta.url)('yaml') as typeof Yaml;

export interface SettingsSource {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readFile: (path: string) => string;
  /** Mode of a file with its type, to check that others cannot read it. Without this function nothing is checked. */
  readonly modeOf?: (path: string) => number;
  /** Whether a package is installed, for settings that need one of their own. Without this function nothing is checked. */
  readonly isInstalled?: (name: string) => boolean;
  /** The names of the plugins that there are, for settings that ask for one; by default those of this program. */
  readonly plugins?: readonly string[];
  /** The config file; by default the one that `DAYBOOK_CONFIG` names, if any. */
  readonly configPath?: string | undefined;
  /** The folder from which a relative data directory starts; by default the process's working directory. */
  readonly cwd?: string;
  /** Parts that must be complete. `verify` and `statements` need none. */
  readonly needs?: readonly 'platform'[];
  /** Environment variables that resemble settings and are not, such as the one that `--token-env` names. */
  readonly otherNames?: readonly string[];
}

/** A header value with fewer characters than this next to its placeholders is a word like `Bearer`, not a secret. */
const HEADER_SECRET_CHARACTERS_MIN = 8;
const EXAMPLE_FILE = 'see config/daybook.example.yaml';

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'unreadable';

type Mapping = Record<string, unknown>;
const isMapping = (value: unknown): value is Mapping =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Adds the settings in the file at `path` to `raw`. Unknown keys are included, so that the schema refuses them. */
export function readConfigFile(
  path: string,
  { readFile, modeOf }: SettingsSource,
  raw: RawSettings,
): SettingsProblem[] {
  const wrong = (problem: string, key = path): SettingsProblem => ({ key, problem, example: EXAMPLE_FILE });
  let text: string;
  try {
    text = readFile(path);
  } catch (error) {
    return [wrong(`cannot be read (${codeOf(error)})`)];
  }
  const { LineCounter, parseDocument } = loadYaml();
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  if (document.errors.length > 0)
    return document.errors.map(({ code, pos }) => {
      const reason = code.toLowerCase().replaceAll('_', ' ');
      return wrong(`is not YAML in line ${lines.linePos(pos[0]).line} (${reason})`);
    });
  let content: unknown;
  try {
    content = document.toJS();
  } catch {
    return [wrong('refers to an anchor it does not have (text after *)')];
  }
  if (content === null) return [];
  if (!isMapping(content)) return [wrong('must be a mapping of sections')];
  const problems: SettingsProblem[] = [];
  for (const [section, values] of Object.entries(content)) {
    if (values === null) continue;
    if (!isMapping(values)) {
      problems.push(wrong('must be a mapping', `${section} in ${path}`));
      continue;
    }
    raw.sections[section] = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
    for (const place of SETTING_PLACES) {
      if (place.section !== section || !(place.key in values)) continue;
      raw.sources.set(place, `${section}.${place.key} in ${path}`);
    }
  }
  if (modeOf !== undefined) problems.push(...openProblems(path, modeOf(path), content));
  return problems;
}

/** The problem of a file that holds secrets and that others may read. */
function openProblems(path: string, mode: number, content: Mapping): SettingsProblem[] {
  if (!isTooOpen(mode, 'group') || !SETTING_PLACES.some((place) => holdsSecret(place, content))) return [];
  const problem = `holds secrets, and others may open it (mode ${modeText(mode)})`;
  return [{ key: path, problem, example: chmodText(path, 'group').replace(' -R', '') }];
}

/** Where Docker and Kubernetes mount secrets: there the mode says nothing, as no one else is inside of the container. */
const SECRET_MOUNTS = ['/run/secrets/', '/var/run/secrets/'];
const isRegularFile = (mode: number): boolean => (mode & 0o170_000) === 0o100_000;

/** The problem of a file that is a secret and that others may read, or null. */
function openSecretProblem(name: string, path: string, mode: number): SettingsProblem | null {
  const isMounted = SECRET_MOUNTS.some((folder) => path.startsWith(folder)) && !path.includes('/../');
  if (isMounted || !isRegularFile(mode) || !isTooOpen(mode, 'group')) return null;
  const problem = `names a secret that others may open (mode ${modeText(mode)})`;
  return { key: name, problem, example: chmodText(path, 'group').replace(' -R', '') };
}

/** Whether the file has a secret in this setting: in a URL its password, in headers a text that is no placeholder. */
function holdsSecret({ section, key, secret }: SettingPlace, content: Mapping): boolean {
  const values = content[section];
  const value = isMapping(values) ? (values[key] ?? null) : null;
  if (!secret || value === null) return false;
  if (isMapping(value)) {
    return Object.values(value).some(
      (text) =>
        String(text)
          .replaceAll(/\{\w*\}/g, '')
          .trim().length >= HEADER_SECRET_CHARACTERS_MIN,
    );
  }
  if (section !== 'database' || typeof value !== 'string') return true;
  return /:\/\/[^/@]*:[^/@]+@|[?&]password=/.test(value);
}

/**
 * Every variable that begins with these prefixes must be a setting. Variables with other prefixes may belong to
 * others.
 */
const OUR_PREFIX = /^(?:DAYBOOK|PLATFORM)_/;
/** It names the config file, so it cannot be a setting in that file. */
const CONFIG_NAME = 'DAYBOOK_CONFIG';

/**
 * Adds the settings in the environment to `raw`; they win over those already there. Returns variables that are no
 * setting.
 */
export function readEnvironment(source: SettingsSource, raw: RawSettings): SettingsProblem[] {
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
  const isOther = (name: string): boolean => otherNames.includes(name) || BOOK_CONNECTION.test(name);
  const unknown = Object.keys(env)
    .filter((name) => OUR_PREFIX.test(name) && !known.includes(name) && !isOther(name))
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
function givenFor(
  place: SettingPlace,
  { env, readFile, modeOf }: SettingsSource,
): Given | SettingsProblem | null {
  const value = env[place.environmentName] ?? '';
  const name = fileNameOf(place);
  const path = place.secret ? (env[name] ?? '') : '';
  if (path === '') return value === '' ? null : { name: place.environmentName, value };
  const example = `${name}=/run/secrets/${place.environmentName.toLowerCase()}`;
  if (value !== '')
    return {
      key: name,
      problem: `is given as well as ${place.environmentName}; keep one of the two`,
      example,
    };
  try {
    // A file usually ends with a line end that is not part of the secret.
    const text = readFile(path).replace(/(?:\r?\n)+$/, '');
    if (text === '') return { key: name, problem: 'names an empty file', example };
    const open = modeOf === undefined ? null : openSecretProblem(name, path, modeOf(path));
    return open ?? { name, value: text };
  } catch (error) {
    return { key: name, problem: `names a file that cannot be read (${codeOf(error)})`, example };
  }
}
