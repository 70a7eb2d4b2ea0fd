/** Runs `daybook` with its own environment: in a process of its own, or in one that is kept for the next command. */
import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { CONNECTIONS_MAX } from '../support/database.ts';
import type { Stage } from '../support/stage.ts';
import { runWarm, type CommandEnded } from '../support/warm-commands.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

export type Env = Readonly<Record<string, string>>;

export type Ended = CommandEnded;

export interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** What it has written to stderr so far. */
  readonly reported: () => string;
}

/** Goes into every command: where programs are, where compiled code is kept, and few connections. */
const OWN = {
  ...Object.fromEntries(['PATH', 'NODE_COMPILE_CACHE'].map((name) => [name, process.env[name] ?? ''])),
  DATABASE_POOL_SIZE: String(CONNECTIONS_MAX),
};

/** Starts it, with nothing else of this process's environment. */
export function startDaybook(args: readonly string[], env: Env, cwd?: string): Started {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { ...OWN, ...env },
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject).on('close', (code) => resolve({ code, stdout, stderr }));
  });
  return { child, ended, reported: () => stderr };
}

/** Runs a command in a kept process. What is about the process itself (signals, memory, its end) takes `startDaybook`. */
export const daybook = (args: readonly string[], env: Env, cwd?: string): Promise<Ended> =>
  runWarm(args, { ...OWN, ...env }, cwd);

/** The environment variables with the settings of a stage. */
export function envOf({ app: { settings, now } }: Pick<Stage, 'app'>): Env {
  const { platform } = settings;
  return {
    PLATFORM_BASE_URL: platform.baseUrl,
    PLATFORM_TIME_ZONE: platform.timeZone,
    PLATFORM_MERCHANT_NO: platform.merchant!.merchantNo,
    PLATFORM_TOKEN: platform.merchant!.token,
    PLATFORM_RETRIES_MAX: '0',
    DATABASE_URL: settings.databaseUrl!,
    DAYBOOK_DATA_DIR: settings.dataDir,
    DAYBOOK_NOW: now().toISOString(),
  };
}
