/** What can be checked of the image without building it: paths, versions, and files that the build context includes. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { validate } from 'dockerfile-utils';
import { expect, test } from 'vitest';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const at = (path: string): URL => new URL(`../../${path}`, import.meta.url);
const instructions = read('Dockerfile')
  .split('\n')
  .filter((line) => /^[A-Z]+ /.test(line));
const copied = instructions
  .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
  .flatMap((line) => line.split(' ').slice(1, -1));
const manifest = JSON.parse(read('package.json')) as {
  version: string;
  description: string;
  license: string;
  bin: { daybook: string };
  devDependencies: { node: string };
};

test('a linter finds nothing', () => {
  const found = validate(read('Dockerfile'));
  expect(found.map(({ range, message }) => ({ line: range.start.line + 1, message }))).toEqual([]);
});

test('its labels say what it is, as the image specification names them, and which version by the package', () => {
  const labels = Object.fromEntries(
    [...read('Dockerfile').matchAll(/org\.opencontainers\.image\.([\w.]+)="([^"]*)"/g)].map(
      ([, name, value]) => [name, value],
    ),
  );
  const { version, description, license } = manifest;
  expect(read('Dockerfile')).toContain(`\nARG VERSION=${version}\n`);
  expect(labels).toEqual({
    title: 'daybook',
    description,
    version: '$VERSION',
    licenses: license,
    'base.name': `docker.io/library/node:${manifest.devDependencies.node}-bookworm-slim`,
  });
});

test('every path it copies exists, and the build context includes it', () => {
  const letThrough = read('.dockerignore').split('\n');
  expect(copied.length).toBeGreaterThan(5);
  expect(copied.filter((path) => !existsSync(at(path)))).toEqual([]);
  expect(copied.filter((path) => !letThrough.includes(`!${path}`))).toEqual([]);
});

test('it runs the pinned Node version, not as root, without development packages', () => {
  const images = instructions.filter((line) => line.startsWith('FROM '));
  const [image, digest] = images[0]!.split(' ')[1]!.split('@');
  expect(image).toBe(`node:${manifest.devDependencies.node}-bookworm-slim`);
  // A tag can be moved to other bytes, a digest cannot.
  expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(images.map((line) => line.split(' ')[1])).toEqual([`${image}@${digest}`, `${image}@${digest}`]);
  expect(instructions).toContain('RUN npm pkg delete devDependencies peerDependenciesMeta && npm install');
  expect(instructions.findLastIndex((line) => line === 'USER node')).toBeGreaterThan(
    instructions.findLastIndex((line) => line.startsWith('RUN ')),
  );
});

test('its entry point is the program’s own, inside a folder it copies', () => {
  const entry = /^ENTRYPOINT \["node", "\/app\/(.+)"\]$/.exec(
    instructions.find((line) => line.startsWith('ENTRYPOINT ')) ?? '',
  )?.[1];
  // In a checkout `daybook` starts the same file.
  expect(read(manifest.bin.daybook)).toContain(`'../${entry!}'`);
  expect(copied).toContain(entry!.split('/')[0]);
  expect(statSync(at(entry!)).mode & 0o111).not.toBe(0);
});

test('every project file that the source reads is in a folder it copies', () => {
  // The sandbox's scenario and the migrations are read at run time, from folders next to src.
  for (const path of ['config/sandbox.yaml', 'sql/0004_ledger.sql', 'jobs/all.ts', 'package.json']) {
    expect(existsSync(at(path))).toBe(true);
    expect(copied).toContain(path.split('/')[0]);
  }
});

test('its health check is a file it copies', () => {
  const script = /"\/app\/([^"]+)"/.exec(
    instructions.find((line) => line.startsWith('HEALTHCHECK ')) ?? '',
  )?.[1];
  expect(script).toBe('src/cli/health-check.ts');
  expect(existsSync(at(script!))).toBe(true);
});
