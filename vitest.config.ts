import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// Tests and the commands they start load the same code many hundred times; compiled once, that takes half the time.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url));

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/postgres-server.ts'],
    setupFiles: ['test/support/fast-check.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // What is waited for comes as soon as it can; how soon is the machine's affair.
    expect: { poll: { timeout: 30_000 } },
    maxWorkers: 2,
    reporters: ['default', 'json'],
    outputFile: { json: '.vitest-report.json' },
  },
});
