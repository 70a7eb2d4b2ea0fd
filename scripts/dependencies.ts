/**
 * `npm run reference:dependencies`: writes docs/dependencies.md: each package that daybook runs with, why, when it was last published, and what it
 * costs on disk and at start. Asks the package registry, and measures on this machine.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { REASONS } from './dependencies/reasons.ts';
import { cell, code, table } from './reference/markdown.ts';
import { lockedPackages, reachedFrom, runtimePaths, type LockedPackages } from './runtime-lock.ts';

const TOP = fileURLToPath(new URL('..', import.meta.url));
const PAGE = join(TOP, 'docs/dependencies.md');
const RUNS = 5;

/** Bytes of the files of a package, without packages below it. */
function bytesOf(path: string): number {
  let bytes = 0;
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const at = join(path, entry.name);
    if (entry.isDirectory() && entry.name !== 'node_modules') bytes += bytesOf(at);
    else if (entry.isFile()) bytes += statSync(at).size;
  }
  return bytes;
}

const megabytes = (paths: Iterable<string>): number =>
  [...paths].reduce((sum, path) => sum + bytesOf(join(TOP, path)), 0) / 1_048_576;

/** CPU milliseconds of a Node process that runs this, the least of several. */
function cpuMs(script: string): number {
  const measured = `${script};\nprocess.on('exit', () => { const { user, system } = process.cpuUsage(); console.log((user + system) / 1e3); });`;
  const runs = Array.from({ length: RUNS }, () =>
    Number(
      execFileSync(process.execPath, ['--input-type=module', '--eval', measured], {
        cwd: TOP,
        encoding: 'utf8',
      }),
    ),
  );
  return Math.min(...runs);
}

type Times = Readonly<Record<string, string>>;

/** The day of a package's last version, and whether its registry calls it out of use. */
function published(name: string): string {
  const asked = execFileSync('npm', ['view', name, 'time', 'deprecated', '--json'], {
    cwd: TOP,
    encoding: 'utf8',
  });
  const said = JSON.parse(asked) as Times | { readonly time: Times; readonly deprecated?: string };
  const { time, deprecated } =
    typeof said.time === 'object' ? (said as { time: Times; deprecated?: string }) : { time: said as Times };
  const days = Object.entries(time).flatMap(([version, at]) =>
    /^\d/.test(version) ? [at.slice(0, 10)] : [],
  );
  return `${days.sort().at(-1) ?? 'unknown'}${deprecated === undefined ? '' : ', deprecated'}`;
}

/** What only this package brings: the packages that would be gone without it. */
function broughtBy(name: string, names: readonly string[], packages: LockedPackages): string[] {
  const without = reachedFrom(
    names.filter((other) => other !== name),
    packages,
  );
  return [...reachedFrom([name], packages)].filter((path) => !without.has(path));
}

function page(): string {
  const packages = lockedPackages();
  const { dependencies = {}, peerDependencies = {} } = packages['']!;
  const versions: Readonly<Record<string, string>> = { ...dependencies, ...peerDependencies };
  const nothing = cpuMs('');
  const rows = Object.entries(REASONS).flatMap(([by, reasons]) =>
    Object.entries(reasons).map(([name, why]) => {
      const others = Object.keys(name in dependencies ? dependencies : versions);
      const brought = broughtBy(name, others, packages);
      return [
        code(name),
        `${versions[name]!}${name in peerDependencies ? ', optional' : ''}`,
        by,
        cell(why),
        published(name),
        String(brought.length),
        megabytes(brought).toFixed(1),
        String(Math.max(0, Math.round(cpuMs(`await import(${JSON.stringify(name)})`) - nothing))),
      ];
    }),
  );
  const installed = reachedFrom(Object.keys(dependencies), packages);
  const all = runtimePaths(packages);
  return [
    '# The packages daybook runs with',
    '<!-- Made by `npm run reference:dependencies`; the reasons are in scripts/dependencies/reasons.ts. -->',
    `${Object.keys(dependencies).length} packages are installed with daybook, and with those below them ${installed.size}: ${megabytes(installed).toFixed(0)} MB. ${Object.keys(peerDependencies).length} more are optional: only some settings need them ([which](library.md)). With these, as in the image, there are ${all.size}: ${megabytes(all).toFixed(0)} MB.`,
    'Brings: how many packages would be gone without it, itself included, and their MB. Start: CPU in ms to load it, without Node itself, nothing cached. A command loads a package when it needs it.',
    table(['package', 'version', 'for', 'why', 'last published', 'brings', 'MB', 'start'], rows),
  ].join('\n\n');
}

if (import.meta.main) {
  const config = await resolveConfig(PAGE);
  writeFileSync(PAGE, await format(page(), { ...config, parser: 'markdown' }));
}
