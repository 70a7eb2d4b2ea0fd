/**
 * Processes the inbox whenever notifications arrive. Also does so from time to time, as some wait for a reply of ours.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { processNotifications, type ProcessDeps, type ProcessReport } from './process.ts';

/** The time between passes when nothing comes in. */
const PASS_EVERY_MS = 10_000;
/** How often old posts to unknown paths are deleted, however often it is woken. */
const SWEEP_EVERY_MS = 60_000;

export interface KeptProcessing {
  /** Notifications arrived: process now, or right after the running pass. */
  readonly wake: () => void;
  /** Resolves after the signal, when the running pass has ended. */
  readonly ended: Promise<void>;
}

export interface KeepProcessingDeps extends ProcessDeps {
  /** Called for a pass that found something. What is left is reported once, and not for every pass. */
  readonly onReport: (report: ProcessReport) => void;
  /** Called with all that is left, whenever that changes, and after the first pass. */
  readonly onLeft?: (left: ProcessReport['left']) => void;
  /** Called when a pass failed. The next one comes after `everyMs`. */
  readonly onFault: (error: unknown) => void;
  readonly everyMs?: number;
}

/** Starts at once, with what an earlier process left. */
export function keepProcessing(deps: KeepProcessingDeps): KeptProcessing {
  const { signal, onReport, onLeft, onFault, everyMs = PASS_EVERY_MS } = deps;
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
      if (left !== leftBefore) onLeft?.(report.left);
      leftBefore = left;
    } catch (error) {
      onFault(error);
      // Another pass at once would fail in the same way.
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
