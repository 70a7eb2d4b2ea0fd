/** Reads the file of an application or a registration, JSON or YAML. Its contents are never repeated in a message. */
import { readFileSync, statSync } from 'node:fs';
import { LineCounter, parseDocument } from 'yaml';
import { UsageError } from '../run/exit-codes.ts';

/** A submission is a page of fields; images are named by their paths. */
export const SUBMISSION_BYTES_MAX = 1_048_576;

/** What the file holds. Throws `UsageError` where it cannot be read, or is neither JSON nor YAML. */
export function readSubmission(path: string): unknown {
  const lines = new LineCounter();
  // JSON is YAML as well, and this way a key given twice is an error in both.
  const document = parseDocument(textOf(path), { lineCounter: lines, prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) {
    const reason = error.code.toLowerCase().replaceAll('_', ' ');
    throw new UsageError(
      `${path} is neither JSON nor YAML: line ${lines.linePos(error.pos[0]).line} (${reason}).`,
    );
  }
  try {
    return document.toJS();
  } catch {
    throw new UsageError(`${path} refers to an anchor it does not have (text after *), or to too many.`);
  }
}

function textOf(path: string): string {
  try {
    const { size } = statSync(path);
    if (size > SUBMISSION_BYTES_MAX)
      throw new UsageError(`${path} has ${size} bytes; a submission has at most ${SUBMISSION_BYTES_MAX}.`);
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(
      `${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unreadable'}).`,
    );
  }
}
