/**
 * The image's health check: asks the container's main process whether it is alive, if that process has an address for
 * it. It is not part of the other commands because it is started every half minute and has to be light.
 */
import { readFileSync } from 'node:fs';

const ANSWER_MS_MAX = 4_000;
/** Commands that listen. */
const LISTENING = ['serve', 'schedule', 'worker'];

/**
 * The address of /healthz. Null if the process has none; it then counts as healthy as long as it runs. `commandLine`
 * is the command line of the container's first process.
 */
export function healthUrl(
  env: Readonly<Record<string, string | undefined>>,
  commandLine: readonly string[],
): string | null {
  if (!LISTENING.some((command) => commandLine.includes(command))) return null;
  const receives = commandLine.includes('serve') && !commandLine.includes('--pages');
  const listen = env['DAYBOOK_HEALTH_LISTEN'] ?? (receives ? env['DAYBOOK_LISTEN'] : undefined);
  const port = /:(\d+)$/.exec(listen ?? '')?.[1];
  if (listen === undefined || port === undefined) return null;
  const host = listen.slice(0, -port.length - 1);
  const isAnyAddress = host === '0.0.0.0' || host === '[::]' || host === '';
  return `http://${isAnyAddress ? '127.0.0.1' : host}:${port}/healthz`;
}

/** Whether the process at `url` answers in time that it is alive. */
export async function isHealthy(url: string | null): Promise<boolean> {
  if (url === null) return true;
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS_MAX), redirect: 'error' })).ok;
  } catch {
    return false;
  }
}

if (import.meta.main) {
  const commandLine = readFileSync('/proc/1/cmdline', 'utf8').split('\0');
  process.exitCode = (await isHealthy(healthUrl(process.env, commandLine))) ? 0 : 1;
}
