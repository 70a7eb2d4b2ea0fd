/**
 * Reads settings from the YAML file and from environment variables, and reports misspelled names. Messages never repeat
 * the file's contents, as it may hold secrets.
 */
import { createRequire } from 'node:module';
import type * as Yaml from 'yaml';
import { chmodText, isTooOpen, modeText } from '../host/files.ts';
import { BOOK_CONNECTION } from '../ledger/own-books.ts';
import { didYouMean, type SettingsProblem } from './problem.ts';
import { placeOf, type Declared, type SettingsGroup } from './setting.ts';

/** Loaded where there is a file to read. */
const loadYaml = (): typeof Yaml => createRequire(import.meta.url)('yaml') as typeof Yaml;

export interface SettingsSource {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readFile: (path: string) => string;
  /** Mode of a file with its type, to check that others cannot read it. Without this function nothing is checked. */
  readonly modeOf?: (path: string) => number;
  /** Whether a package is installed, for settings that need one of their own. Without this function nothing is checked. */
  readonly isInstalled?: (name: string) => boolean;
  /** The settings of plugins; by default those of this program's. */
  readonly groups?: readonly SettingsGroup[];
  /** The config file; by default the one that `DAYBOOK_CONFIG` names, if any. */
  readonly configPath?: string | undefined;
  /** The folder from which a relative data directory starts; by default the process's working directory. */
  readonly cwd?: string;
  /** Parts that must be complete. `verify` and `statements` need none. */
  readonly needs?: readonly 'platform'[];
  /** Environment variables that resemble settings and are not, such as the one that `--token-env` names. */
  readonly otherNames?: readonly string[];
}

/** What was given, by the setting's name, and how the user named it: a variable, or a key in the file. */
export type RawSettings = Map<string, { readonly value: unknown; readonly from: string }>;

/** A header value with fewer characters than this next to its placeholders is a word like `Bearer`, not a secret. */
const HEADER_SECRET_CHARACTERS_MIN = 8;
const EXAMPLE_FILE = 'see config/daybook.example.yaml';

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'unreadable';

type Mapping = Record<string, unknown>;
const isMapping = (value: unknown): value is Mapping =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Adds the settings in the file at `path` to `raw`. Returns what is wrong with the file, and keys that are no setting. */
export function readConfigFile(
  path: string,
  { readFile, modeOf }: SettingsSource,
  declared: Declared,
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
  const names = new Map(Object.keys(declared).map((name) => [pathOf(name), name]));
  const sections = [...new Set(Object.keys(declared).map((name) => placeOf(name).section))];
  const problems: SettingsProblem[] = [];
  for (const [section, values] of Object.entries(content)) {
    if (values === null) continue;
    if (!isMapping(values)) problems.push(wrong('must be a mapping', `${section} in ${path}`));
    else if (!sections.includes(section)) problems.push(unknownKey(section, sections));
    else
      for (const [key, value] of Object.entries(values)) {
        const name = names.get(`${section}.${key}`);
        if (value === null) continue;
        if (name === undefined) problems.push(unknownKey(key, keysOf(section, declared), section));
        else raw.set(name, { value, from: `${section}.${key} in ${path}` });
      }
  }
  if (modeOf !== undefined) problems.push(...openProblems(path, modeOf(path), declared, raw));
  return problems;
}

const pathOf = (name: string): string => Object.values(placeOf(name)).join('.');

const keysOf = (section: string, declared: Declared): string[] =>
  Object.keys(declared).flatMap((name) => (placeOf(name).section === section ? [placeOf(name).key] : []));

function unknownKey(key: string, known: readonly string[], section?: string): SettingsProblem {
  const meant = didYouMean(key, known);
  return {
    key: section === undefined ? key : `${section}.${key}`,
    problem: noSetting(meant),
    example: meant ?? `one of ${known.join(', ')}`,
  };
}

const noSetting = (meant: string | null): string =>
  `is no setting${meant === null ? '' : `; did you mean ${meant}?`}`;

/** The problem of a file that holds secrets and that others may read. */
function openProblems(path: string, mode: number, declared: Declared, raw: RawSettings): SettingsProblem[] {
  const holds = [...raw].some(([name, { value }]) => declared[name]!.secret && isSecret(name, value));
  if (!isTooOpen(mode, 'group') || !holds) return [];
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

/** Whether the value of a setting is a secret: in a URL its password, in headers a text that is no placeholder. */
function isSecret(name: string, value: unknown): boolean {
  if (isMapping(value)) {
    return Object.values(value).some(
      (text) =>
        String(text)
          .replaceAll(/\{\w*\}/g, '')
          .trim().length >= HEADER_SECRET_CHARACTERS_MIN,
    );
  }
  if (name !== 'DATABASE_URL' || typeof value !== 'string') return true;
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
export function readEnvironment(
  source: SettingsSource,
  declared: Declared,
  raw: RawSettings,
): SettingsProblem[] {
  const { env, otherNames = [] } = source;
  const problems: SettingsProblem[] = [];
  const known: string[] = [];
  for (const [name, { secret }] of Object.entries(declared)) {
    known.push(name, ...(secret ? [`${name}_FILE`] : []));
    const given = givenFor(name, secret, source);
    if (given === null) continue;
    if ('problem' in given) problems.push(given);
    else raw.set(name, given);
  }
  known.push(CONFIG_NAME);
  const isOther = (name: string): boolean => otherNames.includes(name) || BOOK_CONNECTION.test(name);
  const unknown = Object.keys(env)
    .filter((name) => OUR_PREFIX.test(name) && !known.includes(name) && !isOther(name))
    .map((name) => {
      const meant = didYouMean(name, known);
      const example = meant ?? 'config/daybook.example.yaml lists them all';
      return { key: name, problem: noSetting(meant), example };
    });
  return [...problems, ...unknown];
}

/**
 * The value of a setting in the environment: the variable's own, or for a secret the text of the file that another variable names, as
 * Docker and Kubernetes mount them; both are an error.
 */
function givenFor(
  name: string,
  secret: boolean,
  { env, readFile, modeOf }: SettingsSource,
): { readonly value: string; readonly from: string } | SettingsProblem | null {
  const value = env[name] ?? '';
  const fileName = `${name}_FILE`;
  const path = secret ? (env[fileName] ?? '') : '';
  if (path === '') return value === '' ? null : { value, from: name };
  const example = `${fileName}=/run/secrets/${name.toLowerCase()}`;
  if (value !== '')
    return { key: fileName, problem: `is given as well as ${name}; keep one of the two`, example };
  try {
    // A file usually ends with a line end that is not part of the secret.
    const text = readFile(path).replace(/(?:\r?\n)+$/, '');
    if (text === '') return { key: fileName, problem: 'names an empty file', example };
    const open = modeOf === undefined ? null : openSecretProblem(fileName, path, modeOf(path));
    return open ?? { value: text, from: fileName };
  } catch (error) {
    return { key: fileName, problem: `names a file that cannot be read (${codeOf(error)})`, example };
  }
}
