/** The real command as a process of its own that may be stopped, let go on and killed, and never runs for ever. */
import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const NOBODY = 65_534;
/** A superuser may write to what is read-only: then the command runs as somebody who may not. */
export const runner = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

export type Env = Readonly<Record<string, string>>;

export interface Ended {
  /** Null where a signal ended it. */
  readonly code: number | null;
  /** stdout and stderr. */
  readonly told: string;
  readonly elapsedMs: number;
  /** It had to be killed as it did not end within its limit. */
  readonly isHung: boolean;
}

export interface Child {
  readonly process: ChildProcess;
  readonly ended: Promise<Ended>;
}

/** Starts `daybook ARGS`; nothing of this process's environment but the path goes in. */
export function startCommand(args: readonly string[], env: Env, limitMs: number): Child {
  const began = performance.now();
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe'],
    ...runner,
  });
  let told = '';
  let isHung = false;
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (told += text));
  const limit = setTimeout(() => {
    isHung = true;
    child.kill('SIGKILL');
  }, limitMs);
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject).on('close', (code) => {
      clearTimeout(limit);
      resolve({
        code: code === 3 && isGoodBut(told) ? 0 : code,
        told,
        elapsedMs: performance.now() - began,
        isHung,
      });
    });
  });
  return { process: child, ended };
}

/**
 * A story's late entries revise published days, which a good run tells with 3. Here that counts as the good end it is: what
 * faults are held against is that nothing else is told with more than 0.
 */
function isGoodBut(told: string): boolean {
  const [, reasons] = /^ {2}"reasons": (\[.*?^ {2}\])/ms.exec(told) ?? [];
  if (reasons === undefined) return false;
  return (JSON.parse(reasons) as { exitCode: number; what: string }[]).every(
    ({ exitCode, what }) => exitCode === 0 || /^\d+ proven days? (?:was|were) revised\b/.test(what),
  );
}

const stateOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '')[0] ?? '';
  } catch {
    return '';
  }
};

/** Resolves with true once the process stands still, with false when it ended without. */
export async function standsStill(child: ChildProcess): Promise<boolean> {
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null) return false;
    const state = stateOf(child.pid!);
    if (state === 'T') return true;
    if (state === '' || state === 'Z') return false;
    await sleep(3);
  }
}
