/** Runs `verify.mjs`, the file for auditors, as it is built from these sources. */
import { spawn } from 'node:child_process';
import { standaloneVerify } from '../../scripts/build/standalone.ts';

let made: Promise<string> | undefined;

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the file with these arguments and without an environment; no file of it is left behind. */
export async function verifyAlone(args: readonly string[]): Promise<Ended> {
  const script = await (made ??= standaloneVerify());
  const child = spawn(process.execPath, ['--input-type=module', '-', ...args], { env: {} });
  child.stdin.end(script);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  return new Promise((resolve, reject) => {
    child.on('error', reject).on('close', (code) => resolve({ code, stdout, stderr }));
  });
}
