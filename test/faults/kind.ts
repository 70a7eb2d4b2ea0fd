/** The type of a kind of fault, and helpers for the moment at which it strikes. */
import type { ChildProcess } from 'node:child_process';
import type { Fate, Chunk } from '../support/proxy.ts';
import type { Drawable, FaultCase } from './case.ts';
import { standsStill, type Ended, type Env } from './child.ts';
import type { Family, HookOrders } from './hook.ts';
import { isCall, isCommit, type Measure, type Site, type WireName, type World } from './world.ts';

/** The case under way: what a kind needs to set up its fault. */
export interface Scene {
  readonly drawn: FaultCase;
  readonly world: World;
  readonly site: Site;
  readonly measure: Measure;
  /** The process of the run with the fault, once it has started. */
  readonly child: () => ChildProcess;
  /** Must be called when the fault strikes. A fault that never struck proves nothing. */
  readonly struck: () => void;
  /** Problems that the kind itself finds. */
  readonly problems: string[];
}

/** How a kind has set up its fault. */
export interface Planted {
  readonly orders?: HookOrders;
  readonly env?: Env;
  /** What to do next to the run once it has started. */
  readonly background?: (child: ChildProcess) => Promise<void>;
  /** Removes the fault after the run has ended. */
  readonly fix?: () => Promise<void>;
}

export interface Kind extends Drawable {
  /** What fails, as a sentence for the card. */
  readonly fault: string;
  /** Exit codes that are right; null if a signal may end it. */
  readonly exits: readonly (number | null)[];
  /** Exit codes of the following run without the fault; 0 by default. */
  readonly afterwards?: readonly number[];
  /** What the output of a failed run must name. */
  readonly names: RegExp;
  /** The fault fills up a disk, so it needs a small one for this. */
  readonly small?: 'folder' | 'database';
  readonly plant: (scene: Scene) => Planted | Promise<Planted>;
}

/** A integer from 0 up to but not including `total`. */
export const nthOf = (total: number, share: number): number => Math.floor(total * share);

/** Strikes when the wire has carried the drawn share of its bytes. `strike` decides what happens to that chunk. */
export function atByte(
  { world, measure, drawn, struck }: Scene,
  wire: WireName,
  direction: 'up' | 'down',
  strike: (into: number) => Fate | Promise<Fate>,
  /** What happens to every later chunk. */
  afterwards: () => Fate = () => 'pass',
): void {
  const nth = 1 + nthOf(measure.bytes[wire][direction], drawn.at);
  let carried = 0;
  let isOver = false;
  world.wires[wire].judge = ({ direction: way, bytes }) => {
    if (isOver) return afterwards();
    if (way !== direction) return 'pass';
    const before = carried;
    carried += bytes.length;
    if (carried < nth) return 'pass';
    isOver = true;
    struck();
    return strike(nth - before - 1);
  };
}

/** Strikes at the n-th chunk of a sort, with n drawn, and at the `more - 1` chunks of that sort after it. */
export function atNth(
  { world, drawn, struck }: Scene,
  wire: WireName,
  sort: { readonly is: (chunk: Chunk) => boolean; readonly total: number; readonly more?: number },
  strike: () => Fate | Promise<Fate>,
): void {
  const first = nthOf(sort.total, drawn.at);
  let seen = 0;
  world.wires[wire].judge = (chunk) => {
    if (!sort.is(chunk)) return 'pass';
    seen += 1;
    if (seen <= first || seen > first + (sort.more ?? 1)) return 'pass';
    struck();
    return strike();
  };
}

export const calls = ({ measure }: Scene, wire: WireName, more = 1) => ({
  is: isCall,
  total: measure.calls[wire],
  more,
});

export const puts = (scene: Scene, more = 1) => ({
  is: (chunk: Chunk) => isCall(chunk) && chunk.bytes.toString('latin1', 0, 4) === 'PUT ',
  total: Math.max(1, Math.floor(scene.measure.calls.objects / 3)),
  more,
});

export const commits = ({ measure }: Scene) => ({ is: isCommit, total: measure.commits });

/** Stops the run right before one of its effects on files, makes the change, and lets the run continue. */
export function atEffect(
  scene: Scene,
  family: Family,
  change: (child: ChildProcess) => Promise<void>,
): Planted {
  const nth = nthOf(scene.measure.effects[family], scene.drawn.at);
  return {
    orders: { stopAt: { family, nth } },
    background: async (child) => {
      if (!(await standsStill(child))) return;
      scene.struck();
      try {
        await change(child);
      } finally {
        child.kill('SIGCONT');
      }
    },
  };
}

/** The same for requests to an S3 server: the request is held back on the wire while the run is stopped. */
function atRequest(scene: Scene, change: (child: ChildProcess) => Promise<void>): Planted {
  atNth(scene, 'objects', calls(scene, 'objects'), async (): Promise<Fate> => {
    const child = scene.child();
    child.kill('SIGSTOP');
    try {
      await change(child);
    } finally {
      child.kill('SIGCONT');
    }
    return 'pass';
  });
  return {};
}

/** At an effect of publishing, whether the statements are in a folder or in S3. */
export const atPublishing = (scene: Scene, change: (child: ChildProcess) => Promise<void>): Planted =>
  scene.drawn.place === 's3' ? atRequest(scene, change) : atEffect(scene, 'statements', change);

/**
 * Runs the same command once more, without the proxies. Its end is judged too: green means that everything is there.
 */
export async function anotherRun(
  scene: Scene,
  expected: readonly number[],
  env: Env = {},
  orders?: HookOrders,
): Promise<Ended> {
  const ended = await scene.site.run('direct', orders, env).ended;
  if (ended.isHung) scene.problems.push('another run beside it did not end');
  else if (ended.code === null || !expected.includes(ended.code))
    scene.problems.push(
      `another run beside it ended with ${ended.code}, not ${expected.join(' or ')}: ${ended.reported.slice(-600)}`,
    );
  return ended;
}
