/** Reads settings from the YAML file. Messages never repeat its contents, as it may hold secrets. */
import { LineCounter, parseDocument } from 'yaml';
import { chmodText, isTooOpen, modeText } from '../host/file-mode.ts';
import type { SettingsProblem } from './invalid.ts';
import type { SettingsSource } from './environment.ts';
import { type RawSettings, SETTING_PLACES, type SettingPlace } from './schema.ts';

/** A header value with fewer characters than this next to its placeholders is a word like `Bearer`, not a secret. */
const HEADER_SECRET_CHARACTERS_MIN = 8;
const EXAMPLE_FILE = 'see config/daybook.example.yaml';

type Mapping = Record<string, unknown>;
const isMapping = (value: unknown): value is Mapping =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Adds the settings in the file at `path` to `raw`. Unknown keys are included, so that the schema refuses them. */
export function readConfigFile(
  path: string,
  { readFile, modeOf }: Pick<SettingsSource, 'readFile' | 'modeOf'>,
  raw: RawSettings,
): SettingsProblem[] {
  let text: string;
  try {
    text = readFile(path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unreadable';
    return [{ key: path, problem: `cannot be read (${code})`, example: EXAMPLE_FILE }];
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  if (document.errors.length > 0) {
    return document.errors.map(({ code, pos }) => {
      const reason = code.toLowerCase().replaceAll('_', ' ');
      return {
        key: path,
        problem: `is not YAML in line ${lines.linePos(pos[0]).line} (${reason})`,
        example: EXAMPLE_FILE,
      };
    });
  }
  let content: unknown;
  try {
    content = document.toJS();
  } catch {
    return [
      { key: path, problem: 'refers to an anchor it does not have (text after *)', example: EXAMPLE_FILE },
    ];
  }
  if (content === null) return [];
  if (!isMapping(content))
    return [{ key: path, problem: 'must be a mapping of sections', example: EXAMPLE_FILE }];
  const problems: SettingsProblem[] = [];
  for (const [section, values] of Object.entries(content)) {
    if (values === null) continue;
    if (!isMapping(values)) {
      problems.push({ key: `${section} in ${path}`, problem: 'must be a mapping', example: EXAMPLE_FILE });
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
