/** What becomes of refusals: lines of the log, without one for each of a flood. */
import type { WebEvent } from './server.ts';

/**
 * A spell is a period of `SPELL_MS`. In each spell this many lines of one kind are logged. Further ones are counted,
 * and the first line of a later spell has the count.
 */
export const LINES_A_SPELL = 5;
export const SPELL_MS = 10_000;
/** Most kinds remembered. There are few, as route, status and reason are our own words. */
const KINDS_MAX = 200;

interface Spell {
  startedMs: number;
  logged: number;
  unreported: number;
}

export interface ReportedEvent extends WebEvent {
  /** How many of the same kind were not logged since then. */
  readonly unreported?: number;
}

/** Calls `report` for the first few events of a kind, and then with how many more there were. `flush` logs the remaining counts. */
export function createRefusalLog(report: (event: ReportedEvent) => void, clock: () => number) {
  const spells = new Map<string, { readonly event: WebEvent; readonly spell: Spell }>();
  const flush = (): void => {
    for (const { event, spell } of spells.values())
      if (spell.unreported > 0) report({ ...event, unreported: spell.unreported });
    spells.clear();
  };
  return {
    onEvent: ({ route, status, reason }: WebEvent): void => {
      const event = { route, status, reason };
      const kind = JSON.stringify(event);
      if (!spells.has(kind)) {
        if (spells.size >= KINDS_MAX) flush();
        spells.set(kind, { event, spell: { startedMs: clock(), logged: 0, unreported: 0 } });
      }
      const { spell } = spells.get(kind)!;
      const { unreported } = spell;
      if (clock() - spell.startedMs >= SPELL_MS)
        Object.assign(spell, { startedMs: clock(), logged: 0, unreported: 0 });
      if (spell.logged >= LINES_A_SPELL) {
        spell.unreported += 1;
        return;
      }
      report(spell.logged === 0 && unreported > 0 ? { ...event, unreported } : event);
      spell.logged += 1;
    },
    flush,
  };
}
