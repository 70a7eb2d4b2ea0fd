/** Imports of types count as well: for circles, and for layers. */
import { expect, test } from 'vitest';
import { importProblems } from '../../scripts/imports.ts';

/** What is wrong in files with these texts. */
const saidOf = (
  texts: Readonly<Record<string, string>>,
  needs?: ReadonlyMap<string, readonly string[]>,
): string[] =>
  importProblems(new Map(Object.entries(texts)), needs).map(
    ({ file, line, message }) => `${file}:${line}: ${message}`,
  );

const LEASE = '../store/lease.ts';

const imports = (path: string): string => `import '${path}';`;

/** All the ways to import from a file. */
const waysTo = (path: string): string[] => [
  `import { Name } from '${path}';`,
  `import type { Name } from '${path}';`,
  `import { type Name } from '${path}';`,
  imports(path),
  `export type { Name } from '${path}';`,
  `export * from '${path}';`,
  `export {} from '${path}';`,
  `export const name = () => import('${path}');`,
];

const LATE = 'export const name';

test.each(waysTo('./chain/link.ts').filter((way) => !way.startsWith(LATE)))(
  'a circle is seen where %s closes it',
  (line) => {
    const others = {
      'src/ledger/chain/link.ts': imports('../day.ts'),
      'src/ledger/day.ts': `// ${imports('./entry.ts')}\n${imports('../ledger/entry.ts')}`,
      // Imports a circle, and is in none.
      'src/run/run.ts': imports('../ledger/entry.ts'),
    };
    const [entry, link, day] = ['src/ledger/entry.ts', 'src/ledger/chain/link.ts', 'src/ledger/day.ts'];
    expect(saidOf({ ...others, [entry]: `\n${line}\n` })).toEqual([
      `${link}:1: circle of imports: ${link} → ${day} → ${entry} → ${link}`,
      `${day}:2: circle of imports: ${day} → ${entry} → ${link} → ${day}`,
      `${entry}:2: circle of imports: ${entry} → ${link} → ${day} → ${entry}`,
    ]);
    expect(saidOf({ ...others, [entry]: imports('./money.ts') })).toEqual([]);
  },
);

test.each(waysTo(LEASE))('a layer is seen in %s', (line) => {
  expect(saidOf({ 'src/ledger/entry.ts': `\n${line}` })).toEqual([
    'src/ledger/entry.ts:2: ledger may only import nothing of ours',
  ]);
  expect(saidOf({ 'src/run/run.ts': line, 'test/ledger/entry.test.ts': line })).toEqual([]);
});

test.each([
  ['src/host/files/lock.ts', '../../ledger/entry.ts', 'host may only import ledger/ending.ts'],
  [
    'src/store/engine/rows.ts',
    '../../platform/wire.ts',
    'store may only import ledger, host, options/all.ts',
  ],
  [
    'src/plugins/sandbox/server.ts',
    '../../platform/transport.ts',
    'the simulated platform may only import ledger, host, platform/wire.ts',
  ],
  ['src/web/server.ts', '../../jobs/all.ts', 'jobs is on top: web may not import it'],
  ['src/main.ts', '../library/index.ts', 'library is on top: cli may not import it'],
  ['jobs/all.ts', '../src/store/lease.ts', 'jobs may only import run, settings, options/all.ts'],
  ['src/platform/wire.ts', '../options/all.ts', 'platform may only import ledger, host'],
  [
    'src/cli/run.ts',
    '../options/sandbox/server.ts',
    'the core knows no option: only options/all.ts may import sandbox',
  ],
  [
    'src/plugins/option.ts',
    './sandbox/option.ts',
    'the core knows no option: only options/all.ts may import sandbox',
  ],
  ['src/plugins/onboarding/check.ts', '../../library/index.ts', 'library is on top: no option may import it'],
  ['src/fresh/fresh.ts', '../ledger/entry.ts', 'fresh has no line in scripts/imports.ts'],
])('%s does not import %s', (file, path, message) => {
  expect(saidOf({ [file]: imports(path) })).toEqual([`${file}:1: ${message}`]);
});

test.each([
  ['src/ledger/chain/chain.ts', '../entry.ts'],
  ['src/plugins/sandbox/server.ts', '../../platform/wire.ts'],
  ['src/plugins/sandbox/command.ts', '../../cli/context.ts'],
  ['src/main.ts', './sandbox/option.ts'],
  ['src/cli/commands.ts', '../options/all.ts'],
  ['src/sync/plan.ts', '../platform/transport.ts'],
  ['src/cli/schedule.ts', '../../jobs/all.ts'],
  ['src/main.ts', '../web/server.ts'],
  ['src/web/server.ts', '../run/run.ts'],
  ['bench/main.ts', '../src/main.ts'],
])('%s may import %s', (file, path) => {
  expect(saidOf({ [file]: imports(path) })).toEqual([]);
});

test('a type is imported at the top, and its import in the middle of the text is one all the same', () => {
  expect(saidOf({ 'src/ledger/entry.ts': `type L = import('${LEASE}').Lease;` })).toEqual([
    'src/ledger/entry.ts:1: import the type at the top',
    'src/ledger/entry.ts:1: ledger may only import nothing of ours',
  ]);
  expect(saidOf({ 'test/a.test.ts': `\nlet lease: import('${LEASE}').Lease;` })).toEqual([
    'test/a.test.ts:2: import the type at the top',
  ]);
});

test('the list of options closes no circle, and loads nothing but values that import types', () => {
  const [list, value] = ['src/main.ts', 'src/plugins/pages/option.ts'];
  const texts = {
    [list]: `${imports('./pages/option.ts')}\nimport type { Option } from './option.ts';`,
    'src/plugins/option.ts': "import type { App } from '../run/app.ts';",
    'src/run/app.ts': imports('../options/all.ts'),
    'src/plugins/pages/heads.ts': imports('../../ledger/entry.ts'),
  };
  const fine = "import type { App } from '../../run/app.ts';\nimport './heads.ts';\nimport('./command.ts');";
  expect(saidOf({ ...texts, [value]: fine })).toEqual([]);
  expect(saidOf({ ...texts, [value]: `\n${imports('../../run/app.ts')}` })).toEqual([
    `${value}:2: each command would load src/run/app.ts with the list of options: import its types, or import() it`,
  ]);
  const late = { [value]: fine, 'src/plugins/pages/heads.ts': imports('../../store/runs.ts') };
  expect(saidOf({ ...texts, ...late })).toEqual([
    'src/plugins/pages/heads.ts:1: each command would load src/store/runs.ts with the list of options: import its types, or import() it',
  ]);
});

test('an option imports another one only where its value names it', () => {
  const texts = { 'src/plugins/onboarding-demo/command.ts': imports('../sandbox/server.ts') };
  expect(saidOf(texts, new Map([['onboarding-demo', ['reference']]]))).toEqual([
    'src/plugins/onboarding-demo/command.ts:1: the option onboarding-demo may not import sandbox, which its value does not name in `needs`',
  ]);
  expect(saidOf(texts, new Map([['onboarding-demo', ['sandbox']]]))).toEqual([]);
});

test('what is loaded when it is asked for closes no circle', () => {
  const [entry, link] = ['src/ledger/entry.ts', 'src/ledger/chain/link.ts'];
  const late = waysTo('./chain/link.ts').find((way) => way.startsWith(LATE))!;
  expect(saidOf({ [entry]: late, [link]: imports('../entry.ts') })).toEqual([]);
});
