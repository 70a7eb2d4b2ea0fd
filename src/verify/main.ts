/** `daybook verify` by itself: `npm run build` makes one file of this and of what it imports, `dist/verify.mjs`. */
import { parseArgs } from 'node:util';
import { EXIT, exitCodeOf, problemText } from '../ledger/ending.ts';
import { showableLines } from '../ledger/text.ts';
import { wrapped } from '../ledger/wrapped.ts';
import { answerTo } from './answer.ts';
import { COMPLETE, EXAMPLES, PATHS, PUBLIC_KEY, VERIFY_ABOUT } from './words.ts';

const OPTIONS = {
  'public-key': { type: 'string', multiple: true },
  complete: { type: 'boolean' },
  json: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

const HELP = [
  ...[`Usage: node verify.mjs [options] ${PATHS[0]}`, '', VERIFY_ABOUT, ''],
  ...[PATHS, PUBLIC_KEY, COMPLETE, ['--json', 'print one JSON document'], ['--help', 'say this']].map(
    ([spelled, meaning]) => `  ${spelled}  ${meaning}`,
  ),
  EXAMPLES,
].join('\n');

/** The arguments, or a sentence on what is wrong with them. */
function readArgs() {
  try {
    const args = process.argv.slice(2).map((arg) => (arg === '--whole' ? '--complete' : arg));
    const { values, positionals } = parseArgs({ args, options: OPTIONS, allowPositionals: true });
    if (positionals.length === 0 && values.help !== true)
      return 'what is to be checked? Name files or folders.';
    return { ...values, paths: positionals };
  } catch (error) {
    return (error as Error).message;
  }
}

async function run(): Promise<void> {
  const asked = readArgs();
  if (typeof asked === 'string') {
    process.stderr.write(`error: ${asked}\n(use --help to list the options)\n`);
    process.exitCode = EXIT.usage;
  } else if (asked.help === true) process.stdout.write(`${HELP}\n`);
  else {
    const { paths, 'public-key': publicKeys = [], complete: isComplete = false } = asked;
    const answer = await answerTo({ paths, publicKeys, isComplete });
    const { isTTY, columns } = process.stdout;
    const text = (): string => wrapped(showableLines(answer.text), isTTY && columns > 0 ? columns : Infinity);
    process.stdout.write(
      `${asked.json === true ? showableLines(JSON.stringify(answer.document, null, 2)) : text()}\n`,
    );
    process.exitCode = answer.exitCode;
  }
}

await run().catch((error: unknown) => {
  process.stderr.write(`daybook: ${showableLines(problemText(error))}\n`);
  process.exitCode = exitCodeOf(error);
  const isDebugged = process.exitCode === EXIT.fault && process.env['DAYBOOK_LOG_LEVEL'] === 'debug';
  if (isDebugged && error instanceof Error) process.stderr.write(`${showableLines(error.stack ?? '')}\n`);
});
