/** deploy/systemd: what systemd itself says of the units, and what only daybook can know. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Settings } from '../../src/settings/settings.ts';
import {
  deployed,
  deployedIn,
  knownBy,
  KNOWS,
  PAGES_FOR_ALL,
  peopleOfPages,
  settingsFrom,
  unknownArguments,
  unknownSettings,
  valuesIn,
} from './deployed.ts';

const PROGRAM = '/usr/local/bin/daybook';
const services = deployedIn('systemd', '.service');
const units = [...services, ...deployedIn('systemd', '.timer')];
/** Debian's package systemd has it; .ci/run installs that. */
const hasAnalyze = spawnSync('systemd-analyze', ['--version']).status === 0;

const valuesOf = (path: string, key: string): string[] =>
  [...deployed(path).matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value]) => value!);

describe.skipIf(!hasAnalyze)('systemd-analyze (Debian’s package systemd)', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'daybook-units-'));
    // The program is not installed here, and `verify` asks for it.
    for (const path of units)
      writeFileSync(join(folder, basename(path)), deployed(path).replaceAll(PROGRAM, process.execPath));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each(units)('%s has nothing to complain about', (path) => {
    const { status, stderr } = spawnSync(
      'systemd-analyze',
      ['verify', '--man=no', join(folder, basename(path))],
      {
        encoding: 'utf8',
      },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  test.each(services)('%s is hardly exposed', (path) => {
    const reported = execFileSync(
      'systemd-analyze',
      ['security', '--offline=true', join(folder, basename(path))],
      {
        encoding: 'utf8',
      },
    );
    const exposure = /Overall exposure level for .*: ([\d.]+)/.exec(reported)?.[1];
    expect(Number(exposure)).toBeLessThanOrEqual(1.5);
  });
});

/** One variable a word; quotes keep a word with spaces or quotes in it together. */
const environmentOf = (path: string): string[] =>
  valuesOf(path, 'Environment').flatMap((line) =>
    line.startsWith("'") ? [line.slice(1, -1)] : line.split(' '),
  );
const settingsOf = (path: string): Settings => {
  const given = environmentOf(path).map((one) => /^([^=]+)=(.*)$/.exec(one.replace('%i', '8101'))!.slice(1));
  return settingsFrom({
    ...valuesIn(deployed('settings.example.env')),
    ...(Object.fromEntries(given) as Record<string, string>),
  });
};

test('the pages ask for a login, and no two units listen at the same port', () => {
  const settings = settingsOf('systemd/daybook-pages.service');
  expect(peopleOfPages(settings)).toEqual({
    canLogOut: true,
    roles: { ada: { role: 'operator', merchants: null }, vera: { role: 'viewer', merchants: null } },
    port: 8090,
  });
  const listening = services.flatMap((path) => {
    const { listen, pagesListen, healthListen } = settingsOf(path);
    const own = path.includes('serve') ? [listen] : path.includes('pages') ? [pagesListen] : [];
    return [...own, healthListen].flatMap((one) => (one === null || one.port === 0 ? [] : [one.port]));
  });
  expect(listening.length).toBe(new Set(listening).size);
});

test('what the platform posts to shows no pages, whatever settings.env has, and the pages are at no port that is passed on to it', () => {
  // A file of the environment counts for more than the unit's own lines, and what is unset for more than both.
  expect(valuesOf('systemd/daybook-serve.service', 'UnsetEnvironment')).toEqual(Object.keys(PAGES_FOR_ALL));
  expect(settingsOf('systemd/daybook-serve.service').pagesListen).toBeNull();
  expect(valuesOf('systemd/daybook-pages.service', 'ExecStart')).toEqual([`${PROGRAM} serve --pages`]);
});

test.each(services)('%s: its command, settings and secrets exist', (path) => {
  const [start] = valuesOf(path, 'ExecStart');
  const [program, ...args] = start!.split(' ');
  expect(program).toBe(PROGRAM);
  expect(unknownArguments(args)).toEqual([]);
  const environment = environmentOf(path);
  expect(unknownSettings(environment.map((one) => one.split('=')[0]!))).toEqual([]);
  expect(settingsOf(path)).toMatchObject({
    databaseUrl: 'postgres://daybook:made-up@database/daybook',
    dataDir: '/var/lib/daybook',
  });
  const secrets = environment.flatMap((one) => one.split('=%d/')[1] ?? []);
  const credentials = valuesOf(path, 'LoadCredential').map((one) => one.split(':'));
  expect(credentials).toEqual(secrets.map((name) => [name, `/etc/daybook/secrets/${name}`]));
  expect(secrets.length).toBeGreaterThan(0);
});

test.each(services)('%s has no login and no key that its work does not need', (path) => {
  const given = Object.fromEntries(environmentOf(path).map((one) => one.split('=') as [string, string]));
  const login = /^%d\/(\w+)_database_url$/.exec(given['DATABASE_URL_FILE']!)![1]!;
  const name = /daybook-(\w+)/.exec(path)![1]!;
  expect(knownBy(login, given)).toEqual(KNOWS[name]);
});

test.each(services)('%s has a user of its own and a read-only system, and /proc for leases', (path) => {
  expect(valuesOf(path, 'DynamicUser')).toEqual(['yes']);
  expect(valuesOf(path, 'ProtectSystem')).toEqual(['strict']);
  expect(valuesOf(path, 'NoNewPrivileges')).toEqual(['yes']);
  expect([...valuesOf(path, 'ProtectProc'), ...valuesOf(path, 'ProcSubset')]).toEqual([]);
});

test('a night that is done but needs a person counts as done; faults are not tried again', () => {
  const nightly = 'systemd/daybook-nightly.service';
  expect(valuesOf(nightly, 'SuccessExitStatus')).toEqual(['3']);
  expect(valuesOf(nightly, 'RestartPreventExitStatus')).toEqual(['70']);
  expect(valuesOf(nightly, 'Restart')).toEqual(['on-failure']);
});

test('what runs for long is started again however it ended, as a database may be migrated later', () => {
  for (const path of services.filter((one) => !/nightly|migrate/.test(one)))
    expect(
      ['Restart', 'RestartPreventExitStatus', 'StartLimitIntervalSec'].map((key) => valuesOf(path, key)),
      path,
    ).toEqual([['always'], [], ['0']]);
});
