/**
 * The rows of a workbook, which a process of its own unpacks: a small file may unpack to gigabytes, and then that process dies and not the
 * one that serves others. What may be unpacked has limits that are checked before anything is kept.
 */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { packageFile } from '../../../host/files.ts';
import { UsageError } from '../../../run/verdict/exit-codes.ts';

export interface WorkbookLimits {
  /** Of all files in the workbook together. */
  readonly unpackedBytes: number;
  readonly strings: number;
  /** Rows and cells of all sheets together; in the sheet that is read, empty cells before filled ones count, too. */
  readonly cells: number;
  /** Of the process that reads it. */
  readonly heapMb: number;
}

/** A person at the machine may read what the machine can hold. */
export const COMMAND_LIMITS: WorkbookLimits = {
  unpackedBytes: 1_024 * 1_048_576,
  strings: 4_000_000,
  cells: 20_000_000,
  heapMb: 1_024,
};
/** A server has other work, and reads one at a time; its container has 512 MB. */
export const PAGES_LIMITS: WorkbookLimits = {
  unpackedBytes: 128 * 1_048_576,
  strings: 400_000,
  cells: 2_000_000,
  heapMb: 160,
};

export type WorkbookValue = string | number | boolean | Date | null;

export interface WorkbookRow {
  /** From 0. */
  readonly index: number;
  readonly values: readonly WorkbookValue[];
}

/** What the process is asked, as its argument. */
export interface WorkbookQuestion {
  readonly sheet: string | null;
  readonly limits: WorkbookLimits;
}

/** A line that the process writes. A date is written as its milliseconds, in a list of its own. */
export type WorkbookAnswer =
  | { readonly rows: readonly (readonly [number, readonly (WrittenValue | null)[]])[] }
  | { readonly refused: string }
  | { readonly end: true };
type WrittenValue = string | number | boolean | readonly [number | null];

/** The process is ended where it says nothing for so long. */
const SILENT_MS_MAX = 60_000;

type Reader = ChildProcessByStdio<Writable, Readable, null>;

/** Without the environment, which holds secrets that no file needs. */
function startReader(question: WorkbookQuestion): Reader {
  const place = 'src/plugins/books/import/workbook-process';
  const script = packageFile(import.meta.url.endsWith('.ts') ? `${place}.ts` : `dist/${place}.js`);
  const heap = `--max-old-space-size=${question.limits.heapMb}`;
  return spawn(process.execPath, [heap, script, JSON.stringify(question)], {
    env: {},
    stdio: ['pipe', 'pipe', 'ignore'],
  });
}

/**
 * The rows of a sheet, part by part. Ends the process when it is left, or with the signal's reason. Throws `UsageError` for what is no
 * workbook, or is larger than the limits; `name` is the file's.
 */
export async function* workbookRows(
  name: string,
  file: Uint8Array,
  question: WorkbookQuestion,
  signal?: AbortSignal,
): AsyncGenerator<readonly WorkbookRow[]> {
  signal?.throwIfAborted();
  const reader = startReader(question);
  const stop = (): void => void reader.kill('SIGKILL');
  signal?.addEventListener('abort', stop, { once: true });
  // A process that has ended takes no bytes; its end tells why.
  reader.stdin.on('error', () => undefined);
  const started = new Promise<null>((resolve, reject) =>
    reader.on('spawn', () => resolve(null)).on('error', reject),
  );
  try {
    await started;
    reader.stdin.end(file);
    for await (const line of spokenLines(reader, stop)) {
      const answer = JSON.parse(line) as WorkbookAnswer;
      if ('end' in answer) return;
      if ('refused' in answer) throw new UsageError(`${name} ${answer.refused} Nothing was stored.`);
      yield answer.rows.map(([index, values]) => ({ index, values: values.map(valueOf) }));
    }
    signal?.throwIfAborted();
    throw new UsageError(
      `${name} cannot be read as a workbook: it needs more than ${question.limits.heapMb} MB of memory, or more than ` +
        `${SILENT_MS_MAX / 1_000} seconds for one part. Save it as CSV. Nothing was stored.`,
    );
  } finally {
    signal?.removeEventListener('abort', stop);
    stop();
  }
}

/** The lines that the process writes. While one is waited for, time runs; while its rows are stored, none does, and no more is read. */
async function* spokenLines(reader: Reader, stop: () => void): AsyncGenerator<string> {
  const pieces = reader.stdout.setEncoding('utf8').iterator() as NodeJS.AsyncIterator<string>;
  let begun = '';
  try {
    for (;;) {
      const timer = setTimeout(stop, SILENT_MS_MAX);
      const next = await pieces.next().finally(() => clearTimeout(timer));
      if (next.done === true) return;
      begun += next.value;
      if (!next.value.includes('\n')) continue;
      const lines = begun.split('\n');
      begun = lines.pop()!;
      yield* lines;
    }
  } finally {
    await pieces.return?.();
  }
}

const valueOf = (value: WrittenValue | null): WorkbookValue =>
  typeof value === 'object' && value !== null ? new Date(value[0] ?? Number.NaN) : value;
