/** Plays nights against a platform over HTTP: a database, a folder of statements and a client of their own. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openObjectStore } from '../../src/objects/open.ts';
import { openPlatform } from '../../src/run/app.ts';
import type { DayRange } from '../../src/run/range.ts';
import { createReferenceReader } from '../../src/plugins/reference/client.ts';
import { executeReferenceRun } from '../../src/plugins/reference/run.ts';
import { executeRun } from '../../src/run/run.ts';
import { exitCodeOf } from '../../src/run/verdict/exit-codes.ts';
import { loadSettings } from '../../src/settings/load.ts';
import type { ChainLawAsked } from '../support/chain-law.ts';
import { PLAIN_ZONE } from '../support/plain-platform.ts';
import { skippingTime } from '../support/virtual-time.ts';
import { endingOf, type Ending } from './history-end.ts';
import { readPublished } from './published.ts';
import { MERCHANT, type Rig } from './rig.ts';

const FOLDERS = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

export interface Player {
  readonly rig: Rig;
  readonly folder: string;
  readonly play: (nowMs: number, range: DayRange | null) => Promise<Played>;
  /** Reads the reference lists. */
  readonly playLists: (nowMs: number) => Promise<Played>;
  readonly close: () => Promise<void>;
}

export interface Played {
  readonly exitCode: number;
  readonly range: DayRange | null;
  readonly said: string;
}

export async function openPlayer(
  rig: Rig,
  url: string,
  { retriesMax, lookbackDays }: { readonly retriesMax: number; readonly lookbackDays: number },
): Promise<Player> {
  await rig.empty();
  const folder = await mkdtemp(join(FOLDERS, 'daybook-refusals-'));
  const objects = await openObjectStore({
    statementsUrl: pathToFileURL(folder).href,
    s3ForcePathStyle: null,
    env: {},
  });
  const env = {
    PLATFORM_BASE_URL: url,
    PLATFORM_TIME_ZONE: PLAIN_ZONE,
    PLATFORM_MERCHANT_NO: MERCHANT.merchantNo,
    PLATFORM_TOKEN: MERCHANT.token,
    PLATFORM_RETRIES_MAX: String(retriesMax),
  };
  const settings = loadSettings({ env, readFile: () => '' });
  const platform = openPlatform(settings, { transport: skippingTime() });
  const ended = async (run: () => Promise<Played>): Promise<Played> => {
    try {
      return await run();
    } catch (error) {
      const { name, message } = error as Error;
      return { exitCode: exitCodeOf(error), range: null, said: `${name}: ${message}` };
    }
  };
  const { reader, transport } = platform;
  const common = { db: rig.db, reader, objects, zone: PLAIN_ZONE, resweepDays: lookbackDays, toleranceS: 2 };
  return {
    rig,
    folder,
    play: (nowMs, range) =>
      ended(async () => {
        const request = { command: 'run', range, merchants: [MERCHANT], currencies: null } as const;
        const { exitCode, from, to, reasons } = await executeRun(request, rig.deps({ ...common, nowMs }));
        return { exitCode, range: { from, to }, said: reasons.map(({ what }) => what).join('; ') };
      }),
    playLists: (nowMs) =>
      ended(async () => {
        const { exitCode, notes } = await executeReferenceRun({
          ...{
            db: rig.db,
            reader: createReferenceReader(transport),
            countries: ['CN'],
            holder: 'simulation',
          },
          now: () => new Date(nowMs),
          signal: new AbortController().signal,
        });
        return { exitCode, range: null, said: notes.join('; ') };
      }),
    close: async () => {
      await platform.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export const endOf = async ({ rig, folder }: Player): Promise<Ending> =>
  endingOf(rig.db, await readPublished(folder, MERCHANT.merchantNo));

/** What the law of the days to chain is asked of. */
export const lawOf = ({ rig: { db } }: Player): ChainLawAsked => ({
  ...{ db, merchantNo: MERCHANT.merchantNo, zone: PLAIN_ZONE, near: '2026-03-01' },
});
