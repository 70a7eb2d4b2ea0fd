import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';
import { quickTests } from './test/support/quick-tests.ts';

// Tests and the commands they start load the same code many hundred times; compiled once, that takes half the time.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url));

const quick = quickTests(import.meta.dirname);

export default defineConfig({
  test: {
    setupFiles: ['test/support/fast-check.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // What is waited for comes as soon as it can; how soon is the machine's affair.
    expect: { poll: { timeout: 30_000 } },
    // Many tests wait more than they work.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', 'json'],
    outputFile: { json: '.vitest-report.json' },
    projects: [
      { extends: true, test: { name: 'quick', include: quick } },
      {
        extends: true,
        test: {
          name: 'servers',
          include: ['test/**/*.test.ts'],
          exclude: [...quick, 'test/browser/**'],
          globalSetup: ['test/support/postgres-server.ts'],
        },
      },
      {
        // The pages in a real browser; skipped where there is no Chromium.
        extends: true,
        test: {
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          globalSetup: ['test/support/postgres-server.ts'],
        },
      },
    ],
  },
});
