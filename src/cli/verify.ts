/** `verify`: checks downloaded statements against their manifests, offline. */
import type { Command } from 'commander';
import { answerTo } from '../verify/answer.ts';
import { COMPLETE, EXAMPLES, PATHS, PUBLIC_KEY } from '../verify/words.ts';
import { collect, print } from './print.ts';

interface Flags {
  readonly publicKey: readonly string[];
  readonly complete?: boolean;
}

export function verifyCommand(command: Command): void {
  command
    .argument(...PATHS)
    .option(...PUBLIC_KEY, collect, [])
    .option(...COMPLETE)
    .addHelpText('after', EXAMPLES)
    .action(async (paths: string[], { publicKey, complete = false }: Flags, self: Command) =>
      print(self, await answerTo({ paths, publicKeys: publicKey, isComplete: complete })),
    );
}
