/** `npm run licences`: checks that the licence of every package in package-lock.json allows giving the project away. */
import { lockedPackages, runtimePaths, type LockedPackages } from './runtime-lock.ts';

/** Licences that only ask to name their authors. */
const PERMISSIVE = [
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'MIT-0',
  'MIT/X11',
  'PostgreSQL',
  'Python-2.0',
  'Unlicense',
];
/** Also fine for tools, as they are not passed on with the program. */
const FOR_TOOLS = [...PERMISSIVE, 'CC0-1.0', 'MPL-2.0'];

/** Packages that state their licence in a file alone, which somebody read. Another version is read again. */
const READ: Readonly<Record<string, string>> = { 'png-js 2.0.0': 'MIT' };

/** A sentence for each package whose licence is not allowed. */
export function licenceProblems(packages: LockedPackages): string[] {
  const passedOn = runtimePaths(packages);
  return Object.entries(packages).flatMap(([path, locked]) => {
    if (path === '' || locked.link === true) return [];
    const name = `${path.replace(/^.*node_modules\//, '')} ${locked.version ?? ''}`.trim();
    const license = locked.license ?? READ[name];
    if (license === undefined) return [`${name} states no licence: read its files, then list or replace it.`];
    const allowed = passedOn.has(path) ? PERMISSIVE : FOR_TOOLS;
    // "A OR B" leaves a choice. "A AND B" means both apply.
    const choices = license.replace(/[()]/g, '').split(/\s+OR\s+/);
    const fits = choices.some((choice) => choice.split(/\s+AND\s+/).every((one) => allowed.includes(one)));
    return fits
      ? []
      : [`${name} is under ${license}, which is not allowed: replace it, or decide and list it.`];
  });
}

if (import.meta.main) {
  const packages = lockedPackages();
  const problems = licenceProblems(packages);
  for (const problem of problems) console.error(problem);
  console.log(`${Object.keys(packages).length - 1} packages looked at, ${problems.length} to look into`);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
