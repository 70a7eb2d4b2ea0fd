/**
 * The packages that daybook runs with: those installed with it, and those that only some settings need (optional peers, which
 * the image has). As a lock file of these alone, npm tells of them what it cannot tell of the full one.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

type Versions = Readonly<Record<string, string>>;

export interface LockedPackage {
  readonly version?: string;
  /** SPDX expression, as in the package. */
  readonly license?: string;
  readonly link?: boolean;
  readonly dependencies?: Versions;
  readonly optionalDependencies?: Versions;
  readonly peerDependencies?: Versions;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/** Packages of a lock file by their path: `node_modules/kysely`. */
export type LockedPackages = Readonly<Record<string, LockedPackage>>;

const textOf = (name: string): string =>
  readFileSync(fileURLToPath(new URL(`../${name}`, import.meta.url)), 'utf8');

export const lockedPackages = (): LockedPackages =>
  (JSON.parse(textOf('package-lock.json')) as { readonly packages: LockedPackages }).packages;

/** The path of a package as one at `from` finds it: in the nearest folder of packages. Null if it is not installed. */
function pathOf(packages: LockedPackages, from: string, name: string): string | null {
  for (let at = from; ;) {
    const path = `${at === '' ? '' : `${at}/`}node_modules/${name}`;
    if (packages[path] !== undefined) return path;
    if (at === '') return null;
    at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')));
  }
}

/** The paths of packages that these names of the top bring, themselves included. */
export function reachedFrom(names: Iterable<string>, packages: LockedPackages): Set<string> {
  const reached = new Set<string>();
  const visit = (from: string, name: string): void => {
    const path = pathOf(packages, from, name);
    if (path === null || reached.has(path)) return;
    reached.add(path);
    const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = packages[path]!;
    for (const needed of Object.keys({ ...dependencies, ...optionalDependencies })) visit(path, needed);
    for (const peer of Object.keys(peerDependencies ?? {}))
      if (peerDependenciesMeta?.[peer]?.optional !== true) visit(path, peer);
  };
  for (const name of names) visit('', name);
  return reached;
}

/** The paths of all packages that daybook runs with. */
export function runtimePaths(packages: LockedPackages): Set<string> {
  const { dependencies, peerDependencies } = packages['']!;
  return reachedFrom(Object.keys({ ...dependencies, ...peerDependencies }), packages);
}

/** Calls `work` with a folder that has a package.json and a lock file of these packages alone. */
export function withRuntimeLock<Result>(work: (folder: string) => Result): Result {
  const lock = JSON.parse(textOf('package-lock.json')) as { readonly packages: LockedPackages };
  const { devDependencies, peerDependenciesMeta, peerDependencies, dependencies, ...described } = JSON.parse(
    textOf('package.json'),
  ) as LockedPackage & { readonly devDependencies: Versions };
  const needed = { dependencies: { ...dependencies, ...peerDependencies } };
  const paths = runtimePaths(lock.packages);
  const kept = Object.entries(lock.packages).filter(([path]) => paths.has(path));
  const { license = '', version = '' } = lock.packages['']!;
  const top = { name: Reflect.get(described, 'name') as string, version, license, ...needed };
  const folder = mkdtempSync(join(tmpdir(), 'daybook-packages-'));
  try {
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...described, ...needed }));
    writeFileSync(
      join(folder, 'package-lock.json'),
      JSON.stringify({
        ...lock,
        packages: { '': top, ...Object.fromEntries(kept.map(([path, one]) => [path, installed(one)])) },
      }),
    );
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Without what npm notes of packages for development. */
function installed(locked: LockedPackage): LockedPackage {
  const { dev, devOptional, peer, ...rest } = locked as LockedPackage & Record<string, unknown>;
  return rest;
}
