/** Runs the real command as a process that can be stopped, continued and killed, and that has a time limit. */
import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const NONE_UNDONE = 65_534;
/** A superuser may write to read-only files. In that case the command runs as another user. */
export const runner = process.getuid?.() === 0 ? { uid: NONE_UNDONE, gid: NONE_UNDONE } : {};

export type Env = Readonly<Record<string, string>>;

export interface Ended {
  /** Null if a signal ended it. */
  readonly code: number | null;
  /** Everything it wrote to stdout and stderr. */
  readonly reported: string;
  readonly elapsedMs: number;
  /** True if it did not end within its limit and had to be killed. */
  readonly isHung: boolean;
}

export interface Child {
  readonly process: ChildProcess;
  readonly ended: Promise<Ended>;
}

/** Starts `daybook ARGS`. Of this process's environment it gets only the path. */
export function startCommand(args: readonly string[], env: Env, limitMs: number): Child {
  const began = performance.now();
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe'],
    ...runner,
  });
  let reported = '';
  let isHung = false;
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (reported += text));
  const limit = setTimeout(() => {
    isHung = true;
    child.kill('SIGKILL');
  }, limitMs);
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject).on('close', (code) => {
      clearTimeout(limit);
      resolve({
        code: code === 3 && isGoodBut(reported) ? 0 : code,
        reported,
        elapsedMs: performance.now() - began,
        isHung,
      });
    });
  });
  return { process: child, ended };
}

/**
 * Whether a run has only the reasons of a good end. A story's late entries revise published days, which a good run
 * reports with 3. So that reason is allowed here, and any other reason with an exit code above 0 is not.
 */
function isGoodBut(reported: string): boolean {
  const [, reasons] = /^ {2}"reasons": (\[.*?^ {2}\])/ms.exec(reported) ?? [];
  if (reasons === undefined) return false;
  return (JSON.parse(reasons) as { exitCode: number; what: string }[]).every(
    ({ exitCode, what }) => exitCode === 0 || /^\d+ published days? (?:was|were) revised\b/.test(what),
  );
}

const stateOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '')[0] ?? '';
  } catch {
    return '';
  }
};

/** Resolves with true once the process is stopped, or with false if it ended instead. */
export async function standsStill(child: ChildProcess): Promise<boolean> {
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null) return false;
    const state = stateOf(child.pid!);
    if (state === 'T') return true;
    if (state === '' || state === 'Z') return false;
    await sleep(3);
  }
}
