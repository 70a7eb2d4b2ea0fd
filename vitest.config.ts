import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';
import { keepTemporaryFilesInMemory } from './test/support/memory-folder.ts';
import { quickTests } from './test/support/quick-tests.ts';

// Tests and the commands they start load the same code many hundred times; compiled once, that takes half the time.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url));

keepTemporaryFilesInMemory();

/** `npm run test:quick` starts no server. One project for all: only files of one project share a process. */
const quick = { include: quickTests(import.meta.dirname) };
const all = { include: ['test/**/*.test.ts'], globalSetup: ['test/support/postgres-server.ts'] };

export default defineConfig({
  test: {
    setupFiles: ['test/support/each-file.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // What is waited for comes as soon as it can; how soon is the machine's affair.
    expect: { poll: { timeout: 30_000 } },
    // A third one saves less waiting than its start costs, on two cores with the checks at the same time.
    maxWorkers: 2,
    // Much is made and let go: a larger young generation is collected less often.
    execArgv: ['--max-semi-space-size=64'],
    // Modules are loaded once for many files: no test changes a module, the clock or the environment of another one.
    isolate: false,
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // `npm test` leaves these out, `npm test -- --all` runs them as well.
    tags: [{ name: 'long', description: 'kills, random histories, more cases of one claim: CI runs them' }],
    sequence: { sequencer: LongestFirst },
    reporters: ['default', 'json'],
    outputFile: { json: '.vitest-report.json' },
    ...(process.env['DAYBOOK_TEST_QUICK'] === undefined ? all : quick),
  },
});
