/**
 * Names statements that come again and again. The server keeps a named one for its connection, and parses and plans it
 * once instead of each time; for the many short statements of a run that is half of its work.
 */
import { createHash } from 'node:crypto';

/** A statement gets its name when its text comes so often. What a command asks once is not kept by the server. */
const NAMED_FROM = 3;
/** For each name, a connection's server process needs memory. */
const NAMES_MAX = 200;
/** Texts that vary with what they are about never come again; no more than these are counted. */
const TEXTS_MAX = 1_000;

export interface StatementNames {
  /** The name of a statement, by its text; undefined if it is sent without. */
  readonly of: (text: string) => string | undefined;
  /** Gives no names from now on. */
  readonly stop: () => void;
}

export function createStatementNames(): StatementNames {
  const counts = new Map<string, number>();
  const names = new Map<string, string>();
  let isStopped = false;
  const of = (text: string): string | undefined => {
    if (isStopped) return undefined;
    const name = names.get(text);
    if (name !== undefined || names.size >= NAMES_MAX) return name;
    const count = (counts.get(text) ?? 0) + 1;
    if (count < NAMED_FROM) {
      if (count > 1 || counts.size < TEXTS_MAX) counts.set(text, count);
      return undefined;
    }
    counts.delete(text);
    const given = `daybook_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`;
    names.set(text, given);
    return given;
  };
  return { of, stop: () => void (isStopped = true) };
}
