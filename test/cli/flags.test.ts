/** Every option that a command offers is read by name where it is declared: a flag under another name would do nothing. */
import { PLUGINS } from '../../src/plugins.ts';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { createCompleteProgram } from '../../src/cli/program.ts';

const SOURCES = ['cli', 'verify', 'plugins'].flatMap((folder) => {
  const root = fileURLToPath(new URL(`../../src/${folder}`, import.meta.url));
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => readFileSync(`${root}/${path}`, 'utf8'));
});

const commandsOf = (command: Command): Command[] => [command, ...command.commands.flatMap(commandsOf)];

/** What is parsed or asked for by commander itself, or is nothing but a promise of who types it. */
const WITHOUT_READER = new Set(['--version', '--reveal']);

const isRead = (long: string, attribute: string): boolean =>
  SOURCES.some((text) => text.includes(long) && new RegExp(`(?<!-)\\b${attribute}\\b`).test(text));

test('no command offers an option that it does not read', async () => {
  const options = commandsOf(await createCompleteProgram(PLUGINS)).flatMap((command) =>
    command.options.map((option) => ({ command: command.name(), option })),
  );
  expect(options.length).toBeGreaterThan(100);
  const unread = options
    .filter(
      ({ option }) => !WITHOUT_READER.has(option.long!) && !isRead(option.long!, option.attributeName()),
    )
    .map(({ command, option }) => `${command} ${option.long!}`);
  expect(unread).toEqual([]);
});
