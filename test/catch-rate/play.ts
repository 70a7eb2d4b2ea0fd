/** Plays a history on a real database and store, run by run, and says what came of the lie in it. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openObjectStore } from '../../src/objects/open.ts';
import { exitCodeOf } from '../../src/run/verdict/exit-codes.ts';
import type { RunReport } from '../../src/run/report.ts';
import { executeRun } from '../../src/run/run.ts';
import { readPublished } from '../simulation/published.ts';
import type { Rig } from '../simulation/rig.ts';
import { OWN, type Form, type Place, type Planted } from './form.ts';
import { serve, truthOf } from './platform.ts';
import { drawHistory, type Drawn, type Step } from './scene.ts';
import { toldBy, type CommandOutput } from './told.ts';
import { harmOf } from './truth.ts';

const FOLDERS = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** What is tried: `executeRun`, or in a test of the harness something that lies itself. */
export type Product = typeof executeRun;

/** What one run of a history showed. */
export interface Seen {
  readonly step: Step;
  readonly exitCode: number;
  readonly told: CommandOutput;
  /** Copy or statements are not what the books truly hold. */
  readonly isHarmed: boolean;
  /** Days of statements that are not true and stand as without a break. */
  readonly wrongAsContinuous: readonly string[];
  /** A published statement was replaced, and the run ended with 0 and did not say so. */
  readonly revisedUnsaid: boolean;
  readonly calls: number;
  readonly report: RunReport | null;
}

/** Plays runs one after the other until `isDone`; the first reading comes first. */
export async function playSteps(
  rig: Rig,
  drawn: Drawn,
  planted: Pick<Planted, 'lies'>,
  options: { readonly product?: Product; readonly isDone?: (seen: Seen) => boolean } = {},
): Promise<Seen[]> {
  await rig.empty();
  const folder = await mkdtemp(join(FOLDERS, 'daybook-catch-'));
  const all: Seen[] = [];
  try {
    for (const step of drawn.steps) {
      const seen = await playStep({ rig, drawn, lies: planted.lies, folder }, step, options.product);
      all.push(seen);
      if (options.isDone?.(seen) === true) break;
    }
    return all;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Stage {
  readonly rig: Rig;
  readonly drawn: Drawn;
  readonly lies: Planted['lies'];
  readonly folder: string;
}

async function playStep(stage: Stage, step: Step, product: Product = executeRun): Promise<Seen> {
  const { rig, drawn, lies, folder } = stage;
  const { scene, zoneSet, order, booksOf, merchants } = drawn;
  const { nowMs } = step;
  const served = serve({ zone: scene.zone, zoneSet, order, random: scene.random, lies, booksOf }, step);
  const objects = openObjectStore({
    statementsUrl: pathToFileURL(folder).href,
    s3ForcePathStyle: null,
    env: {},
  });
  const deps = rig.deps({
    db: rig.db,
    reader: served.reader,
    objects,
    zone: zoneSet,
    nowMs,
    resweepDays: drawn.resweepDays,
    toleranceS: 2,
  });
  const request = {
    command: 'run' as const,
    range: step.range,
    merchants: merchants.map((merchantNo) => ({ merchantNo, token: 'made-up' })),
    currencies: null,
  };
  const ended = await product(request, deps).then(
    (report) => ({ report, error: null, exitCode: report.exitCode }),
    (error: unknown) => ({ report: null, error: error as Error, exitCode: exitCodeOf(error) }),
  );
  const published = await readPublished(folder, OWN);
  const books = truthOf(booksOf(OWN), lies, step);
  const truth = { merchantNo: OWN, books, zone: scene.zone, from: scene.days[0]!, nowMs };
  const { wrong, lacking } = await harmOf(rig.db, published, truth);
  const told = await toldBy(rig.db, ended, published, { zone: zoneSet, now: new Date(nowMs) });
  const revised = (ended.report?.publish?.published ?? []).some(({ revision }) => revision > 1);
  return {
    step,
    exitCode: ended.exitCode,
    told,
    isHarmed: wrong.length + lacking.length > 0,
    wrongAsContinuous: wrong.filter(({ verdict }) => verdict !== 'broken').map(({ day }) => day),
    revisedUnsaid: revised && ended.exitCode === 0 && !/\brevised\b/i.test(told.text),
    calls: served.calls(),
    report: ended.report,
  };
}

/** What came of a lie. `harmless`: no run said anything, and nothing of it was ever wrong. */
export type Ending = 'same night' | 'later' | 'silent' | 'harmless';

export interface Outcome {
  readonly form: string;
  readonly ending: Ending;
  /** Of the run that caught it; 0 where none did. */
  readonly exitCode: number;
  /** Nights after the lie's that it was caught in. */
  readonly nights: number;
  /** Told of an account day the lie is about; null where it was not caught. */
  readonly isAtPlace: boolean | null;
  /** Said what ought to be said; null where it was not caught. */
  readonly isRightSentence: boolean | null;
  /** A statement that is not true stood as without a break after a run of the lie. */
  readonly wrongAsContinuous: boolean;
  /** Silent, and right again in the end without a word. */
  readonly isMendedUnsaid: boolean;
  readonly revisedUnsaid: boolean;
  /** A run before the lie that did not end with 0 or was harmed: the harness or the product is at fault. */
  readonly spoiled: string | null;
  /** What the last run played told. */
  readonly text: string;
}

const sameDay = (one: Place, other: Place): boolean =>
  one.day === other.day &&
  (one.currency === null || other.currency === null || one.currency === other.currency);

const isAt = (planted: Planted, told: CommandOutput): boolean =>
  planted.where === 'everywhere' ||
  planted.where.some((place) => told.places.some((one) => sameDay(one, place)));

/** Plays one history of a form. */
export async function playForm(rig: Rig, form: Form, seed: string, product?: Product): Promise<Outcome> {
  const drawn = drawHistory(form.setting, `${seed}/${form.name}`);
  const planted = form.plant(drawn.scene);
  const seen = await playSteps(rig, drawn, planted, {
    ...(product === undefined ? {} : { product }),
    isDone: ({ exitCode }) => exitCode !== 0,
  });
  return judge(form, planted, seen);
}

/** Judges what was seen against the lie. */
export function judge(form: Pick<Form, 'name'>, planted: Planted, seen: readonly Seen[]): Outcome {
  const early = seen.find(({ step, exitCode, isHarmed }) => step.since < 0 && (exitCode !== 0 || isHarmed));
  const lied = seen.filter(({ step }) => step.since >= 0);
  const caught = lied.find(({ exitCode }) => exitCode !== 0);
  const before = lied.filter((one) => one !== caught);
  const wasHarmed = before.some(({ isHarmed }) => isHarmed);
  const last = seen.at(-1)!;
  const ending =
    caught === undefined ? (wasHarmed ? 'silent' : 'harmless') : wasHarmed ? 'later' : 'same night';
  return {
    form: form.name,
    ending,
    exitCode: caught?.exitCode ?? 0,
    nights: caught?.step.night ?? 0,
    isAtPlace: caught === undefined ? null : isAt(planted, caught.told),
    isRightSentence: caught === undefined ? null : planted.says.test(caught.told.text),
    wrongAsContinuous: lied.some(({ wrongAsContinuous }) => wrongAsContinuous.length > 0),
    isMendedUnsaid: ending === 'silent' && !last.isHarmed,
    revisedUnsaid: lied.some(({ revisedUnsaid }) => revisedUnsaid),
    spoiled:
      early === undefined ? null : `${early.step.name} ended with ${early.exitCode}: ${early.told.text}`,
    text: last.told.text,
  };
}
