/** Names a process, so that another process can check whether it still runs. The lease and the folder lock use this. */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * `host:pid:boot`. On Linux, boot names the machine's start, the pid namespace and the process's start. Elsewhere it
 * is `-`.
 */
export type Holder = string;

const read = (path: string): string | null => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
};

/**
 * Start of a process in ticks since boot: field 22 of its stat file. It is counted from behind the process's name,
 * which may contain spaces.
 */
const startTicks = (pid: number | 'self'): string | null => {
  const stat = read(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
};

/** Names the space in which a pid is unique: this boot of this machine, and this pid namespace. Null without /proc. */
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
 * Whether the holder has certainly ended. Only a process of the same machine, boot and pid namespace can be known to
 * have ended, so two containers with the same host name never take over from each other. False if it cannot be known.
 */
export function hasExited(holder: Holder): boolean {
  const [, host, pidText, boot] = /^(.*):(\d+):([^:]*)$/.exec(holder) ?? [];
  if (host === undefined || pidText === undefined || boot === undefined) return false;
  const pid = Number(pidText);
  const space = pidSpace();
  if (space === null || boot === '-') return space === null && host === hostname() && !signalReaches(pid);
  if (!boot.startsWith(`${space}.`)) return false;
  return !signalReaches(pid) || startTicks(pid) !== boot.slice(space.length + 1);
}
