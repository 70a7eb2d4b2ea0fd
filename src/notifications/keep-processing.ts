/** Keeps looking at the inbox while notifications come in, and now and then anyway: what waits may have been answered. */
import { setTimeout as sleep } from 'node:timers/promises';
import { processNotifications, type ProcessDeps, type ProcessReport } from './process.ts';

/** Between passes nobody asked for. */
const PASS_EVERY_MS = 10_000;
/** So often old posts of unknown paths are thrown away, however often it is woken. */
const SWEEP_EVERY_MS = 60_000;

export interface KeptProcessing {
  /** Something came: look now, or right after the pass at work. */
  readonly wake: () => void;
  /** Resolves after the signal, when the pass at work has ended. */
  readonly ended: Promise<void>;
}

export interface KeepProcessingDeps extends ProcessDeps {
  /** Told of passes that found something, and of what is left once, not every pass. */
  readonly onReport: (report: ProcessReport) => void;
  /** Told when a pass failed; the next one comes after `everyMs`. */
  readonly onFault: (error: unknown) => void;
  readonly everyMs?: number;
}

/** Starts at once: what an earlier process left is looked at first. */
export function keepProcessing(deps: KeepProcessingDeps): KeptProcessing {
  const { signal, onReport, onFault, everyMs = PASS_EVERY_MS } = deps;
  let woken = Promise.withResolvers<undefined>();
  let leftBefore = '';
  let sweptAtMs = Number.NEGATIVE_INFINITY;

  const pass = async (): Promise<void> => {
    try {
      const sweeps = performance.now() - sweptAtMs >= SWEEP_EVERY_MS;
      if (sweeps) sweptAtMs = performance.now();
      const report = await processNotifications({ ...deps, sweeps });
      const left = JSON.stringify(report.left);
      const isNew = left !== leftBefore && report.left.length > 0;
      if (isNew || Object.keys(report.outcomes).length > 0)
        onReport(isNew ? report : { ...report, left: [] });
      leftBefore = left;
    } catch (error) {
      onFault(error);
      // What failed would fail again at once.
      await sleep(everyMs, undefined, { signal }).catch(() => undefined);
    }
  };
  const keep = async (): Promise<void> => {
    while (!signal.aborted) {
      woken = Promise.withResolvers();
      await pass();
      const timer = new AbortController();
      const stop = AbortSignal.any([signal, timer.signal]);
      await Promise.race([woken.promise, sleep(everyMs, undefined, { signal: stop }).catch(() => undefined)]);
      timer.abort();
    }
  };
  return { wake: () => woken.resolve(undefined), ended: keep() };
}
