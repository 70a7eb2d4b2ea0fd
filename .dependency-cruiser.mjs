/**
 * Which module may import which. Imports of types and dynamic imports count like any other. Part of `npm run lint`;
 * `npx depcruise src jobs` says by itself what is wrong.
 */
import { PLUGINS } from './src/plugins.ts';

/** What a module declares its settings with. */
const DECLARING = ['settings/setting', 'settings/values'];

/** What each module of the core may import, in addition to itself; a module is a folder or a file of `src`, or the folder `jobs`. */
const MAY_IMPORT = {
  host: ['ledger/ending', 'ledger/text'], // how a command ends and how a word of the shell is written is known everywhere
  ledger: [],
  'signing.ts': ['ledger'],
  platform: ['ledger', 'host', ...DECLARING],
  objects: ['ledger', 'host', 'verify/bytes', ...DECLARING], // a digest is made in one place
  store: ['ledger', 'host', 'platform', 'objects', ...DECLARING],
  settings: ['ledger', 'host', 'signing.ts', 'platform/settings', 'objects/settings', 'store/settings'],
  forms: ['ledger', 'host', 'settings'],
  sync: ['ledger', 'host', 'platform', 'store', 'objects'],
  reconcile: ['ledger', 'host', 'platform', 'store', 'objects'],
  statements: ['ledger', 'host', 'platform', 'store', 'objects', 'signing.ts', 'verify'],
  months: ['ledger', 'host', 'store', 'objects', 'signing.ts', 'verify', 'settings', 'statements'],
  verify: ['ledger', 'signing.ts'],
  run: [
    ...['ledger', 'host', 'signing.ts', 'platform', 'store', 'objects', 'settings'],
    ...['sync', 'reconcile', 'statements', 'months'],
  ],
  library: ['ledger', 'signing.ts', 'statements', 'verify'],
  jobs: ['host', 'run', 'settings'],
};

/** The simulated platform shares the words on the wire with the client, and nothing else: it is there to contradict it. */
const SANDBOX_APART = '^src/plugins/sandbox/(?!command|demo|plugin)';

/** What a plugin may import of `src/cli`: helpers of commands, and no command. */
const CLI_HELPERS =
  'context|flags|input-file|keep-running|merchant-list|observed|output/progress-line|output/run-text|output/text|print';

const pathOf = (name) => (name === 'jobs' ? '^jobs/' : `^src/${name}${name.endsWith('.ts') ? '$' : '/'}`);

const layers = Object.entries(MAY_IMPORT).map(([name, others]) => ({
  name: `${name} may import ${others.join(', ') || 'nothing of ours'}`,
  severity: 'error',
  from: { path: pathOf(name) },
  to: {
    path: '^(src|jobs)/',
    pathNot: [name, ...others].map((other) => (other === 'jobs' ? '^jobs/' : `^src/${other}([/.]|$)`)),
  },
}));

const plugins = PLUGINS.map(({ name, needs = [] }) => ({
  name: `the plugin ${name} may import ${needs.length === 0 ? 'no other plugin' : `the plugins ${needs.join(', ')}`}`,
  severity: 'error',
  from: { path: `^src/plugins/${name}/` },
  to: { path: '^src/plugins/', pathNot: `^src/plugins/(${[name, ...needs].join('|')})/` },
}));

const rule = (name, from, to) => ({ name, severity: 'error', from, to });

export default {
  forbidden: [
    rule('no circle', {}, { circular: true }),
    rule(
      'only plugins.ts knows the plugins',
      { pathNot: '^src/(plugins\\.ts$|plugins/)' },
      { path: '^src/plugins/' },
    ),
    rule('only main.ts imports plugins.ts', { pathNot: '^src/main\\.ts$' }, { path: '^src/plugins\\.ts$' }),
    rule('nothing imports main.ts', {}, { path: '^src/main\\.ts$' }),
    rule(
      'a plugin imports no command',
      { path: '^src/plugins/' },
      { path: `^src/cli/(?!(${CLI_HELPERS})\\.ts$)` },
    ),
    rule(
      'verify takes no package but yauzl',
      { path: '^src/verify/' },
      { path: 'node_modules/', pathNot: 'node_modules/(@types/)?yauzl/' },
    ),
    rule('library is on top', { pathNot: '^src/library/' }, { path: '^src/library/' }),
    rule(
      'the simulated platform stands apart',
      { path: SANDBOX_APART },
      {
        path: '^(src|jobs)/',
        pathNot: ['^src/plugins/sandbox/', '^src/(ledger|host)/', '^src/platform/wire\\.ts$'],
      },
    ),
    ...layers,
    ...plugins,
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { extensions: ['.ts', '.js'] },
  },
};
