/**
 * `npm run release`: checks what a release has to be, and shows what npm would publish. With `-- --publish` it publishes.
 * With `--check` it only checks, which `npm publish` has it do first, so that no other way leads around the checks.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const TOP = fileURLToPath(new URL('..', import.meta.url));

/** What a release is judged by. */
export interface ReleaseState {
  /** What `git status --porcelain` says; empty if everything is committed. */
  readonly uncommitted: string;
  readonly version: string;
  readonly lockVersion: string;
  readonly changelog: string;
  /** As in package.json; undefined if it has none. */
  readonly repository: unknown;
}

/** What stands in the way of a release, a sentence each. Only what is published needs a repository, which npm's provenance names. */
export function releaseProblems(
  state: ReleaseState,
  { isPublished }: { readonly isPublished: boolean },
): string[] {
  const { uncommitted, version, lockVersion, changelog, repository } = state;
  const headings = changelog.split('\n').filter((line) => line.startsWith('## '));
  const problems: string[] = [];
  if (uncommitted !== '') problems.push(`commit or drop these first:\n${uncommitted.trimEnd()}`);
  if (lockVersion !== version)
    problems.push(`package-lock.json is of ${lockVersion}, package.json of ${version}: run \`npm install\`.`);
  if (!headings.some((heading) => heading.split(/[\s[\]]+/).includes(version)))
    problems.push(
      `CHANGELOG.md has no heading for ${version}: write \`## ${version}\` above what is new in it.`,
    );
  if (headings.includes('## Unreleased'))
    problems.push('CHANGELOG.md still has changes under `## Unreleased`: put them under the version.');
  if (isPublished && repository === undefined)
    problems.push('package.json names no `repository`: provenance needs the one that CI builds from.');
  return problems;
}

const read = (name: string): string => readFileSync(`${TOP}/${name}`, 'utf8');

function stateHere(): ReleaseState {
  const { version, repository } = JSON.parse(read('package.json')) as {
    version: string;
    repository?: unknown;
  };
  return {
    uncommitted: execFileSync('git', ['status', '--porcelain'], { cwd: TOP, encoding: 'utf8' }),
    version,
    lockVersion: (JSON.parse(read('package-lock.json')) as { version: string }).version,
    changelog: read('CHANGELOG.md'),
    repository,
  };
}

const npm = (...args: readonly string[]) => execFileSync('npm', args, { cwd: TOP, stdio: 'inherit' });

/** Returns the exit code. */
function release(isOnlyCheck: boolean, isPublished: boolean): number {
  const problems = releaseProblems(stateHere(), { isPublished });
  for (const problem of problems) console.error(`release: ${problem}`);
  if (problems.length > 0) return 1;
  if (isOnlyCheck) return 0;
  npm('run', 'test:all');
  for (const check of ['licences', 'audit']) npm('run', '--silent', check);
  npm('publish', '--provenance', '--access', 'public', ...(isPublished ? [] : ['--dry-run']));
  return 0;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { check: { type: 'boolean', default: false }, publish: { type: 'boolean', default: false } },
  });
  // In a dry run npm runs the check as well, and publishes nothing.
  const isPublished = values.publish || (values.check && process.env['npm_config_dry_run'] !== 'true');
  process.exitCode = release(values.check, isPublished);
}
