/** What a person sees on a terminal: the answer, and above it at most sentences; never log lines. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { MERCHANT, openStage, scenario, type Stage } from '../support/stage.ts';
import { daybook, envOf, type Env } from './daybook.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const LOG_LINE = /^\s*\{"level"|^\[\d\d:\d\d:\d\d\.\d+\]|"level":\d\d/m;

let stage: Stage;
let env: Env;
beforeEach(async () => {
  const merchants = [{ ...MERCHANT, currencies: ['USD'] }];
  stage = await openStage({ scenario: scenario({ merchants }) });
  env = { ...envOf(stage), PLATFORM_RETRIES_MAX: '1', DAYBOOK_NOW: stage.app.now().toISOString() };
});
afterEach(() => stage.close());

/** Runs it on a pseudo terminal; stderr and stdout come as one, as a person sees them. */
async function onTerminal(command: string, more: Env = {}): Promise<string> {
  const line = `${process.execPath} ${MAIN} ${command}`;
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    env: { PATH: process.env['PATH']!, NO_COLOR: '1', TERM: 'xterm', ...env, ...more },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text));
  await once(child, 'close');
  return shown.replaceAll('\r\n', '\n').replace(/[^\n]*\r\u001b\[K/g, '');
}

describe.skipIf(!existsSync('/usr/bin/script'))('on a terminal', () => {
  test('a run shows its report alone', async () => {
    const shown = await onTerminal('run');
    expect(shown).toMatch(/^run of /);
    expect(shown).not.toMatch(LOG_LINE);
  });

  test('a call that is sent again is a sentence above the report', async () => {
    stage.sandbox.setHostility({ http500Every: 1, strikesMax: 1 });
    const shown = await onTerminal('run');
    expect(shown).toMatch(
      /^warning: calling again \(sp2404 for merchant \S+, retry 1\): .*answered 500.*\nrun of /,
    );
    expect(shown).not.toMatch(LOG_LINE);
  });

  test('--json is one document, and what went wrong with it a sentence', async () => {
    stage.sandbox.setHostility({ http500Every: 1, strikesMax: 1 });
    const shown = await onTerminal('run --json');
    expect(shown).not.toMatch(LOG_LINE);
    const [, sentence, document] = /^([^\n]*\n)(\{\n[^]*)$/.exec(shown)!;
    expect(sentence).toMatch(/^warning: calling again /);
    expect(JSON.parse(document!)).toMatchObject({ exitCode: 0 });
  });

  test.each(['status', 'breaks', 'statements list', 'doctor', 'plan'])('%s', async (command) => {
    expect(await onTerminal(command)).not.toMatch(LOG_LINE);
  });

  test('an error is its sentence', async () => {
    expect(await onTerminal('run --merchant NOBODY')).toMatch(
      /^daybook: merchant NOBODY is unknown[^\n]*\n$/,
    );
  });

  test('the log is there for who asks for it', async () => {
    expect(await onTerminal('run', { DAYBOOK_LOG_LEVEL: 'debug' })).toMatch(/INFO: run ended/);
  });
});

test('elsewhere the log stays lines of JSON', async () => {
  const { stderr } = await daybook(['run'], env);
  const lines = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { msg: string });
  expect(lines.map(({ msg }) => msg)).toContain('run ended');
});
