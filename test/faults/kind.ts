/** What a kind of fault is, and the moments one can strike at. */
import type { ChildProcess } from 'node:child_process';
import type { Fate, Chunk } from '../support/proxy.ts';
import type { Drawable, FaultCase } from './case.ts';
import { standsStill, type Ended, type Env } from './child.ts';
import type { Family, HookOrders } from './hook.ts';
import { isCall, isCommit, type Measure, type Site, type WireName, type World } from './world.ts';

/** One case under way: what a kind sets its fault up with. */
export interface Scene {
  readonly drawn: FaultCase;
  readonly world: World;
  readonly site: Site;
  readonly measure: Measure;
  /** The run under the fault, once it is started. */
  readonly child: () => ChildProcess;
  /** Has to be called when the fault strikes: one that never did proves nothing. */
  readonly struck: () => void;
  /** What the kind itself finds wrong. */
  readonly problems: string[];
}

/** How a kind sets up its fault. */
export interface Planted {
  readonly orders?: HookOrders;
  readonly env?: Env;
  /** What is done once the run has started, beside it. */
  readonly beside?: (child: ChildProcess) => Promise<void>;
  /** Takes the fault away again, after the run has ended. */
  readonly mend?: () => Promise<void>;
}

export interface Kind extends Drawable {
  /** What fails, for the card. */
  readonly fault: string;
  /** Exit codes that fit; null: a signal ended it. */
  readonly exits: readonly (number | null)[];
  /** Exit codes of the run without fault that follows; 0 unless told. */
  readonly afterwards?: readonly number[];
  /** What a run that failed has to name. */
  readonly names: RegExp;
  /** It fills a disk up: needs a small one for this. */
  readonly small?: 'folder' | 'database';
  readonly plant: (scene: Scene) => Planted | Promise<Planted>;
}

/** From 0 up to, not including, `total`. */
export const nthOf = (total: number, share: number): number => Math.floor(total * share);

/** When the wire has carried the share of its bytes that was drawn: `strike` says what becomes of that chunk. */
export function atByte(
  { world, measure, drawn, struck }: Scene,
  wire: WireName,
  direction: 'up' | 'down',
  strike: (into: number) => Fate | Promise<Fate>,
  /** Of every chunk after it. */
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

/** At the n-th chunk of a sort, n drawn, and at the `more - 1` ones that follow it. */
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

/** The run stands still right before one of its effects on files, `change` happens, and it goes on. */
export function atEffect(
  scene: Scene,
  family: Family,
  change: (child: ChildProcess) => Promise<void>,
): Planted {
  const nth = nthOf(scene.measure.effects[family], scene.drawn.at);
  return {
    orders: { stopAt: { family, nth } },
    beside: async (child) => {
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

/** The same for requests to an S3 server: the request is held on the wire, and the run stands still. */
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

/** At an effect of publishing, wherever the statements lie. */
export const atPublishing = (scene: Scene, change: (child: ChildProcess) => Promise<void>): Planted =>
  scene.drawn.place === 's3' ? atRequest(scene, change) : atEffect(scene, 'statements', change);

/** Another run of the same command, past the proxies. Its end is judged as well: green means that all is there. */
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
      `another run beside it ended with ${ended.code}, not ${expected.join(' or ')}: ${ended.told.slice(-600)}`,
    );
  return ended;
}
