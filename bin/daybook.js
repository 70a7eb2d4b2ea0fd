#!/usr/bin/env node
/**
 * The command `daybook`: starts the program from its sources in a checkout, and from what was built of them in an
 * installed package. In plain old JavaScript, so that a Node that is too old gets as far as its message.
 */
import { existsSync, readFileSync } from 'node:fs';

const read = (path) => readFileSync(new URL(path, import.meta.url), 'utf8');
const needed = /\d+(\.\d+)*/.exec(JSON.parse(read('../package.json')).engines.node)[0];

if (isOlder(process.versions.node, needed)) {
  process.stderr.write(
    'daybook: this is Node ' +
      process.versions.node +
      ' (' +
      process.execPath +
      '), and daybook needs ' +
      needed +
      ' or newer. Install that from https://nodejs.org, or beside daybook: npm install node@24\n',
  );
  process.exitCode = 2;
} else {
  const source = new URL('../src/main.ts', import.meta.url);
  const program = existsSync(source) ? source : new URL('../dist/src/main.js', import.meta.url);
  void import(program.href).then(({ main }) => main());
}

/** Whether version `a` comes before version `b`; both are numbers with dots between them. */
function isOlder(a, b) {
  const [left, right] = [a, b].map((version) => version.split('.').map(Number));
  const at = right.findIndex((number, index) => number !== left[index]);
  return at !== -1 && left[at] < right[at];
}
