/** Each command that a sentence names can be run as it is printed: it has what it needs, and nothing that it does not know. */
import { PLUGINS } from '../../src/plugins.ts';
import { globSync, readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { createCompleteProgram } from '../../src/cli/program.ts';

const SOURCES = new URL('../../src/', import.meta.url).pathname;
const COMMENTS = /\/\*\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;
const COMMAND = /`daybook ([a-z][^`\\]*)\\?`/g;

/** The commands in the texts of the sources, by their file. Values are `X`. */
const printed = globSync('**/*.ts', { cwd: SOURCES }).flatMap((file) => {
  const text = readFileSync(SOURCES + file, 'utf8').replace(COMMENTS, '');
  // A template that begins with the word is a title or a name.
  const isTemplate = ({ index, 1: words }: RegExpExecArray): boolean =>
    text[index - 1] !== '\\' && words!.includes('${');
  const found = [...text.matchAll(COMMAND)]
    .filter((match) => !isTemplate(match))
    .map(([, words]) => words!.replace(/\$\{[^}]*\?[^}]*\}/g, '').replace(/\$\{[^}]*\}/g, 'X'));
  return [...new Set(found)].map((words) => ({ file, words }));
});

function problemOf(program: Command, words: string): string | null {
  const parts = words.trim().split(/\s+/);
  let command = program;
  while (parts.length > 0) {
    const next = command.commands.find((one) => one.name() === parts[0]);
    if (next === undefined) break;
    command = next;
    parts.shift();
  }
  if (command === program) return 'no such command';
  const options = [...command.options, ...(command.parent?.options ?? []), ...program.options];
  const given = new Set<string>();
  let args = 0;
  while (parts.length > 0) {
    const part = parts.shift()!;
    if (!part.startsWith('--')) args += 1;
    else {
      const option = options.find(({ long }) => long === part);
      if (part === '--help') return null;
      if (option === undefined) return `no option ${part}`;
      given.add(part);
      if (option.required) {
        if (parts.length === 0) return `${part} needs a value`;
        parts.shift();
      }
    }
  }
  const lacking = command.options.find(({ mandatory, long }) => mandatory && !given.has(long!));
  if (lacking !== undefined) return `lacks ${lacking.long}`;
  const needed = command.registeredArguments.filter(({ required }) => required).length;
  return args < needed ? 'lacks an argument' : null;
}

test('commands are found', () => {
  expect(printed.length).toBeGreaterThan(80);
});

test('each printed command has what it needs', async () => {
  const program = await createCompleteProgram(PLUGINS);
  const wrong = printed.flatMap(({ file, words }) => {
    const problem = problemOf(program, words);
    return problem === null ? [] : [`${file}: daybook ${words}: ${problem}`];
  });
  expect(wrong).toEqual([]);
});
