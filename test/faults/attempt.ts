/** Tries one case: a run with the fault, then one without, and which laws they broke. */
import type { ChildProcess } from 'node:child_process';
import type { FaultCase } from './case.ts';
import type { Ended } from './child.ts';
import type { Kind, Scene } from './kind.ts';
import { differences, fileDifferences, filesOf, type Outcome } from './outcome.ts';
import { verifyProblems } from '../statements/store-oracle.ts';
import type { World } from './world.ts';

export interface Tried {
  readonly drawn: FaultCase;
  /** False if the run ended before the fault could strike. Then the case proves nothing. */
  readonly isStruck: boolean;
  readonly exit: number | null;
  readonly elapsedMs: number;
  /** The laws that were broken, one sentence each. */
  readonly broken: readonly string[];
}

/** How much of a failed run's output is printed. */
const NAMED_EACH_MAX = 1_500;

export async function attemptCase(world: World, kind: Kind, drawn: FaultCase): Promise<Tried> {
  const { outcome: wanted, measure } = await world.undisturbed(drawn);
  const site = await world.site(drawn, kind.small);
  let isStruck = false;
  let child: ChildProcess | null = null;
  const broken: string[] = [];
  const scene: Scene = {
    drawn,
    world,
    site,
    measure,
    child: () => child!,
    struck: () => void (isStruck = true),
    problems: broken,
  };
  try {
    const planted = await kind.plant(scene);
    const run = site.run('proxied', planted.orders, planted.env);
    child = run.process;
    const [ended] = await Promise.all([run.ended, planted.background?.(child)]);
    await planted.fix?.();
    await world.calm();
    broken.push(...judgeEnd(kind, ended));
    broken.push(...judgeClaim(ended, await filesOf(site.objects), wanted));
    const again = await site.run('direct').ended;
    broken.push(...judgeAgain(kind, again));
    broken.push(...differences(await site.outcome(), wanted).map((one) => `after another run, ${one}`));
    const unverified = await verifyProblems(site.objects);
    if (unverified.length > 0)
      broken.push(`after another run, verify finds ${JSON.stringify(unverified[0])}`);
    return { drawn, isStruck, exit: ended.code, elapsedMs: ended.elapsedMs, broken };
  } finally {
    await world.calm();
    await site.close();
  }
}

/** Checks a run that ends with 0: everything must be there at that moment. */
export const judgeClaim = (
  { code }: Pick<Ended, 'code'>,
  files: Outcome['files'],
  wanted: Pick<Outcome, 'files'>,
): string[] =>
  code === 0 ? fileDifferences(files, wanted.files).map((one) => `it ended with 0, and ${one}`) : [];

/** Which laws the end of the run with the fault breaks. */
export function judgeEnd({ exits, names }: Pick<Kind, 'exits' | 'names'>, ended: Ended): string[] {
  const reported = ended.reported.slice(-NAMED_EACH_MAX);
  if (ended.isHung) return [`it waited without end: ${reported}`];
  if (ended.code === 70) return [`it calls the fault its own (70): ${reported}`];
  if (!exits.includes(ended.code))
    return [`it ended with ${ended.code}, not ${exits.join(' or ')}: ${reported}`];
  const says: string[] = [];
  if (/^\s+at .*[:(]\d+:\d+\)?$/m.test(ended.reported)) says.push(`it shows a stack trace: ${reported}`);
  if (/\w+Warning:/.test(ended.reported)) says.push(`Node warns of it: ${reported}`);
  if (ended.code !== null && ended.code !== 0 && !names.test(ended.reported))
    says.push(`it does not name what failed: ${reported}`);
  return says;
}

function judgeAgain({ afterwards = [0] }: Pick<Kind, 'afterwards'>, ended: Ended): string[] {
  if (ended.code !== null && afterwards.includes(ended.code)) return [];
  const how = ended.isHung ? 'did not end' : `ended with ${ended.code}`;
  return [`the run after it ${how}: ${ended.reported.slice(-NAMED_EACH_MAX)}`];
}
