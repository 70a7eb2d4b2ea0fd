/** Which stages each command runs. */
import type { RunCommand } from '../report.ts';

export type Stage = 'sync' | 'reconcile' | 'publish';

export const STAGES: Readonly<Record<RunCommand, readonly Stage[]>> = {
  run: ['sync', 'reconcile', 'publish'],
  sync: ['sync'],
  reconcile: ['reconcile'],
  publish: ['publish'],
};
