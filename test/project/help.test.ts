import { execFile } from 'node:child_process';
import { expect, test } from 'vitest';

const run = (script: string, ...args: readonly string[]) =>
  new Promise((resolve) =>
    execFile(process.execPath, [script, ...args], (error, stdout, stderr) =>
      resolve(error === null ? [0, stdout] : [error.code, stderr]),
    ),
  );

test.each([
  'scripts/mutate.ts',
  'test/simulation/simulate.ts',
  'test/faults/faults.ts',
  'test/catch-rate/catch-rate.ts',
  'test/plugins/books/card/match-card.ts',
])(
  '%s tells how it is used, and does nothing where it is asked for what it does not have',
  { tags: ['long'] },
  async (script) => {
    expect(await run(script, '--help')).toEqual([0, expect.stringMatching(/^Usage: npm run [^]*--seed/)]);
    expect(await run(script, '--sed', '7')).toEqual([2, expect.stringMatching(/'--sed'.*\n?Usage: npm run/)]);
    expect(await run(script, '--seed', 'seven')).toEqual([2, expect.stringMatching(/^Usage: npm run/)]);
  },
);
