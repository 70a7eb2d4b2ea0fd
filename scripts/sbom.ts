/**
 * `npm run sbom`: prints the packages that daybook is made of, without those for development, as CycloneDX. npm's own
 * `--omit dev` leaves out a package, and all below it, that a development package needs as well; so npm is shown a lock file
 * that has no development packages.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LockedPackage } from './licences.ts';

interface Described {
  readonly devDependencies?: unknown;
}

/** A key without a value is not written. */
const withoutDev = (one: Described): Described => ({ ...one, devDependencies: undefined });

const textOf = (name: string): string =>
  readFileSync(fileURLToPath(new URL(`../${name}`, import.meta.url)), 'utf8');

/** The text of the list. Throws what npm says if it cannot make one. */
export function sbom(): string {
  const lock = JSON.parse(textOf('package-lock.json')) as {
    packages: Record<string, LockedPackage & Described>;
  };
  const packages = Object.entries(lock.packages)
    .filter(([, { dev }]) => dev !== true)
    .map(([path, one]) => [path, withoutDev(one)] as const);
  const folder = mkdtempSync(join(tmpdir(), 'daybook-sbom-'));
  const write = (name: string, value: unknown) => writeFileSync(join(folder, name), JSON.stringify(value));
  try {
    write('package.json', withoutDev(JSON.parse(textOf('package.json')) as Described));
    write('package-lock.json', { ...lock, packages: Object.fromEntries(packages) });
    const options = ['--sbom-format', 'cyclonedx', '--package-lock-only'];
    return execFileSync('npm', ['sbom', ...options], { cwd: folder, encoding: 'utf8', maxBuffer: 64e6 });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (import.meta.main) process.stdout.write(sbom());
