/** Faults of the run itself: it is killed, stopped or frozen, or clocks change. */
import type { ChildProcess } from 'node:child_process';
import { sql } from 'kysely';
import { openDatabase } from '../../../src/store/engine/connection.ts';
import type { Fate } from '../../support/proxy.ts';
import { PLACES } from '../case.ts';
import {
  anotherRun,
  atByte,
  atEffect,
  atNth,
  atPublishing,
  calls,
  commits,
  nthOf,
  type Kind,
  type Scene,
} from '../kind.ts';

const SERVER_PLACES = ['directory', 's3'] as const;
/** It finds the lease held (5), or free again where the first run took the call for lost, repeated it and ended. */
const BUSY_OR_AFTER = [0, 5] as const;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** More than the number of times a run reads the clock. */
const CLOCK_LOOKS = 400;

/** Ends the lease by its row, as if a minute had passed for every other run. */
async function expireLease({ world, site }: Scene): Promise<void> {
  const url = `${world.server.url}/${site.databaseName}`;
  const { db, close } = await openDatabase({ databaseUrl: url, dataDir: '' });
  await sql`UPDATE lease SET expires_at = 'epoch' WHERE expires_at IS NOT NULL`.execute(db);
  await close();
}

/** Stops the run until its lease is over, while another run does the work. */
const overtaken = (scene: Scene) => async (): Promise<void> => {
  await expireLease(scene);
  await anotherRun(scene, [0]);
};
const killed = (child: ChildProcess): Promise<void> => {
  child.kill('SIGKILL');
  return Promise.resolve();
};

export const PROCESS_KINDS: readonly Kind[] = [
  {
    name: 'run-killed-reading',
    fault: 'SIGKILL at a byte to or from the platform',
    places: PLACES,
    exits: [null],
    names: /(?:)/,
    plant: (scene) => {
      atByte(scene, 'platform', scene.drawn.pick < 0.5 ? 'up' : 'down', async (): Promise<Fate> => {
        await killed(scene.child());
        return 'pass';
      });
      return {};
    },
  },
  {
    name: 'run-killed-storing',
    fault: 'SIGKILL at a byte to or from the database',
    places: SERVER_PLACES,
    exits: [null],
    names: /(?:)/,
    plant: (scene) => {
      atByte(scene, 'database', scene.drawn.pick < 0.5 ? 'up' : 'down', async (): Promise<Fate> => {
        await killed(scene.child());
        return 'pass';
      });
      return {};
    },
  },
  {
    name: 'run-killed-publishing',
    fault: 'SIGKILL right before an effect on the store',
    places: PLACES,
    exits: [null],
    names: /(?:)/,
    plant: (scene) => atPublishing(scene, killed),
  },
  {
    name: 'run-killed-embedded',
    fault: 'SIGKILL right before a write of the embedded database',
    places: ['embedded'],
    exits: [null],
    names: /(?:)/,
    plant: (scene) => atEffect(scene, 'database', killed),
  },
  {
    name: 'run-asked-to-stop',
    fault: 'SIGTERM at a byte to the database or the platform',
    places: SERVER_PLACES,
    // A signal that comes before the run listens for it ends the process.
    exits: [0, 4, null],
    names: /stopped/,
    plant: (scene) => {
      atByte(scene, scene.drawn.pick < 0.5 ? 'database' : 'platform', 'up', () => {
        scene.child().kill('SIGTERM');
        return 'pass';
      });
      return {};
    },
  },
  {
    name: 'run-frozen-publishing',
    fault: 'SIGSTOP past its lease right before an effect on the store; another run takes over; SIGCONT',
    places: SERVER_PLACES,
    exits: [0, 4],
    names: /another one took over/,
    plant: (scene) => atPublishing(scene, overtaken(scene)),
  },
  {
    name: 'run-frozen-reading',
    fault: 'SIGSTOP past its lease at a call to the platform; another run takes over; SIGCONT',
    places: SERVER_PLACES,
    exits: [0, 4],
    names: /another one took over/,
    plant: (scene) => {
      atNth(scene, 'platform', calls(scene, 'platform'), async (): Promise<Fate> => {
        scene.child().kill('SIGSTOP');
        await overtaken(scene)().finally(() => scene.child().kill('SIGCONT'));
        return 'pass';
      });
      return {};
    },
  },
  {
    name: 'run-frozen-committing',
    fault: 'SIGSTOP past its lease with a transaction open; another run wants to take over; SIGCONT',
    places: SERVER_PLACES,
    exits: [0, 4],
    names: /another one took over|database/,
    isSlow: true,
    plant: (scene) => {
      atNth(scene, 'database', commits(scene), async (): Promise<Fate> => {
        scene.child().kill('SIGSTOP');
        await expireLease(scene);
        await anotherRun(scene, [0, 4, 5]).finally(() => scene.child().kill('SIGCONT'));
        return 'pass';
      });
      return {};
    },
  },
  {
    name: 'run-beside-another',
    fault: 'another run is started while it works',
    places: SERVER_PLACES,
    exits: [0],
    names: /lease/,
    plant: (scene) => {
      atNth(scene, 'platform', calls(scene, 'platform'), async (): Promise<Fate> => {
        await anotherRun(scene, BUSY_OR_AFTER);
        return 'pass';
      });
      return {};
    },
  },
  {
    name: 'clock-beside-another',
    fault: 'another run is started whose clock is 2 to 60 minutes ahead',
    places: SERVER_PLACES,
    exits: [0],
    names: /lease/,
    plant: (scene) => {
      atNth(scene, 'platform', calls(scene, 'platform'), async (): Promise<Fate> => {
        const movedMs = (2 + scene.drawn.pick * 58) * MINUTE_MS;
        await anotherRun(scene, [...BUSY_OR_AFTER, 3], {}, { clock: { fromLook: 0, movedMs } });
        return 'pass';
      });
      return {};
    },
  },
  {
    name: 'clock-wrong',
    fault: 'its clock is up to 30 days ahead or behind',
    places: PLACES,
    // An S3 server may refuse requests that are signed with another time. A clock that is off is a finding (3).
    exits: [0, 2, 3, 4],
    names: /clock/,
    plant: (scene) => {
      scene.struck();
      return {
        orders: { clock: { fromLook: 0, movedMs: Math.round((scene.drawn.pick - 0.5) * 60 * DAY_MS) } },
      };
    },
  },
  {
    name: 'clock-moved',
    fault: 'its clock is set by up to 2 days ahead or back in mid-run',
    places: PLACES,
    exits: [0, 3, 4],
    names: /clock|lease|platform|sp2404|database|object store/,
    plant: (scene) => {
      scene.struck();
      const movedMs = Math.round((scene.drawn.pick - 0.5) * 4 * DAY_MS);
      return { orders: { clock: { fromLook: nthOf(CLOCK_LOOKS, scene.drawn.at), movedMs } } };
    },
  },
];
