/** deploy/compose.yaml: what a linter with the Compose schema finds, and what only daybook can know. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DCLinter } from 'dclint';
import { expect, test } from 'vitest';
import {
  deployed,
  documentsOf,
  knownBy,
  KNOWS,
  PAGES_FOR_ALL,
  peopleOfPages,
  PINNED,
  servingOf,
  settingsFrom,
  unknownArguments,
  unknownSettings,
  valuesIn,
} from './deployed.ts';

interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly string[];
  readonly networks?: readonly string[];
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly restart?: string;
  readonly stop_grace_period?: string;
  readonly ports?: readonly string[];
  readonly profiles?: readonly string[];
}
interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}
const compose = documentsOf('compose.yaml')[0] as Compose;
const own = Object.entries(compose.services).filter(([, { image }]) => image.includes('DAYBOOK_IMAGE'));

/** Rules of taste: an order of keys and a way to quote that the other YAML files here do not have either. */
const TASTE = [
  'service-keys-order',
  'services-alphabetical-order',
  'top-level-properties-order',
  'no-quotes-in-volumes',
  'service-dependencies-alphabetical-order',
];
/** daybook's image has both, as Compose can build it or take it. */
const MEANT = ['no-build-and-image'];

/** As much of the linter as is used; its own types do not resolve. */
type Linter = new (options: object) => {
  readonly lintFiles: (
    paths: string[],
    recursive: boolean,
  ) => { readonly messages: { readonly line: number; readonly message: string }[] }[];
};

function linted(path: string): string[] {
  const rules = Object.fromEntries([...TASTE, ...MEANT].map((rule) => [rule, 0]));
  const linter = new (DCLinter as unknown as Linter)({ rules, quiet: false, debug: false, exclude: [] });
  return linter
    .lintFiles([path], false)
    .flatMap(({ messages }) => messages.map(({ line, message }) => `${line}: ${message}`));
}

test('the linter, which checks the schema first, finds nothing', () => {
  expect(linted('deploy/compose.yaml')).toEqual([]);
  const folder = mkdtempSync(join(tmpdir(), 'daybook-compose-'));
  writeFileSync(
    join(folder, 'compose.yaml'),
    deployed('compose.yaml').replaceAll('read_only: true', 'readonly: true'),
  );
  expect(linted(join(folder, 'compose.yaml')).join()).toContain('must NOT have additional properties');
  rmSync(folder, { recursive: true });
});

test('daybook’s commands and settings exist, and every process has its secrets from files', () => {
  expect(own.map(([name]) => name)).toEqual(['migrate', 'schedule', 'serve', 'pages', 'worker', 'prune']);
  for (const [name, { command = [], environment = {}, secrets = [] }] of own) {
    expect(unknownArguments(command), name).toEqual([]);
    expect(unknownSettings(Object.keys(environment)), name).toEqual([]);
    const files = Object.values(environment).filter((value) => value.startsWith('/run/secrets/'));
    expect(files.map((path) => path.replace('/run/secrets/', '')).sort(), name).toEqual([...secrets].sort());
  }
  const used = Object.values(compose.services).flatMap(({ secrets = [] }) => secrets);
  expect([...new Set(used)].sort()).toEqual(Object.keys(compose.secrets).sort());
});

test('with the settings of the example, each process starts', () => {
  const example = valuesIn(deployed('settings.example.env'));
  expect(unknownSettings(Object.keys(example))).toEqual([]);
  for (const [name, { environment }] of own) {
    expect(settingsFrom({ ...example, ...environment }), name).toMatchObject({
      databaseUrl: 'postgres://daybook:made-up@database/daybook',
      statementsUrl: 's3://statements/daybook',
      allowInsecure: ['database', 'statements'],
      healthListen: { host: '0.0.0.0', port: 8081 },
    });
  }
});

test('no process has a login or a key that its work does not need: the pages have none that decrypts', () => {
  for (const [name, { environment = {} }] of own) {
    const login = /^\/run\/secrets\/(\w+)_database_url$/.exec(environment['DATABASE_URL_FILE']!)![1]!;
    expect([name, knownBy(login, environment)]).toEqual([name, KNOWS[name]]);
  }
});

test('the pages ask for a login, and their port is the one that is passed on', () => {
  const { environment, ports } = compose.services['pages']!;
  const settings = settingsFrom({ ...valuesIn(deployed('settings.example.env')), ...environment });
  expect(peopleOfPages(settings)).toEqual({
    canLogOut: true,
    roles: {
      ada: { role: 'operator', merchants: null },
      vera: { role: 'viewer', merchants: ['10001'] },
    },
    port: 8090,
  });
  expect(ports).toEqual(['127.0.0.1:8090:8090']);
});

test('what the platform posts to shows no pages, and the pages are nothing that it posts to', () => {
  const given = { ...valuesIn(deployed('settings.example.env')), ...PAGES_FOR_ALL };
  const serving = own.filter(([, { command }]) => command?.[0] === 'serve');
  expect(
    serving.map(([name, { command = [], environment }]) => [
      name,
      servingOf(command, settingsFrom({ ...given, ...environment })),
    ]),
  ).toEqual([
    ['serve', { receives: true, shows: false }],
    ['pages', { receives: false, shows: true }],
  ]);
});

test('images of others are pinned, and nothing can be written or gained beyond what it needs', () => {
  const others = Object.values(compose.services).filter((service) => !own.some(([, one]) => one === service));
  expect(others.map(({ image }) => image).filter((image) => !PINNED.test(image))).toEqual([]);
  for (const [name, service] of Object.entries(compose.services)) {
    expect(service, name).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    });
  }
});

const PROFILES: Readonly<Record<string, readonly string[]>> = {
  worker: ['workers'],
  pages: ['pages'],
  prune: ['prune'],
};
const RESTART: Readonly<Record<string, string>> = { migrate: 'on-failure', prune: 'no' };

test('each process is started again, has longer to stop than it takes, and only workers, pages and prune wait to be asked for', () => {
  for (const [name, { restart, stop_grace_period: grace, profiles }] of own) {
    expect(restart, name).toBe(RESTART[name] ?? 'unless-stopped');
    expect(grace, name).toBe('30s');
    expect(profiles, name).toEqual(PROFILES[name]);
  }
});
