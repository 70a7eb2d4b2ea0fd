/** `verify`: checks downloaded statements against their manifests, offline. */
import type { Command } from 'commander';
import { EXIT } from '../run/verdict/exit-codes.ts';
import { verifyPaths, type VerifyReport } from '../statements/verify.ts';
import { print } from './context.ts';
import { counted, lines } from './output/text.ts';

export function addVerifyCommand(program: Command): void {
  program
    .command('verify')
    .argument('<path...>', 'statements, manifests, or folders of them')
    .description('check downloaded statements against their manifest, offline: bytes, sums, chain')
    .addHelpText('after', '\nExample:\n  daybook verify downloads/')
    .action(async (paths: string[], _flags: object, self: Command) => {
      const report = await verifyPaths(paths);
      print(self, {
        document: report,
        text: verifyText(report),
        exitCode: report.problems.length === 0 ? EXIT.done : EXIT.needsPerson,
      });
    });
}

function verifyText({ manifests, files, problems }: VerifyReport): string {
  const broken = files.filter(({ verdict, current }) => current && verdict === 'broken');
  return lines(
    `${counted(files.length, 'file')} of ${counted(manifests, 'manifest')} checked: ` +
      (problems.length === 0 ? 'all as published' : counted(problems.length, 'problem')),
    ...problems.map(({ path, problem }) => `  ${path}: ${problem}`),
    ...broken.map(
      ({ path, breaks, explained }) =>
        `  note: ${path} was published with a broken balance chain` +
        (explained === 0 ? '' : `; ${explained} of ${counted(breaks!, 'break')} explained in its manifest`),
    ),
  );
}
