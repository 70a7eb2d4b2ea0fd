/**
 * Loaded into a run by `--import`. It stops the process, like SIGSTOP, right before one of its effects on files, so
 * that the test can change something at exactly that moment. It can move the clock. It writes how many effects there
 * were.
 */
import callbackFs from 'node:fs';
import fs from 'node:fs/promises';
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

for (const name of ['link', 'mkdir', 'open', 'readdir', 'rename', 'rm', 'stat'] as const) {
  const work = fs[name] as (...args: unknown[]) => Promise<unknown>;
  const counted = (...args: unknown[]): Promise<unknown> => {
    if (args.some((arg) => typeof arg === 'string' && arg.includes('/statements'))) {
      effect('statements');
      if (name === 'link' || name === 'rename') effect('names');
    }
    return work(...args);
  };
  Object.assign(fs, { [name]: counted });
}
const write = callbackFs.writeSync as (...args: unknown[]) => number;
Object.assign(callbackFs, {
  writeSync: (...args: unknown[]): number => {
    if (Number(args[0]) > 2) effect('database');
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
