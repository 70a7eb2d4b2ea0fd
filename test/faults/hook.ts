/**
 * Loaded into a run by `--import`. It stops the process, like SIGSTOP, right before one of its effects on files, so
 * that the test can change something at exactly that moment. It can move the clock. It writes how many effects there
 * were.
 */
import callbackFs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/**
 * `statements`: file operations of publishing. `names`: a file gets its final name. `database`: the embedded one
 * writes.
 */
export type Family = 'statements' | 'names' | 'database';

export interface HookOrders {
  readonly stopAt?: { readonly family: Family; readonly nth: number };
  /** From the n-th reading of the clock on, the clock is off by this much. */
  readonly clock?: { readonly fromLook: number; readonly movedMs: number };
  /** Where the number of effects per family is written. */
  readonly countFile?: string;
}

const orders = JSON.parse(process.env['FAULT_ORDERS'] ?? '{}') as HookOrders;
const counts: Record<Family, number> = { statements: 0, names: 0, database: 0 };

function effect(family: Family): void {
  const { stopAt } = orders;
  if (stopAt?.family === family && stopAt.nth === counts[family]) process.kill(process.pid, 'SIGSTOP');
  counts[family] += 1;
}

const isOfStatements = (args: readonly unknown[]): boolean =>
  args.some((arg) => typeof arg === 'string' && arg.includes('/statements'));

/** Makes each call of a function of `fs` with a path of the statements an effect. */
function count(functions: object, name: string, opened: (fd: number) => void = () => undefined): void {
  const work = Reflect.get(functions, name) as (...args: unknown[]) => unknown;
  const counted = (...args: unknown[]): unknown => {
    if (!isOfStatements(args)) return work(...args);
    effect('statements');
    if (/^(link|rename)/.test(name)) effect('names');
    const done = args.at(-1);
    if (typeof done !== 'function') {
      const result = work(...args);
      if (typeof result === 'number') opened(result);
      return result;
    }
    return work(...args.slice(0, -1), (error: unknown, fd: number) => {
      if (error === null) opened(fd);
      (done as (error: unknown, fd: number) => void)(error, fd);
    });
  };
  Object.assign(functions, { [name]: counted });
}

/** Open files of statements, whose bytes are no effect of their own. */
const statementFiles = new Set<number>();
for (const name of ['link', 'mkdir', 'open', 'readdir', 'rename', 'rm', 'stat'])
  count(callbackFs.promises, name);
for (const name of ['linkSync', 'readdirSync', 'statSync']) count(callbackFs, name);
for (const name of ['open', 'openSync']) count(callbackFs, name, (fd) => statementFiles.add(fd));
const { closeSync } = callbackFs;
const write = callbackFs.writeSync as (...args: unknown[]) => number;
Object.assign(callbackFs, {
  closeSync: (fd: number): void => {
    statementFiles.delete(fd);
    closeSync(fd);
  },
  writeSync: (...args: unknown[]): number => {
    if (Number(args[0]) > 2 && !statementFiles.has(Number(args[0]))) effect('database');
    return write(...args);
  },
});
syncBuiltinESMExports();

const { clock, countFile } = orders;
if (clock !== undefined) {
  const RealDate = Date;
  let looks = 0;
  const nowMs = (): number => {
    looks += 1;
    return RealDate.now() + (looks > clock.fromLook ? clock.movedMs : 0);
  };
  globalThis.Date = class extends RealDate {
    constructor(...args: [number?]) {
      if (args.length === 0) super(nowMs());
      else super(...(args as [number]));
    }
    static override now(): number {
      return nowMs();
    }
  } as DateConstructor;
}
if (countFile !== undefined)
  process.on('exit', () => callbackFs.writeFileSync(countFile, JSON.stringify(counts)));
