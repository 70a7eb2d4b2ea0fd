import { expect, test } from 'vitest';
import { releaseProblems, type ReleaseState } from '../../scripts/release.ts';

const READY: ReleaseState = {
  uncommitted: '',
  version: '0.2.0',
  lockVersion: '0.2.0',
  changelog: '# Changelog\n\n## 0.2.0 (2026-12-01)\n\n## 0.1.0\n',
  repository: { type: 'git', url: 'git+https://git.example/daybook.git' },
};

test('a release that is committed and told in the changelog may go', () => {
  expect(releaseProblems(READY, { isPublished: true })).toEqual([]);
  expect(
    releaseProblems({ ...READY, changelog: '## [0.2.0] - 2026-12-01\n' }, { isPublished: true }),
  ).toEqual([]);
});

test('each thing that is missing is told, with what to do', () => {
  const unready: ReleaseState = {
    uncommitted: ' M src/main.ts\n',
    version: '0.2.0',
    lockVersion: '0.1.0',
    changelog: '# Changelog\n\n## Unreleased\n\nSince 0.2.0 ...\n\n## 0.1.0\n',
    repository: undefined,
  };
  expect(releaseProblems(unready, { isPublished: true })).toEqual([
    'commit or drop these first:\n M src/main.ts',
    'package-lock.json is of 0.1.0, package.json of 0.2.0: run `npm install`.',
    'CHANGELOG.md has no heading for 0.2.0: write `## 0.2.0` above what is new in it.',
    'CHANGELOG.md still has changes under `## Unreleased`: put them under the version.',
    'package.json names no `repository`: provenance needs the one that CI builds from.',
  ]);
});

test('a dry run needs no repository', () => {
  expect(releaseProblems({ ...READY, repository: undefined }, { isPublished: false })).toEqual([]);
});
