/** Starts the bench's processes. The sandbox, daybook and the naive script each run in their own, as in production. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { RunCommand } from '../src/run/report.ts';
import type { ScenarioInput } from '../src/plugins/sandbox/scenario.ts';

const pathOf = (script: string): string => fileURLToPath(new URL(script, import.meta.url));

/** Nothing else of the shell's environment is passed on, so no setting of it can have an effect. */
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
  /** Its name in the memory row. */
  readonly what: string;
  readonly command: RunCommand;
  /** Null for what the nightly run reads. */
  readonly range: { readonly from: string; readonly to: string } | null;
  /** Settings as in production: PLATFORM_BASE_URL, DATABASE_URL, ... */
  readonly env: Env;
  /** How it ends; left out: with 0. */
  readonly endsWith?: number;
}

export interface DaybookRun {
  /** Time of the run, without the start of Node. */
  readonly elapsedMs: number;
  /** Of the processor, of all its threads, meanwhile. */
  readonly cpuMs: number;
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

/** Runs daybook. With `profileDir` it writes a CPU profile there. */
export async function runDaybook(work: DaybookWork, profileDir: string | null): Promise<DaybookRun> {
  const flags = profileDir === null ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`];
  const { command, range } = work;
  const run = await runScript<DaybookRun>('./daybook.ts', { command, range }, work.env, flags);
  if (run.exitCode !== (work.endsWith ?? 0))
    throw new Error(`${work.what} ended with ${run.exitCode}: ${run.notes.join('; ')}`);
  return run;
}

export interface SandboxProcess {
  readonly url: string;
  /** How many calls were answered so far. */
  readonly requests: () => Promise<number>;
  readonly stop: () => Promise<void>;
}

interface Listening {
  readonly url: string;
  readonly stop: () => Promise<void>;
}

/** Starts a script and waits until it prints the address it listens on. */
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

export interface PastPlatform {
  readonly scenario: ScenarioInput;
  /** How many days the past has. The last one is the day before the scenario's first. */
  readonly days: number;
}

/** Starts a platform whose merchants have entries long before the first day of the scenario. */
export const startPastPlatform = (input: PastPlatform): Promise<Listening> =>
  startListening('./past-platform.ts', input);

export interface ObjectServer {
  readonly url: string;
  /** How many objects were put so far. */
  readonly uploads: () => Promise<number>;
  readonly stop: () => Promise<void>;
}

/** Starts an object store that answers each request after `latencyMs`. Its bucket is called `bench`. */
export async function startObjectServer(input: { readonly latencyMs: number }): Promise<ObjectServer> {
  const { url, stop } = await startListening('./object-server.ts', input);
  return {
    url,
    uploads: async () => {
      const state = (await (await fetch(`${url}/uploads`)).json()) as { uploads: number };
      return state.uploads;
    },
    stop,
  };
}

export interface StartedCommand {
  /** The most memory that it has used so far, as Linux counts it. */
  readonly peakMegabytes: () => Promise<number>;
  /** Resolves when a line of its log has this text. Throws if it ends before. */
  readonly tells: (text: string) => Promise<void>;
  /** Tells it to stop, and waits until it has ended. */
  readonly stop: () => Promise<void>;
}

/** Starts a command of daybook that runs until it is stopped. */
export function startCommand(args: readonly string[], env: Env): StartedCommand {
  const child = spawn(process.execPath, [pathOf('../src/main.ts'), ...args], {
    env: { ...BARE_ENV, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'close');
  return {
    peakMegabytes: async () => {
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
      return Number(/^VmHWM:\s*(\d+) kB$/m.exec(status)![1]) / 1_024;
    },
    tells: async (text) => {
      let last = '';
      for await (const line of createInterface({ input: child.stderr })) {
        last = line;
        if (!line.includes(text)) continue;
        // The rest of the log is thrown away, or the command would wait for somebody to read it.
        child.stderr.resume();
        return;
      }
      throw new Error(`daybook ${args.join(' ')} ended: ${last}`);
    },
    stop: async () => {
      child.kill();
      await ended;
    },
  };
}

/** Starts the receiver of notifications. */
export const startReceiver = (input: {
  readonly databaseUrl: string;
  /** 32 bytes in base64. */
  readonly key: string;
  readonly processing: boolean;
}): Promise<Listening> => startListening('./receiver.ts', input);

export interface Serving {
  readonly url: string;
  readonly pagesUrl: string;
  /** Ends it, once; returns its peak memory, and the longest time in which its thread answered no one. */
  readonly stop: () => Promise<{ readonly peakMegabytes: number; readonly blockedMs: number }>;
}

/** Starts the receiver with the pages in the same process. People are whom the header `x-person` names. */
export async function startServing(input: {
  readonly databaseUrl: string;
  /** 32 bytes in base64. */
  readonly key: string;
  /** Of the statements. */
  readonly folder: string;
  /** The time of the pages; left out: the machine's. */
  readonly now?: string;
  /** Settings in addition; left out: everybody only reads. */
  readonly env?: Env;
}): Promise<Serving> {
  const child = start('./serve-shown.ts', input, {}, []);
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  const said = async <Said>(): Promise<Said> => JSON.parse((await lines.next()).value as string) as Said;
  const addresses = await said<Pick<Serving, 'url' | 'pagesUrl'>>();
  let ended: ReturnType<Serving['stop']> | undefined;
  const end = (): ReturnType<Serving['stop']> => {
    child.kill();
    return said();
  };
  return { ...addresses, stop: () => (ended ??= end()) };
}
