/**
 * `npm start` on a terminal: the pages stay open until Ctrl-C.
 *
 * @module-tag long
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Browser } from '../pages/access/support.ts';
import { expect, onTestFinished, test, vi } from 'vitest';

const MAIN = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));
/** Gives a command a terminal of its own. */
const hasTerminal = spawnSync('script', ['--version']).status === 0;

test.skipIf(!hasTerminal)(
  `the pages are there until Ctrl-C${hasTerminal ? '' : ' (skipped: no script of util-linux)'}`,
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'daybook-demo-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    // Without `exec` a shell stays in between, and dash ends with 130 after Ctrl-C, whatever its command ended with.
    const child = spawn('script', ['-qec', `exec ${process.execPath} ${MAIN} demo`, '/dev/null'], {
      cwd: folder,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let reported = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (reported += text));
    const ended = new Promise((resolve) => child.on('close', resolve));
    await vi.waitFor(() => expect(reported).toMatch(/Pages: http:\/\/127\.0\.0\.1:\d+\//), {
      timeout: 100_000,
    });
    const [, url] = /Pages: (\S+)/.exec(reported)!;
    const browser = new Browser(new URL(url!).origin);
    expect((await browser.get(url!)).headers.get('location')).toBe('/');
    const page = await browser.get('/?month=2026-03');
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('SANDBOX-10001')]);
    // No other process can open its database.
    const formToken = /name="form_token" value="([^"]+)"/.exec(
      await (await browser.get('/m/SANDBOX-10001/2026-03')).text(),
    )![1]!;
    const days = { from: '2026-03-30', to: '2026-03-30' };
    const form = { form_token: formToken, kind: 'read', merchant: 'SANDBOX-10001', ...days };
    const at = (await browser.post('/work', form)).headers.get('location')!;
    await vi.waitFor(async () => expect(await (await browser.get(at)).text()).toContain('Ended'), {
      timeout: 30_000,
    });
    child.stdin.write('\u0003');
    expect(await ended).toBe(0);
    await expect(fetch(url!)).rejects.toThrow();
  },
  120_000,
);
