/** Cases that once broke a law, in a file next to this one. Every simulation tries them first. */
import { readFileSync, writeFileSync } from 'node:fs';
import type { Kept, Kind } from './oracle.ts';

const FILE = new URL('kept-seeds.json', import.meta.url);

export const keptSeeds = (kind: Kind): readonly Kept[] => all().filter((kept) => kept.kind === kind);

/** Keeps one case for each law. */
export function keep(findings: readonly Kept[]): void {
  const kept = all();
  const fresh = findings.filter(({ kind, law }) => !kept.some((old) => old.kind === kind && old.law === law));
  if (fresh.length === 0) return;
  const lines = [...kept, ...fresh].map((one) => `  ${JSON.stringify(one)}`);
  writeFileSync(FILE, `[\n${lines.join(',\n')}\n]\n`);
}

const all = (): Kept[] => JSON.parse(readFileSync(FILE, 'utf8')) as Kept[];
