/** Plays a history on a real database and store, run by run, and judges how the lie in it was caught. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
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
import { toldBy, type Findings } from './told.ts';
import { harmOf } from './truth.ts';

const FOLDERS = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** What is tested: `executeRun`, or in tests of the harness a function that does something wrong. */
export type Product = typeof executeRun;

/** What was seen after one run of a history. */
export interface Seen {
  readonly step: Step;
  readonly exitCode: number;
  readonly reported: Findings;
  /** True if copy or statements are not what the books truly hold. */
  readonly isHarmed: boolean;
  /** How many published statements are wrong. */
  readonly wrongStatements: number;
  /** The days whose published statement is wrong and has the verdict continuous. */
  readonly wrongAsContinuous: readonly string[];
  /** True if a published statement was replaced, and the run ended with 0 and did not say so. */
  readonly revisedUnsaid: boolean;
  readonly calls: number;
  readonly report: RunReport | null;
  /** The SHA-256 over the name and the bytes of every published file. */
  readonly sha256: string;
}

/** Plays the runs of a history until `isDone`, beginning with the first reading. */
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
  const objects = await openObjectStore({
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
  const truth = { merchantNo: OWN, books, zone: scene.zone, from: step.readFrom ?? scene.days[0]!, nowMs };
  const { wrong, lacking } = await harmOf(rig.db, published, truth);
  const reported = await toldBy(rig.db, ended, published, { zone: zoneSet, now: new Date(nowMs) });
  const revised = (ended.report?.publish?.published ?? []).some(({ revision }) => revision > 1);
  return {
    step,
    exitCode: ended.exitCode,
    reported,
    isHarmed: wrong.length + lacking.length > 0,
    wrongStatements: wrong.length,
    wrongAsContinuous: wrong.filter(({ verdict }) => verdict !== 'broken').map(({ day }) => day),
    revisedUnsaid: revised && ended.exitCode === 0 && !/\brevised\b/i.test(reported.text),
    calls: served.calls(),
    report: ended.report,
    sha256: digestOf(folder),
  };
}

function digestOf(folder: string): string {
  const all = createHash('sha256');
  const found = readdirSync(folder, { recursive: true, withFileTypes: true });
  // The mark of the store has the number of the database, which is drawn.
  const files = found
    .filter((one) => one.isFile() && one.parentPath.includes('merchant='))
    .map(({ parentPath, name }) => join(parentPath, name));
  for (const file of files.sort()) {
    const own = createHash('sha256').update(readFileSync(file)).digest('hex');
    all.update(`${relative(folder, file)} ${own}\n`);
  }
  return all.digest('hex');
}

/** How a lie ended. `harmless`: no run said anything, but neither was anything wrong at any time. */
export type Ending = 'same night' | 'later' | 'silent' | 'harmless';

export interface Outcome {
  readonly form: string;
  /** The seed it was drawn from. */
  readonly seed: string;
  readonly ending: Ending;
  /** Exit code of the run that caught it; 0 if none did. */
  readonly exitCode: number;
  /** How many nights after the lie's night it was caught. */
  readonly nights: number;
  /** Whether the report names an account day that the lie concerns; null if it was not caught. */
  readonly isAtPlace: boolean | null;
  /** Whether the report has the expected sentence; null if it was not caught. */
  readonly isRightSentence: boolean | null;
  /** Whether the first sentence of the report names the cause; null if it was not caught. */
  readonly isFirstRight: boolean | null;
  readonly first: string;
  /** True if statements followed a lie that no repetition may make believed. */
  readonly isBelieved: boolean;
  /** True if a wrong statement had the verdict continuous after some run of the lie. */
  readonly wrongAsContinuous: boolean;
  /** True if the lie was never reported, and everything was right again at the end. */
  readonly isMendedUnsaid: boolean;
  readonly revisedUnsaid: boolean;
  /** Why a run before the lie did not end with 0 or did harm. Then the harness or the product has a bug. */
  readonly spoiled: string | null;
  /** The report of the last run. */
  readonly text: string;
  /** Each run: its name, its exit code with all reasons, and what was published after it. */
  readonly runs: readonly string[];
}

const sameDay = (one: Place, other: Place): boolean =>
  one.day === other.day &&
  (one.currency === null || other.currency === null || one.currency === other.currency);

const isAt = (planted: Planted, reported: Findings): boolean =>
  planted.where === 'everywhere' ||
  planted.where.some((place) => reported.places.some((one) => sameDay(one, place)));

/** Plays one history of a form. */
export async function playForm(rig: Rig, form: Form, seed: string, product?: Product): Promise<Outcome> {
  const drawn = drawHistory(form.setting, `${seed}/${form.name}`);
  const planted = form.plant(drawn.scene);
  const seen = await playSteps(rig, drawn, planted, {
    ...(product === undefined ? {} : { product }),
    isDone: ({ exitCode }) => exitCode !== 0 && !form.neverBelieved,
  });
  return { ...judge(form, planted, seen), seed };
}

/** Compares what was seen with the lie. */
export function judge(
  form: Pick<Form, 'name' | 'mustBeReported' | 'neverBelieved'>,
  planted: Planted,
  seen: readonly Seen[],
): Omit<Outcome, 'seed'> {
  const early = seen.find(({ step, exitCode, isHarmed }) => step.since < 0 && (exitCode !== 0 || isHarmed));
  const lied = seen.filter(({ step }) => step.since >= 0);
  const caught = lied.find(({ exitCode }) => exitCode !== 0);
  const before = caught === undefined ? lied : lied.slice(0, lied.indexOf(caught));
  const wasHarmed = before.some(({ isHarmed }) => isHarmed);
  const last = seen.at(-1)!;
  const isSilent = wasHarmed || form.mustBeReported;
  const ending =
    caught === undefined ? (isSilent ? 'silent' : 'harmless') : wasHarmed ? 'later' : 'same night';
  return {
    form: form.name,
    ending,
    exitCode: caught?.exitCode ?? 0,
    nights: caught?.step.night ?? 0,
    isAtPlace: caught === undefined ? null : isAt(planted, caught.reported),
    isRightSentence: caught === undefined ? null : planted.says.test(caught.reported.text),
    isBelieved: form.neverBelieved && lied.some(({ wrongStatements }) => wrongStatements > 0),
    isFirstRight: caught === undefined ? null : (planted.first ?? planted.says).test(caught.reported.first),
    first: caught?.reported.first ?? '',
    wrongAsContinuous: lied.some(({ wrongAsContinuous }) => wrongAsContinuous.length > 0),
    isMendedUnsaid: ending === 'silent' && wasHarmed && !last.isHarmed,
    revisedUnsaid: lied.some(({ revisedUnsaid }) => revisedUnsaid),
    spoiled:
      early === undefined ? null : `${early.step.name} ended with ${early.exitCode}: ${early.reported.text}`,
    text: last.reported.text,
    runs: seen.map(
      ({ step, exitCode, report, reported, sha256 }) =>
        `${step.name}: exit ${exitCode}, files ${sha256.slice(0, 16)}\n` +
        (report?.reasons.map(({ what }) => what) ?? [reported.first]).map((what) => `  ${what}\n`).join(''),
    ),
  };
}
