/** A close that lies among files says what has to be there: each statement that is missing, another, or too many is named. */
import { execFileSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { closedAccount, parseClose, type CloseFile } from '../../src/verify/close-file.ts';
import { closeText } from '../../src/months/files.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../support/stage.ts';
import { daybook, envOf, type Env } from '../cli/daybook.ts';
import { verifyPaths } from '../statements/verified-twice.ts';

const { merchantNo } = MERCHANT;
const MONTH = '2026-02';
const DAYS = ['2026-02-26', '2026-02-27', '2026-02-28'];
const RUN = ['run', '--from', '2026-02-01', '--to', '2026-03-02'];
const CLOSE = ['close', MONTH, '--merchant', merchantNo, '--by', 'Ada'];
const CLOSE_1 = `merchant=${merchantNo}/close=${MONTH}/${merchantNo}_${MONTH}.close1.json`;

let stage: Stage;
let env: Env;
let home: string;
let zips: { readonly first: string; readonly second: string; readonly usd: string };
let folder: string;
beforeAll(async () => {
  stage = await openStage({
    scenario: scenario({
      from: DAYS[0]!,
      to: '2026-03-02',
      entriesPerDay: 6,
      now: '2026-03-03T01:30:00+08:00',
    }),
  });
  env = envOf(stage);
  home = await mkdtemp(join(tmpdir(), 'daybook-in-full-'));
  const zipped = async (name: string, ...flags: string[]): Promise<string> => {
    const out = join(home, name);
    const asked = ['statements', 'get', '--month', MONTH, '--merchant', merchantNo, '--out', out, ...flags];
    expect((await daybook(asked, env)).code).toBe(0);
    return out;
  };
  await daybook(RUN, env);
  expect((await daybook(CLOSE, env)).code).toBe(0);
  const [first, usd] = [await zipped('first.zip'), await zipped('usd.zip', '--currency', 'USD')];
  const entry = stage.sandbox
    .entriesOf(merchantNo)
    .find(({ currency, busiDate }) => currency === 'USD' && busiDate.startsWith(DAYS[1]!))!;
  stage.sandbox.amend(merchantNo, entry.batchNo, { busiType: 'CHANGED' });
  await daybook(RUN, env);
  expect((await daybook(CLOSE, env)).stdout).toContain('close 2');
  zips = { first, usd, second: await zipped('second.zip') };
});
afterAll(async () => {
  await stage.close();
  await rm(home, { recursive: true });
});
beforeEach(async () => {
  folder = await mkdtemp(join(home, 'given-'));
});

const unpack = (zip: string): void => void execFileSync('python3', ['-m', 'zipfile', '-e', zip, folder]);
/** The folder as a ZIP that another program made. */
const packed = (): string => {
  const zip = `${folder}.zip`;
  execFileSync('python3', ['-m', 'zipfile', '-c', zip, join(folder, `merchant=${merchantNo}`)]);
  return zip;
};
const verify = (path = folder) => daybook(['verify', path], {});
const closeIn = async (): Promise<CloseFile> => parseClose(await readFile(join(folder, CLOSE_1), 'utf8'))!;
const fileOf = (currency: string, day: string, end = 'r1.csv') =>
  join(folder, `merchant=${merchantNo}/date=${day}/${merchantNo}_${currency}_${day}.${end}`);

it('the month as it was downloaded is the closed one, packed or not', async () => {
  unpack(zips.first);
  for (const path of [folder, zips.first]) {
    const report = await verifyPaths([path]);
    expect(report).toMatchObject({ problems: [], closes: [{ statements: 6, compared: 6, missing: [] }] });
  }
});

describe('statements that the close froze and that are not here are each named, and it ends with 3', () => {
  it('of a currency that was not downloaded, though the manifests next to the others name them', async () => {
    unpack(zips.usd);
    await mkdir(join(folder, 'closes'));
    const other = await mkdtemp(join(home, 'other-'));
    execFileSync('python3', ['-m', 'zipfile', '-e', zips.first, other]);
    await cp(join(other, CLOSE_1), join(folder, 'closes', basename(CLOSE_1)));
    const { code, stdout } = await verify();
    expect(code).toBe(3);
    expect(stdout).toContain(
      `3 statements that the close froze are not here: KWD ${DAYS[0]}, KWD ${DAYS[1]}, KWD ${DAYS[2]}: download the days again`,
    );
    expect((await verifyPaths([folder])).closes).toMatchObject([
      {
        statements: 6,
        compared: 3,
        missing: DAYS.map((day) => ({ currency: 'KWD', day, frozenRevision: 1 })),
      },
    ]);
  });

  it('of days that are gone, also in a ZIP', async () => {
    unpack(zips.first);
    await rm(join(folder, `merchant=${merchantNo}/date=${DAYS[1]!}`), { recursive: true });
    for (const path of [folder, packed()]) {
      const { code, stdout } = await verify(path);
      expect(code).toBe(3);
      expect(stdout).toContain(`2 statements that the close froze are not here: `);
      for (const currency of ['KWD', 'USD']) expect(stdout).toContain(`${currency} ${DAYS[1]!}`);
    }
  });

  it('all of them, where nothing but the close is in the folder; the close given alone is checked in itself', async () => {
    unpack(zips.first);
    for (const day of DAYS) await rm(join(folder, `merchant=${merchantNo}/date=${day}`), { recursive: true });
    const { code, stdout } = await verify();
    expect([code, stdout]).toEqual([
      3,
      expect.stringContaining('6 statements that the close froze are not here'),
    ]);
    expect((await verify(join(folder, CLOSE_1))).code).toBe(0);
    const flat = await mkdtemp(join(home, 'flat-'));
    await cp(join(folder, CLOSE_1), join(flat, basename(CLOSE_1)));
    expect((await verify(flat)).code).toBe(3);
  });

  it('those of a close of another merchant, which is none of these statements', async () => {
    unpack(zips.first);
    const close = { ...(await closeIn()), merchantNo: 'M-OTHER' };
    await writeFile(join(folder, `M-OTHER_${MONTH}.close1.json`), closeText(close));
    const { problems } = await verifyPaths([folder]);
    expect(problems).toEqual([
      {
        path: join(folder, `M-OTHER_${MONTH}.close1.json`),
        problem: expect.stringContaining('6 statements that the close froze are not here') as string,
      },
    ]);
  });
});

describe('a month that was closed again', () => {
  it('has both closes, and what each of them froze, packed or not', async () => {
    const report = await verifyPaths([zips.second]);
    expect(report).toMatchObject({
      problems: [],
      closes: [
        { number: 1, compared: 6, byHash: 1, missing: [] },
        { number: 2, compared: 6, byHash: 0, missing: [] },
      ],
    });
  });

  it('with the statement of before the second close: the wrong revision is named', async () => {
    unpack(zips.second);
    await rm(join(folder, `merchant=${merchantNo}/date=${DAYS[1]!}`), { recursive: true });
    const old = await mkdtemp(join(home, 'old-'));
    execFileSync('python3', ['-m', 'zipfile', '-e', zips.first, old]);
    const day = `merchant=${merchantNo}/date=${DAYS[1]!}`;
    await cp(join(old, day), join(folder, day), { recursive: true });
    const { code, stdout } = await verify();
    expect(code).toBe(3);
    expect(stdout).toContain(
      `close2.json: USD ${DAYS[1]!}: the close froze revision 2, which the manifest here does not name`,
    );
  });

  it('without the file of the revision that is current: it is missing for both', async () => {
    unpack(zips.second);
    await rm(fileOf('USD', DAYS[1]!, 'r2.csv'));
    const { problems } = await verifyPaths([folder]);
    expect(
      problems.filter(({ problem }) => problem.startsWith('1 statement that the close froze is not here')),
    ).toHaveLength(2);
  });
});

describe('a close that contradicts the manifests', () => {
  it('by a statement too few, which was published before it', async () => {
    unpack(zips.first);
    const close = await closeIn();
    const statements = close.statements.filter((one) => one.currency !== 'USD' || one.day !== DAYS[2]);
    const accounts = close.accounts.map(({ currency }) =>
      closedAccount(
        currency,
        statements.filter((one) => one.currency === currency),
      ),
    );
    const closedAt = new Date(Date.parse(close.closedAt) + 86_400_000).toISOString();
    await writeFile(join(folder, CLOSE_1), closeText({ ...close, closedAt, statements, accounts }));
    const { code, stdout } = await verify();
    expect(code).toBe(3);
    expect(stdout).toContain(`USD ${DAYS[2]!}: it was published before the close, which does not have it`);
  });

  it('by a revision that had been replaced', async () => {
    unpack(zips.second);
    const close = await closeIn();
    const closedAt = new Date(Date.parse(close.closedAt) + 86_400_000).toISOString();
    await rm(join(folder, CLOSE_1.replace('close1', 'close2')));
    await writeFile(join(folder, CLOSE_1), closeText({ ...close, closedAt }));
    expect((await verifyPaths([folder])).problems.map(({ problem }) => problem)).toEqual([
      `USD ${DAYS[1]!}: the close froze revision 1, which revision 2 had replaced`,
    ]);
  });

  it('by a SHA-256', async () => {
    unpack(zips.first);
    const close = await closeIn();
    const statements = close.statements.map((one, at) =>
      at === 0 ? { ...one, sha256: 'ab'.repeat(32) } : one,
    );
    await writeFile(join(folder, CLOSE_1), closeText({ ...close, statements }));
    const { code, stdout } = await verify();
    expect([code, stdout]).toEqual([
      3,
      expect.stringContaining(`with SHA-256 ${'ab'.repeat(32)}, the manifest here says`),
    ]);
  });
});

it('what was published after the close is no problem: it is named as an adjustment', async () => {
  unpack(zips.second);
  await rm(join(folder, CLOSE_1.replace('close1', 'close2')));
  const { code, stdout } = await verify();
  expect(code).toBe(0);
  expect(stdout).toContain(
    `USD ${DAYS[1]!} was revision 1 when the month was closed, and is revision 2 here`,
  );
});
