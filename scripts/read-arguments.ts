import { parseArgs, type ParseArgsOptionsConfig } from 'node:util';

/**
 * The options of a command of the project's own. `--help` prints its usage and ends with 0; an option that it does not
 * have ends with 2.
 */
export function readArguments<const Options extends ParseArgsOptionsConfig>(usage: string, options: Options) {
  if (process.argv.some((word) => word === '--help' || word === '-h')) {
    console.log(usage);
    process.exit(0);
  }
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    return endWithUsage(`${(error as Error).message}\n${usage}`);
  }
}

export function endWithUsage(usage: string): never {
  console.error(usage);
  process.exit(2);
}
