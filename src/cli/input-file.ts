/** Reads the file of an application or a registration, JSON or YAML. No message repeats anything from the file. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { isNode, LineCounter, parseDocument } from 'yaml';
import type { Path, Problem } from '../forms/problem.ts';
import { UsageError } from '../run/verdict/exit-codes.ts';

/** Largest file that is read. A file has some 10 kB if it names images by their paths, and megabytes if it holds them. */
const INPUT_BYTES_MAX = 20 * 1_048_576;

/** The content of the file. Throws `UsageError` if it cannot be read, or is neither JSON nor YAML. */
export const readInputFile = (path: string): unknown =>
  readYaml(inputText(path, INPUT_BYTES_MAX), path, 'core').content;

/**
 * The content of a text that is YAML, and so may be JSON, and where a value of it stands. `failsafe`: all values are texts, so that the
 * number 0123 keeps its zero. Throws `UsageError`; `path` names the file.
 */
export function readYaml(
  text: string,
  path: string,
  schema: 'core' | 'failsafe',
): { readonly content: unknown; readonly placeOf: (at: Path) => string } {
  const lines = new LineCounter();
  // Read as YAML, a key that is given twice is an error in JSON, too.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, schema });
  const [error] = document.errors;
  if (error !== undefined) {
    const reason = error.code.toLowerCase().replaceAll('_', ' ');
    throw new UsageError(
      `${path} is neither JSON nor YAML: line ${lines.linePos(error.pos[0]).line} (${reason}).`,
    );
  }
  const placeOf = (at: Path): string => {
    const node = at.length === 0 ? document.contents : document.getIn(at, true);
    if (!isNode(node)) return at.length === 0 ? 'line 1' : placeOf(at.slice(0, -1));
    const { line, col } = lines.linePos(node.range?.[0] ?? 0);
    return `line ${line}, column ${col}`;
  };
  try {
    return { content: document.toJS({ maxAliasCount: 0 }) as unknown, placeOf };
  } catch {
    throw new UsageError(`${path} uses YAML anchors (text after & or *); write each value where it belongs.`);
  }
}

/** The text of a file that a person gave. Throws `UsageError` if it cannot be read, or has more bytes than that. */
export function inputText(path: string, bytesMax: number): string {
  try {
    const { size } = statSync(path);
    if (size > bytesMax)
      throw new UsageError(`${path} has ${size} bytes; a file of this kind has at most ${bytesMax}.`);
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { code = 'unreadable' } = error as NodeJS.ErrnoException;
    throw new UsageError(`${path} cannot be read (${code}).`);
  }
}

/**
 * What a file is checked by. What resembles a mistake, but is left open by the platform's document, is added to
 * `warnings`: it is shown, and the file is sent all the same.
 */
export const rulesOf = (filePaths: string, today: string, warnings: Problem[] = []) => ({
  ...{ filePaths, isLocalFile: existsSync, today },
  onWarning: (warning: Problem) => void warnings.push(warning),
});

export const warningText = ({ path, problem }: Problem): string =>
  `  please check: ${path} ${problem}; the file was accepted all the same`;
