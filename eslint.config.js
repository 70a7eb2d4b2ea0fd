import importX from 'eslint-plugin-import-x';
import tseslint from 'typescript-eslint';
import { noImportCircle } from './scripts/import-circles.ts';

/** Folder `target` may import from the folders in `from` of src/ only, itself always included. */
const mayImport = (target, from) => ({
  target: `./src/${target}`,
  from: './src',
  except: [target, ...from].map((folder) => `./${folder}`),
  message: `src/${target} may only import ${from.length === 0 ? 'nothing of ours' : from.join(', ')}`,
});

const core = ['ledger', 'host'];
const edges = [...core, 'platform', 'store', 'objects'];
/** What an operation beside the ledger's stands on: reference data, onboarding, beneficiaries, notifications. */
const operation = [...core, 'platform', 'store', 'settings'];

/** Packages whose whole takes so long to load that every command would start later, and take more memory. */
const inParts = [
  { name: 'date-fns', message: 'its whole takes a second to load: import date-fns/addDays and the like' },
  { name: 'iso-3166', message: 'its whole holds every region of the world: import iso-3166/1-a2-to-1-n.js' },
];

export default tseslint.config(
  {
    ignores: [
      'node_modules',
      '.daybook',
      'coverage',
      'dist',
      'src/store/engine/schema.ts',
      'bench/results',
      'eslint.config.js',
    ],
  },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    plugins: { 'import-x': importX, daybook: { rules: { 'no-import-circle': noImportCircle } } },
    rules: {
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      'daybook/no-import-circle': 'error',
      // Layers are seen in import declarations alone.
      'no-restricted-syntax': ['error', { selector: 'TSImportType', message: 'import the type at the top' }],
      'import-x/no-restricted-paths': [
        'error',
        {
          zones: [
            mayImport('host', []),
            mayImport('ledger', []),
            mayImport('signing', core),
            mayImport('platform', core),
            mayImport('store', core),
            mayImport('objects', core),
            mayImport('sync', edges),
            mayImport('reconcile', edges),
            mayImport('statements', [...edges, 'signing']),
            mayImport('library', ['ledger', 'signing', 'statements']),
            mayImport('reference', operation),
            mayImport('forms', [...core, 'settings']),
            mayImport('onboarding', [...operation, 'forms']),
            mayImport('beneficiaries', [...operation, 'forms']),
            mayImport('settings', [...core, 'signing']),
            mayImport('sandbox', [...core, 'platform']),
            mayImport('notifications', [...operation, 'onboarding', 'beneficiaries']),
            mayImport('queue', [...core, 'store']),
            mayImport('alerts', [...core, 'store', 'settings']),
            mayImport('run', [
              ...[
                ...edges,
                'signing',
                'sync',
                'reconcile',
                'statements',
                'settings',
                'reference',
                'queue',
                'alerts',
              ],
            ]),
            mayImport('access', [...core, 'store', 'settings']),
            mayImport('pages', [...core, 'store', 'statements', 'run', 'access']),
            mayImport('observe', [...core, 'platform', 'store', 'queue', 'run']),
            { target: './src/!(cli)/**', from: './jobs', message: 'jobs sit on top of src', except: [] },
            { target: './src/!(cli|web)/**', from: './src/web', message: 'the server sits on top' },
            {
              target: './src/!(cli|observe)/**',
              from: './src/observe',
              message: 'metrics and traces sit on top',
            },
            { target: './src/!(cli)/**', from: './src/cli', message: 'commands sit on top' },
            { target: './src/!(library)/**', from: './src/library', message: 'it is for other programs' },
            {
              target: './src/sandbox',
              from: './src/platform',
              except: ['./wire.ts'],
              message: 'the sandbox shares only the wire types with the client',
            },
          ],
        },
      ],
    },
  },
  // What starts the program under any Node is JavaScript, which the compiler does not look at.
  { files: ['bin/**'], ...tseslint.configs.disableTypeChecked },
  {
    files: ['src/**', 'jobs/**'],
    rules: {
      'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
      'no-restricted-imports': ['error', { paths: inParts }],
    },
  },
  {
    files: ['src/ledger/**'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          paths: inParts,
          patterns: [{ group: ['node:*', 'pg', 'kysely', 'undici'], message: 'src/ledger does no IO' }],
        },
      ],
      'no-restricted-globals': ['error', 'fetch', 'process', 'setTimeout', 'setInterval'],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'the clock is a parameter' },
      ],
    },
  },
  {
    files: ['test/**', 'bench/**', 'scripts/**'],
    rules: {
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
);
