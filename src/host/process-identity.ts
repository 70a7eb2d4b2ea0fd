/** Names this process so that another one can tell whether it still runs: behind the lease and the folder lock. */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** `host:pid:boot`, where boot pins machine start, pid namespace and process start (Linux), or is `-` elsewhere. */
export type Holder = string;

const read = (path: string): string | null => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
};

/** Start of a process in ticks since boot: field 22 of its stat line, counted after the name, which may hold spaces. */
const startTicks = (pid: number | 'self'): string | null => {
  const stat = read(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
};

/** Where a pid means the same process: this boot of this machine, this pid namespace. Null where there is no /proc. */
const pidSpace = (): string | null => {
  const boot = read('/proc/sys/kernel/random/boot_id')?.trim();
  if (boot === undefined) return null;
  try {
    return `${boot}.${readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')}`;
  } catch {
    return null;
  }
};

/** This process as a `Holder`. */
export function thisHolder(): Holder {
  const space = pidSpace();
  const boot = space === null ? '-' : `${space}.${startTicks('self') ?? '0'}`;
  return `${hostname()}:${process.pid}:${boot}`;
}

const signalReaches = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
};

/**
 * Whether the holder is certainly gone: only a process of the same machine, boot and pid namespace can be known to be
 * dead, so two containers that share a host name never take each other's place. False where it cannot be known.
 */
export function isGone(holder: Holder): boolean {
  const [, host, pidText, boot] = /^(.*):(\d+):([^:]*)$/.exec(holder) ?? [];
  if (host === undefined || pidText === undefined || boot === undefined) return false;
  const pid = Number(pidText);
  const space = pidSpace();
  if (space === null || boot === '-') return space === null && host === hostname() && !signalReaches(pid);
  if (!boot.startsWith(`${space}.`)) return false;
  return !signalReaches(pid) || startTicks(pid) !== boot.slice(space.length + 1);
}
