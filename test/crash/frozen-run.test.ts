/**
 * Stops a real process right before the rename of a manifest until its lease is over, and then lets it continue.
 *
 * @module-tag long
 */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { daybook, envOf, startDaybook } from '../cli/daybook.ts';
import { filesOfDatabase, filesOfStore, verifyProblems } from '../statements/store-oracle.ts';
import { FROM, MERCHANT, openStage, publishedIn, scenario, TO, type Stage } from '../support/stage.ts';

const RUN = ['run', '--from', FROM, '--to', TO, '--json'];
const STOPPER = fileURLToPath(new URL('stop-before-rename.ts', import.meta.url));

let stage: Stage;
afterEach(() => stage.close());

const isStopped = async (pid: number): Promise<boolean> =>
  / T /.test((await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\)/, ''));

const amended = (busiType: string): void => {
  const entry = stage.sandbox.entriesOf(MERCHANT.merchantNo).find(({ currency }) => currency === 'USD')!;
  stage.sandbox.amend(MERCHANT.merchantNo, entry.batchNo, { busiType });
};

describe('a run that is stopped right before the rename of a manifest', () => {
  test.each([
    ['the first of a day', false],
    ['one that replaces another', true],
  ])('%s: its late rename has no lasting effect', async (_, stands) => {
    stage = await openStage({ scenario: scenario({ entriesPerDay: 10 }) });
    if (stands) {
      await stage.run();
      amended('FIRST-CHANGE');
    }
    const { child, ended } = startDaybook(RUN, { ...envOf(stage), NODE_OPTIONS: `--import ${STOPPER}` });
    await vi.waitFor(async () => expect(await isStopped(child.pid!)).toBe(true), { timeout: 50_000 });
    const { db } = stage.app.database;
    await db
      .updateTable('lease')
      .set({ expires_at: new Date(0) })
      .execute();
    amended('SECOND-CHANGE');
    const revisions = publishedIn(await stage.run());
    expect(revisions).toContain(`USD ${FROM} r${stands ? 3 : 2}`);

    child.kill('SIGCONT');
    const { code, stdout } = await ended;
    expect(code, stdout).toBe(4);
    expect(stdout).toContain('another one took over');

    const afterwards = await daybook(RUN, envOf(stage));
    expect([0, 3], afterwards.stdout).toContain(afterwards.code);
    expect(await filesOfStore(stage.app.objects)).toEqual(await filesOfDatabase(db));
    expect(await verifyProblems(stage.app.objects)).toEqual([]);
  });
});
