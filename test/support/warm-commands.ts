/** Runs command lines in processes that are kept for the next one, instead of starting one for each. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { coverageOf, type CoverageAsked } from './coverage.ts';

const RUNNER = fileURLToPath(new URL('command-runner.ts', import.meta.url));

export interface CommandAsked {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  /** What ends the command's output in each stream. */
  readonly mark: string;
  /** Where the parts of the source that it runs are written, as run by a test file. */
  readonly coverage: CoverageAsked | null;
}

export interface CommandEnded {
  /** Null if a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Runner {
  readonly child: ChildProcess;
  stdout: string;
  stderr: string;
  /** Called when more output came. */
  onOutput: () => void;
}

const idle: Runner[] = [];

function startRunner(env: Readonly<Record<string, string>>): Runner {
  const child = spawn(process.execPath, ['--max-semi-space-size=64', RUNNER], {
    env,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const runner: Runner = { child, stdout: '', stderr: '', onOutput: () => undefined };
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    runner.stdout += text;
    runner.onOutput();
  });
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    runner.stderr += text;
    runner.onOutput();
  });
  return runner;
}

/** Runs one command line. Several at once have a process each. `env` is all that the command sees. */
export function runWarm(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd?: string,
): Promise<CommandEnded> {
  const runner = idle.pop() ?? startRunner(env);
  const { child } = runner;
  const mark = `\nEND ${randomUUID()} `;
  runner.stdout = runner.stderr = '';
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      runner.onOutput = () => undefined;
      child.off('close', onClose).off('error', reject);
    };
    const onClose = (code: number | null): void => {
      stop();
      resolve({ code, stdout: runner.stdout, stderr: runner.stderr });
    };
    runner.onOutput = () => {
      const [stdout, code] = runner.stdout.split(mark);
      const [stderr, after] = runner.stderr.split(mark);
      if (code?.endsWith('\n') !== true || after === undefined) return;
      stop();
      idle.push(runner);
      resolve({ code: Number(code), stdout: stdout!, stderr: stderr! });
    };
    child.on('close', onClose).on('error', reject);
    const coverage = coverageOf(expect.getState().testPath!);
    const asked: CommandAsked = { args, env, cwd, mark, coverage };
    child.send(asked);
  });
}
