/** The lint rules over imports see types: circles, and layers. */
import { ESLint } from 'eslint';
import { expect, test } from 'vitest';
import tseslint from 'typescript-eslint';

const root = new URL('../..', import.meta.url).pathname;
const LINK = './chain/chain-link.ts';
const LEASE = '../store/engine/lease.ts';
const RULES = ['daybook/no-import-circle', 'import-x/no-restricted-paths', 'no-restricted-syntax'];
const eslint = new ESLint({
  cwd: root,
  overrideConfig: [tseslint.configs.disableTypeChecked],
  ruleFilter: ({ ruleId }) => RULES.includes(ruleId),
});

/** What the rules say of a file of src with this text in its place. */
async function saidOf(file: string, text: string): Promise<readonly string[]> {
  const [linted] = await eslint.lintText(text, { filePath: `${root}${file}` });
  return linted!.messages.map(({ message, line }) => `${line}: ${message}`);
}

test.each([
  `import type { Chain } from '${LINK}';`,
  `import { type Chain } from '${LINK}';`,
  `export type { Chain } from '${LINK}';`,
  `export * from '${LINK}';`,
  `export const chain = () => import('${LINK}');`,
])('a circle is seen where %s closes it', async (line) => {
  expect(await saidOf('src/ledger/entry.ts', `\n${line}\n`)).toEqual([
    '2: circle of imports: src/ledger/entry.ts → src/ledger/chain/chain-link.ts → src/ledger/entry.ts',
  ]);
  expect(await saidOf('src/ledger/entry.ts', '')).toEqual([]);
});

test.each([`import type { Lease } from '${LEASE}';`, `export type { Lease } from '${LEASE}';`])(
  'the layer rules see the type in %s',
  async (line) => {
    expect(await saidOf('src/ledger/entry.ts', line)).toEqual([
      expect.stringContaining('src/ledger may only import nothing of ours'),
    ]);
  },
);

test('a type is not imported in the middle of the text, where layers are not seen', async () => {
  expect(await saidOf('src/ledger/entry.ts', `type L = import('${LEASE}').Lease;`)).toContainEqual(
    '1: import the type at the top',
  );
});
