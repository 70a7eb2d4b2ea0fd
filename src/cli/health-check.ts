/**
 * The image's health check: whether the container's own process answers, where it has an address to answer at. Apart
 * from the other commands, as it is started every half minute and has to be light.
 */
import { readFileSync } from 'node:fs';

const ANSWER_MS_MAX = 4_000;

/**
 * Address of /healthz, or null where the process serves none: then it is alive as long as it runs. `commandLine` is
 * what the container's first process was started with.
 */
export function healthUrl(
  env: Readonly<Record<string, string | undefined>>,
  commandLine: readonly string[],
): string | null {
  const listen =
    env['DAYBOOK_HEALTH_LISTEN'] ?? (commandLine.includes('serve') ? env['DAYBOOK_LISTEN'] : undefined);
  const port = /:(\d+)$/.exec(listen ?? '')?.[1];
  if (listen === undefined || port === undefined) return null;
  const host = listen.slice(0, -port.length - 1);
  const isAnyAddress = host === '0.0.0.0' || host === '[::]' || host === '';
  return `http://${isAnyAddress ? '127.0.0.1' : host}:${port}/healthz`;
}

/** Whether the process at `url` says that it is alive, in time. */
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
