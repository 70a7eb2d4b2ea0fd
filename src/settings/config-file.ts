/** Takes settings out of the YAML file. Its contents are never repeated in a message: secrets may stand in it. */
import { LineCounter, parseDocument } from 'yaml';
import type { SettingsProblem } from './invalid.ts';
import type { RawSettings } from './raw.ts';
import { SETTING_PLACES } from './schema.ts';

const EXAMPLE_FILE = 'see config/daybook.example.yaml';

type Mapping = Record<string, unknown>;
const isMapping = (value: unknown): value is Mapping =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Puts what the file at `path` gives into `raw`, unknown keys included for the schema to refuse. */
export function readConfigFile(
  path: string,
  readFile: (path: string) => string,
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
  return problems;
}
