/** How commands print results and errors. */
import type { Command } from 'commander';
import { showableLines } from '../ledger/text.ts';
import { EXIT, exitCodeOf, problemText, type ExitCode } from '../ledger/ending.ts';
import { fitted } from './output/width.ts';

export interface GlobalFlags {
  readonly config?: string;
  readonly json?: boolean;
}

/** Collects the values of an option that can be repeated. */
export const collect = (value: string, earlier: readonly string[]): string[] => [...earlier, value];

/** The result of a command: a document for `--json`, text for a person, and the exit code. */
export interface CommandOutput {
  readonly document: unknown;
  readonly text: string;
  readonly exitCode?: ExitCode;
}

/** Prints the result of a command and sets the exit code. */
export function print(command: Command, output: CommandOutput): void {
  const { json } = command.optsWithGlobals<GlobalFlags>();
  process.stdout.write(
    json === true
      ? `${showableLines(JSON.stringify(output.document, null, 2))}\n`
      : `${fitted(showableLines(output.text))}\n`,
  );
  process.exitCode = output.exitCode ?? EXIT.done;
}

/** The result of a command about very many things: its documents come in parts, and together are one list. */
export interface CommandOutputInParts {
  readonly parts: AsyncIterable<readonly unknown[]>;
  /** Both are asked for once all parts have come. */
  readonly text: () => string;
  readonly exitCode: () => ExitCode;
}

/** The same for a list in parts. With `--json`, each part is printed when it comes, so that none is kept. */
export async function printParts(command: Command, output: CommandOutputInParts): Promise<void> {
  const { json } = command.optsWithGlobals<GlobalFlags>();
  let isEmpty = true;
  for await (const part of output.parts) {
    if (json !== true || part.length === 0) continue;
    const items = JSON.stringify(part, null, 2).slice('[\n'.length, -'\n]'.length);
    process.stdout.write(`${isEmpty ? '[' : ','}\n${showableLines(items)}`);
    isEmpty = false;
  }
  process.stdout.write(
    json === true ? (isEmpty ? '[]\n' : '\n]\n') : `${fitted(showableLines(output.text()))}\n`,
  );
  process.exitCode = output.exitCode();
}

/** Prints an error as a sentence; the stack of an internal error is only shown at log level debug. */
export function printError(error: unknown): void {
  const exitCode = exitCodeOf(error);
  process.stderr.write(`daybook: ${showableLines(problemText(error))}\n`);
  const isDebugged = exitCode === EXIT.fault && process.env['DAYBOOK_LOG_LEVEL'] === 'debug';
  if (isDebugged && error instanceof Error) process.stderr.write(`${showableLines(error.stack ?? '')}\n`);
  process.exitCode = exitCode;
}
