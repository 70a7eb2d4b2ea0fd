/** Processes of the bench: the sandbox, daybook itself and the naive script each get one, as they have in production. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { RunCommand } from '../src/run/report.ts';
import type { ScenarioInput } from '../src/sandbox/scenario.ts';

const pathOf = (script: string): string => fileURLToPath(new URL(script, import.meta.url));

/** Settings come from here alone, whatever the shell has. */
const BARE_ENV = { PATH: process.env['PATH'] };

type Env = Readonly<Record<string, string>>;

function start(script: string, input: object, env: Env, flags: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [...flags, pathOf(script)], {
    env: { ...BARE_ENV, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  // Thousands of merchants are more than an argument may hold.
  child.stdin.end(JSON.stringify(input));
  return child;
}

/** Runs a script to its end. It takes its input as JSON on stdin (`givenInput`) and prints one line of JSON. */
export async function runScript<Result>(
  script: string,
  input: object,
  env: Env = {},
  flags: readonly string[] = [],
): Promise<Result> {
  const child = start(script, input, env, flags);
  let out = '';
  child.stdout!.setEncoding('utf8').on('data', (chunk: string) => (out += chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${script} ended with ${code}: ${out}`);
  return JSON.parse(out) as Result;
}

export interface DaybookWork {
  /** For the memory row. */
  readonly what: string;
  readonly command: RunCommand;
  /** Null: the nightly default. */
  readonly range: { readonly from: string; readonly to: string } | null;
  /** As in production: PLATFORM_BASE_URL, DATABASE_URL, ... */
  readonly env: Env;
}

export interface DaybookRun {
  /** The run alone, without starting Node. */
  readonly elapsedMs: number;
  readonly peakMegabytes: number;
  readonly exitCode: number;
  readonly notes: readonly string[];
  readonly figures: {
    readonly requests: number;
    readonly inserted: number;
    readonly unchanged: number;
    readonly published: number;
  };
}

/** Runs daybook; with `profileDir`, the run leaves a CPU profile there. */
export async function runDaybook(work: DaybookWork, profileDir: string | null): Promise<DaybookRun> {
  const flags = profileDir === null ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`];
  const { command, range } = work;
  const run = await runScript<DaybookRun>('./daybook.ts', { command, range }, work.env, flags);
  if (run.exitCode !== 0) throw new Error(`${work.what} ended with ${run.exitCode}: ${run.notes.join('; ')}`);
  return run;
}

export interface SandboxProcess {
  readonly url: string;
  /** Calls answered so far. */
  readonly requests: () => Promise<number>;
  readonly stop: () => Promise<void>;
}

interface Listening {
  readonly url: string;
  readonly stop: () => Promise<void>;
}

/** Starts a script and waits until it has printed where it listens. */
async function startListening(script: string, input: object): Promise<Listening> {
  const child = start(script, input, {}, []);
  const lines = createInterface({ input: child.stdout! });
  const [url] = (await once(lines, 'line')) as [string];
  return {
    url,
    stop: async () => {
      const ended = once(child, 'close');
      child.kill();
      await ended;
    },
  };
}

export async function startSandbox(scenario: ScenarioInput): Promise<SandboxProcess> {
  const { url, stop } = await startListening('./sandbox.ts', scenario);
  return {
    url,
    requests: async () => {
      const state = (await (await fetch(`${url}/sandbox`)).json()) as { requests: number };
      return state.requests;
    },
    stop,
  };
}

/** Starts the receiver of notifications. */
export const startReceiver = (input: {
  readonly databaseUrl: string;
  /** 32 bytes in base64. */
  readonly key: string;
  readonly processing: boolean;
}): Promise<Listening> => startListening('./receiver.ts', input);
